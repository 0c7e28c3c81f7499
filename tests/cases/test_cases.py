"""Whole runs: each folder beside this file is one.

``input/`` is copied to an empty folder, the commands of ``session.txt`` run there one
after the other, and what they print and leave behind must be what the case says:

- ``session.txt`` holds lines ``$ policyctl ...``, each followed by its output (standard
  error marked ``2>``) and, unless it is 0, the exit code as ``[exit N]``;
- ``output/`` holds every file that the commands add or change.

``POLICYCTL_UPDATE_CASES=1`` writes both anew; read the difference before you commit it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from policyctl.cli.main import run

HERE = Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/session.txt"))
UPDATE = os.environ.get("POLICYCTL_UPDATE_CASES") == "1"


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name != ".gitkeep"
        and ".policyctl-cache" not in path.parts
    }


def play(session: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run the commands of a session; return the session as it went."""
    lines: list[str] = []
    for line in session.splitlines():
        if not line.startswith("$ policyctl"):
            continue
        capsys.readouterr()
        code = run(shlex.split(line)[2:])
        captured = capsys.readouterr()
        lines += [line, *captured.out.splitlines()]
        lines += [f"2> {text}".rstrip() for text in captured.err.splitlines()]
        if code:
            lines.append(f"[exit {code}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_case(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The session prints, exits and leaves behind what the case says."""
    case = HERE / name
    work = tmp_path / "work"
    work.mkdir()
    if (case / "input").is_dir():
        shutil.copytree(case / "input", work, dirs_exist_ok=True)
    before = files(work)
    monkeypatch.chdir(work)
    for variable in ("NO_COLOR", "FORCE_COLOR", "POLICYCTL_DEBUG"):
        monkeypatch.delenv(variable, raising=False)
    session = (case / "session.txt").read_text("utf-8")
    played = play(session, capsys)
    after = files(work)
    changed = {path: data for path, data in after.items() if before.get(path) != data}
    if UPDATE:
        (case / "session.txt").write_text(played, "utf-8")
        shutil.rmtree(case / "output", ignore_errors=True)
        for path, data in changed.items():
            target = case / "output" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    assert played == session or UPDATE
    assert changed == files(case / "output")
    assert set(before) <= set(after)


def test_there_are_cases() -> None:
    """The folder is not empty by mistake."""
    assert len(CASES) >= 5
