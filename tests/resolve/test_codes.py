"""The table of codes, its documentation and its use agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policyctl.model.codes import NAMES
from policyctl.resolve.codes import CODES

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "policyctl" / "resolve").rglob("*.py"))
DOCUMENTED = (ROOT / "docs" / "resolution.md").read_text()


def test_codes_are_in_order_and_apart_from_the_models() -> None:
    """VA101 and up are this step's; no name is used twice."""
    assert list(CODES) == sorted(CODES)
    assert all(code > "VA100" for code in CODES)
    names = [name for name, _ in CODES.values()]
    assert len({*names, *NAMES.values()}) == len(names) + len(NAMES)


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_documented_and_used(code: str) -> None:
    """Each has its line in docs/resolution.md and a check that reports it."""
    name, when = CODES[code]
    assert f"| {code} | {name} | {when} |" in DOCUMENTED
    users = [
        path.name
        for path in SOURCES
        if path.name != "codes.py" and f'"{code}"' in path.read_text()
    ]
    assert users


def test_no_code_is_used_that_is_not_in_the_table() -> None:
    """A check cannot invent a code."""
    used = {
        code for path in SOURCES for code in re.findall(r'"(VA\d+)"', path.read_text())
    }
    assert used == set(CODES)
