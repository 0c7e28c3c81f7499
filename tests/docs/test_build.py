"""The schemas that are built from the code."""

from __future__ import annotations

import json
from pathlib import Path

from docs.build import build


def test_the_schemas_are_json(tmp_path: Path) -> None:
    """Both schemas are written."""
    build(tmp_path)
    for name in ("policyctl.schema.json", "report.schema.json"):
        assert "$schema" in json.loads((tmp_path / name).read_text("utf-8"))
