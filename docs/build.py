"""Writes the schemas that come from the code, which are not kept in the repository.

python -m docs.build FOLDER

- ``policyctl.schema.json``: the JSON Schema of policy files;
- ``report.schema.json``: the JSON Schema of ``validate --format json``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import policyctl.reports
from policyctl.model.schema import policy_schema


def build(folder: Path) -> None:
    """Write both schemas to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"
    (folder / "policyctl.schema.json").write_text(schema, "utf-8")
    reports = Path(policyctl.reports.__path__[0])
    shutil.copyfile(reports / "schema.json", folder / "report.schema.json")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
