"""Ctrl-C at any time: exit code 130, no traceback, files old or new."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, str], Path]

_PRELUDE = """
import os, signal, sys
import policyctl.cli.main as main
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100): pass
"""

_AT_IMPORT = """
class Finder:
    left = {number}
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        cls.left -= 1
        if cls.left == 0:
            interrupt()
        return None
sys.meta_path.insert(0, Finder)
main.main()
"""

_AT_FLUSH = """
class Output:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def flush(self):
        self.inner.flush()
        interrupt()
sys.stdout = Output(sys.stdout)
main.main()
"""

_IN_A_FINALIZER = """
class Held:
    def __del__(self):
        interrupt()
def answer(*_):
    held = Held()
    del held
    return 0
import policyctl.cli._run as run
run._answer = answer
main.main()
"""

_AFTER_THE_RUN = """
import policyctl.cli._run as run
run.run = lambda arguments: interrupt() or 0
main.main()
"""

_TWICE = """
import policyctl.cli._run as run
def answer(*_):
    interrupt()
run._answer = answer
from policyctl.cli._console import Console
def close(self):
    interrupt()
Console.close = close
main.main()
"""


def _run(code: str, *arguments: str, cwd: Path) -> tuple[int, bytes]:
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE + code, *arguments],
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=180,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [1, 2, 5, 20, 80, 300])
def test_while_modules_are_loaded(
    write: Write, texts: Any, tmp_path: Path, number: int
) -> None:
    """From the first import of the command to the last of a run."""
    write("policies/a.yaml", texts.clean)
    code = _AT_IMPORT.format(number=number)
    assert _run(code, "validate", "--no-cache", cwd=tmp_path) == (130, b"")


@pytest.mark.parametrize("arguments", [["--version"], ["validate", "--no-cache"]])
def test_while_output_is_flushed(
    write: Write, texts: Any, tmp_path: Path, arguments: list[str]
) -> None:
    """At the end of a run, when everything has been done."""
    write("policies/a.yaml", texts.clean)
    assert _run(_AT_FLUSH, *arguments, cwd=tmp_path) == (130, b"")


@pytest.mark.parametrize("code", [_IN_A_FINALIZER, _AFTER_THE_RUN, _TWICE])
def test_where_exceptions_get_lost(tmp_path: Path, code: str) -> None:
    """In a finalizer, between two steps of the end, and for the second time."""
    assert _run(code, "validate", cwd=tmp_path) == (130, b"")


def test_ignored_interruptions_stay_ignored(
    write: Write, texts: Any, tmp_path: Path
) -> None:
    """As a shell asks for commands in its background."""
    write("policies/a.yaml", texts.clean)
    ignore = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    for code in (_AT_IMPORT.format(number=3), _AT_FLUSH):
        assert _run(ignore + code, "validate", "--no-cache", cwd=tmp_path) == (0, b"")


def test_an_interrupted_generate_leaves_all_old_or_all_new(
    write: Write, texts: Any, tmp_path: Path
) -> None:
    """An interruption while files are moved moves them back."""
    write("policies/a.yaml", texts.clean)
    code = """
import policyctl.generate.staging as staging
staging._sync_folder = lambda folder: interrupt()
main.main()
"""
    assert _run(code, "generate", cwd=tmp_path) == (130, b"")
    left = sorted(p.name for p in (tmp_path / "generated").rglob("*") if p.is_file())
    assert [name for name in left if name.endswith((".py", ".json", ".pyi"))] == []
