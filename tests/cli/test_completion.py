"""What the shell completes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("policyctl va", ["validate"]),
        ("policyctl config sh", ["show"]),
        ("policyctl validate --fa", ["--fail-on"]),
        ("policyctl validate --fail-on w", ["warning"]),
        ("policyctl validate --format j", ["json", "junit"]),
        (
            "policyctl validate --select RT00",
            ["RT001", "RT002", "RT003", "RT004", "RT005"],
        ),
        ("policyctl explain HY00", ["HY002", "HY003"]),
    ],
)
def test_words_are_completed(
    run_process: Process, words: str, expected: list[str]
) -> None:
    """Commands, options, choices, formats and rules are offered in bash."""
    done = run_process(
        _POLICYCTL_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    offered = done.stdout.decode().split()
    assert set(expected) <= set(offered)
    assert done.stderr == b""


def test_the_script_of_the_shell_is_printed(tmp_path: Path) -> None:
    """--show-completion prints what the shell that runs it has to know."""
    command = f"{shlex.quote(sys.executable)} -m policyctl --show-completion; exit $?"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "complete -o default -F _policyctl_completion policyctl" in done.stdout
