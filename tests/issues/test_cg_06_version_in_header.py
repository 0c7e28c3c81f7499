"""CG-06: another version of the tool alone is no reason to regenerate.

Reported for a stale check that failed in every project on the day of a release, since
the version stands in the header of each file.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policyctl.cli.main import run
from policyctl.generate import build

POLICY = "version: 1\nservice: a\noperations: {x: {transport: local}}\n"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as version 1 wrote it."""
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/a.yaml").write_text(POLICY)
    assert run(["generate"]) == 0
    return tmp_path / "generated"


def test_a_new_version_with_equal_output_is_fresh(
    generated: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """--check exits 0 with a note, and generate writes nothing."""
    monkeypatch.setattr(build, "GENERATOR", "policyctl 99.0.0")
    times = {path: path.stat().st_mtime_ns for path in generated.iterdir()}
    capsys.readouterr()
    assert run(["generate", "--check"]) == 0
    assert "was written by policyctl 0.1.0" in capsys.readouterr().out
    assert run(["generate"]) == 0
    assert {path: path.stat().st_mtime_ns for path in generated.iterdir()} == times


def test_an_old_format_is_stale(
    generated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check exits 1 and says that another format is written now."""
    for path in generated.iterdir():
        text = path.read_text().replace("# format: 1", "# format: 0")
        path.write_text(text.replace('"format": 1', '"format": 0'))
    lock = generated / "policies.lock.json"
    lock.write_text(re.sub(r'"(.*\.py)": ".*"', r'"x.\1": "0"', lock.read_text()))
    capsys.readouterr()
    assert run(["generate", "--check"]) == 1
    message = "a.py has output format 0, this version writes 1: regenerate"
    assert message in capsys.readouterr().out
    assert run(["generate"]) == 0
    assert run(["generate", "--check"]) == 0


def test_no_version_stands_in_a_module(generated: Path) -> None:
    """Modules name the format; only the lock file names the tool's version."""
    for path in generated.glob("*.py"):
        assert "0.1.0" not in path.read_text()
