"""The page about generated code knows every finding and every kind of change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from policyctl.generate.changes import Kind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "generated-code.md").read_text(encoding="utf-8")


def test_every_code_is_documented() -> None:
    """The table holds exactly the codes that the generator uses."""
    used: set[str] = set()
    for path in (ROOT / "policyctl" / "generate").rglob("*.py"):
        used.update(re.findall(r'"(GN\d{3})"', path.read_text(encoding="utf-8")))
    assert sorted(used) == re.findall(r"^\| (GN\d{3}) \|", PAGE, re.MULTILINE)


def test_every_kind_of_change_is_documented() -> None:
    """Each word of a comparison stands in the table of stale files."""
    words = {kind.replace("_", " ") for kind in get_args(Kind)}
    rows = set(re.findall(r"^\| ([a-z ]+) \|", PAGE, re.MULTILINE))
    assert words <= rows
