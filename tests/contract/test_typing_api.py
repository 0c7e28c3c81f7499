"""Both type checkers, strict, over ``typing_api.py`` (DC-06)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "tests" / "contract" / "typing_api.py").read_text(encoding="utf-8")
BROKEN = TEXT.replace("assert_type(client.size, int)", "assert_type(client.size, str)")


def check(checker: str, folder: Path, text: str) -> str:
    """What a type checker prints about ``text``, empty if it is content."""
    (folder / "checked.py").write_text(text, encoding="utf-8")
    settings = {
        "include": ["checked.py"],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "enableTypeIgnoreComments": False,
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = {
        "mypy": ["mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache")],
        "pyright": ["pyright", "--pythonpath", sys.executable, "-p", str(folder)],
    }[checker]
    if checker == "mypy":
        command.append(str(folder / "checked.py"))
    run = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr if run.returncode else ""


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_guarded_functions_have_the_types_of_the_bare_ones(
    checker: str, tmp_path: Path
) -> None:
    """Every asserted type holds and every wrong call is an error, for both."""
    assert check(checker, tmp_path, TEXT) == ""


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_wrong_type_is_noticed(checker: str, tmp_path: Path) -> None:
    """The checkers do read the file: one wrong assertion is one error."""
    assert BROKEN != TEXT
    printed = check(checker, tmp_path, BROKEN)
    assert printed.count(" error: ") == 1
    assert '"int"' in printed
