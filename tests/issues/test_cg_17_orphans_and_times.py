"""CG-17: output of a removed policy goes, and equal files keep their time stamps.

Reported for generators that left modules of renamed sources importable, whose first
cure deleted the whole folder, and that rewrote equal files and so caused rebuilds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.cli.main import run
from policyctl.generate import render


def put(file: str, service: str) -> None:
    """Write a policy file for a service."""
    Path("policies").mkdir(exist_ok=True)
    Path("policies", file).write_text(
        f"version: 1\nservice: {service}\noperations: {{x: {{transport: local}}}}\n"
    )


def times() -> dict[str, int]:
    """Modification times of the package's files."""
    return {path.name: path.stat().st_mtime_ns for path in Path("generated").iterdir()}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two services, with a file of somebody else in it."""
    monkeypatch.chdir(tmp_path)
    put("a.yaml", "one_api")
    put("b.yaml", "two_api")
    assert run(["generate"]) == 0
    Path("generated/helpers.py").write_text("x = 1\n")
    return tmp_path


def test_a_renamed_policy(capsys: pytest.CaptureFixture[str]) -> None:
    """--check names the orphan, generate removes it, and nothing else goes."""
    put("b.yaml", "three_api")
    before = times()
    assert run(["generate", "--check"]) == 1
    output = capsys.readouterr().out
    assert "two_api.py is an orphan" in output
    assert "three_api.py is missing" in output
    assert times() == before
    assert run(["generate"]) == 0
    after = times()
    assert set(after) == (set(before) - {"two_api.py"}) | {"three_api.py"}
    for name in ("helpers.py", "one_api.py", "py.typed"):
        assert after[name] == before[name]


def test_a_second_run_touches_nothing() -> None:
    """No file's time changes when nothing has changed."""
    before = times()
    assert run(["generate"]) == 0
    assert times() == before


def test_a_broken_policy_deletes_nothing() -> None:
    """While one policy is invalid, no module goes and none changes."""
    before = times()
    put("a.yaml", "four_api")
    Path("policies/b.yaml").write_text("version: 1\nservice: [")
    assert run(["generate"]) == 1
    assert times() == before


def test_a_template_error_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """When rendering fails, the folder is as it was."""
    before = times()
    put("b.yaml", "three_api")

    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(render, "render_registry", broken)
    assert run(["generate"]) == 2
    assert times() == before


def test_a_single_file_removes_nothing() -> None:
    """Given a file, other modules stay, also those whose policy is gone."""
    Path("policies/b.yaml").unlink()
    put("a.yaml", "one_api")
    assert run(["generate", "policies/a.yaml"]) == 0
    assert Path("generated/two_api.py").exists()
    assert run(["generate"]) == 0
    assert not Path("generated/two_api.py").exists()
