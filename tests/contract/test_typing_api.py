"""Both type checkers, strict, over ``typing_api.py`` (DC-06)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = "tests/contract/typing_api.py"


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--strict", "--no-error-summary", FILE],
        ["pyright", FILE],
    ],
    ids=["mypy", "pyright"],
)
def test_guarded_functions_have_the_types_of_the_bare_ones(command: list[str]) -> None:
    """Every asserted type holds and every wrong call is an error, for both."""
    run = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
