"""Running the command line inside the test process, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from policyctl.cli.main import run

CLEAN = """\
version: 1
service: quotes_api
owner: quotes-team
operations:
  get_quote:
    transport: http
    idempotent: true
    facts: {rate: 20/s, callers: 4, latency: {p50: 40ms, p99: 400ms}}
    attempt_timeout: 1s
    budget: 10s
    retry: {max_attempts: 3}
    circuit_breaker: {failure_threshold: 5}
"""


@dataclass(frozen=True)
class Texts:
    """Policies with one property each."""

    clean: str = CLEAN
    warning: str = CLEAN.replace("max_attempts: 3", "max_attempts: 4")
    error: str = CLEAN.replace("    attempt_timeout: 1s\n", "")
    invalid: str = CLEAN.replace("attempt_timeout: 1s", "attempt_timeout: 5")
    not_yaml: str = "service: [quotes_api\n"


@pytest.fixture
def texts() -> Texts:
    """Policies with one property each."""
    return Texts()


@dataclass(frozen=True)
class Outcome:
    """What one run of the command line did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
Write = Callable[[str, str], Path]


@pytest.fixture
def run_cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """A function that runs policyctl with its arguments in the temporary folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "POLICYCTL_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a text to a path below the temporary folder."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        return path

    return put


@pytest.fixture
def run_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """A function that runs policyctl in a process of its own."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "LC_", "LANG"))
    }

    def call(
        *arguments: str, stdin: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "policyctl", *arguments],
            cwd=tmp_path,
            env={**inherited, **environment},
            input=stdin,
            capture_output=True,
            timeout=180,
            check=False,
        )

    return call
