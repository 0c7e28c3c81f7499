"""Pipes, devices, sockets, folders and broken links, wherever a file is expected."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

REPORT = ["validate", "policies", "--no-cache", "--format", "json", "--output-file"]
POLICYCTL = [sys.executable, "-m", "policyctl"]


def make(kind: str, path: Path) -> None:
    """Something at ``path`` that is no regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("making a device node needs privileges")
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("nowhere")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            here = os.getcwd()
            os.chdir(path.parent)
            try:
                made.bind(path.name)
            finally:
                os.chdir(here)


def kind_of(path: Path) -> int:
    """The format bits of what is at ``path`` itself."""
    return stat.S_IFMT(path.lstat().st_mode)


@pytest.fixture
def project(write: Write, texts: Any, tmp_path: Path) -> Path:
    """A project with one policy that is clean."""
    write("policies/a.yaml", texts.clean)
    return tmp_path


def test_a_report_is_written_into_a_pipe(project: Path, run_cli: Run) -> None:
    """The reader is served and the pipe stays one."""
    pipe = project / "pipe"
    make("pipe", pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert run_cli(*REPORT, str(pipe)).code == 0
    reader.join(60)
    assert got[0].startswith(b"{")
    assert got[0].endswith(b"}\n")
    assert stat.S_ISFIFO(kind_of(pipe))


def test_a_report_is_written_into_a_device(project: Path, run_cli: Run) -> None:
    """A copy of the null device is still one afterwards, with nothing beside it."""
    device = project / "null"
    make("device", device)
    assert run_cli(*REPORT, str(device)).code == 0
    assert stat.S_ISCHR(kind_of(device))
    assert sorted(p.name for p in project.iterdir()) == ["null", "policies"]


@pytest.mark.parametrize(
    ("kind", "reason"), [("folder", "is a folder"), ("socket", "no such device")]
)
def test_a_report_replaces_neither_folders_nor_sockets(
    project: Path, run_cli: Run, kind: str, reason: str
) -> None:
    """They are refused and stay."""
    place = project / "place"
    make(kind, place)
    before = kind_of(place)
    outcome = run_cli(*REPORT, str(place))
    assert outcome.code == 2
    assert "cannot be written" in outcome.err
    assert kind_of(place) == before
    assert reason in outcome.err or kind == "socket"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("to_file", [False, True])
def test_standard_output_as_an_output_file(
    project: Path, name: str, to_file: bool
) -> None:
    """A pipe and a redirected file get the report after what is in them already."""
    command = [*POLICYCTL, *REPORT, name]
    if not to_file:
        done = subprocess.run(command, cwd=project, capture_output=True, check=False)
        assert (done.returncode, done.stdout[:1]) == (0, b"{")
        return
    place = project / "out"
    with place.open("wb") as stream:
        stream.write(b"before\n")
        stream.flush()
        inode = place.stat().st_ino
        subprocess.run(command, cwd=project, stdout=stream, check=True)
    assert place.read_bytes().startswith(b"before\n{")
    assert place.stat().st_ino == inode


def test_a_regular_file_is_replaced_whole(project: Path, run_cli: Run) -> None:
    """Its inode changes, its mode and a link to it stay."""
    place = project / "report.json"
    place.write_bytes(b"old")
    place.chmod(0o640)
    inode = place.stat().st_ino
    link = project / "link.json"
    link.symlink_to("report.json")
    assert run_cli(*REPORT, str(link)).code == 0
    assert link.is_symlink()
    assert place.read_bytes()[:1] == b"{"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert place.stat().st_ino != inode


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
@pytest.mark.parametrize("command", [["validate"], ["validate", "--fix"], ["generate"]])
def test_policies_are_regular_files(
    project: Path, run_cli: Run, kind: str, command: list[str]
) -> None:
    """Named outright, what is not one is refused at once instead of waited for."""
    make(kind, project / "odd")
    outcome = run_cli(*command, "odd")
    assert outcome.code == 2
    assert "odd is not a regular file" in outcome.out + outcome.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_policies_from_standard_input(project: Path, texts: Any, name: str) -> None:
    """Standard input may be a pipe under each of its names, and is never cached."""
    for text, code in ((texts.clean, 0), (texts.error, 1)):
        done = subprocess.run(
            [*POLICYCTL, "validate", name],
            cwd=project,
            input=text.encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "link"])
@pytest.mark.parametrize("name", ["policyctl.toml", "pyproject.toml"])
def test_a_configuration_is_a_readable_file(
    project: Path, run_cli: Run, kind: str, name: str
) -> None:
    """One that cannot be read is an error, since it may have made the run stricter."""
    make(kind, project / name)
    outcome = run_cli("validate")
    text = outcome.out + outcome.err
    assert outcome.code == 2
    assert "CF101" in text
    assert "help: " in text


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder"])
def test_a_baseline_is_a_regular_file(project: Path, run_cli: Run, kind: str) -> None:
    """Neither read nor replaced if it is something else."""
    place = project / "baseline.toml"
    make(kind, place)
    before = kind_of(place)
    for command in (
        ["validate", "--baseline", "baseline.toml"],
        ["baseline", "update", "--allow-growth", "--baseline", "baseline.toml"],
    ):
        outcome = run_cli(*command)
        assert outcome.code == 2
        assert "baseline.toml cannot be read" in outcome.out + outcome.err
    assert kind_of(place) == before


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder"])
@pytest.mark.parametrize("name", ["quotes_api.py", "other.py", "policies.lock.json"])
def test_generated_files_replace_nothing_else(
    project: Path, run_cli: Run, kind: str, name: str
) -> None:
    """What stands in the way is named; what only stands beside is left alone."""
    (project / "generated").mkdir()
    place = project / "generated" / name
    make(kind, place)
    before = kind_of(place)
    outcome = run_cli("generate")
    assert kind_of(place) == before
    if name == "other.py":
        assert outcome.code == 0
    else:
        assert outcome.code in (1, 2)
        assert name in outcome.out + outcome.err


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "link"])
def test_a_starter_replaces_nothing(tmp_path: Path, run_cli: Run, kind: str) -> None:
    """Whatever stands where a file of the starter would go stays."""
    place = tmp_path / "policyctl.toml"
    make(kind, place)
    before = kind_of(place)
    assert run_cli("init").code == 2
    assert kind_of(place) == before


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_the_cache_replaces_nothing_else(
    project: Path, run_cli: Run, kind: str
) -> None:
    """An entry that is no file is neither read nor written."""
    command = [*POLICYCTL, "validate"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (entry,) = (project / ".policyctl-cache").glob("*.run")
    entry.unlink()
    make(kind, entry)
    before = kind_of(entry)
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=180)
    assert kind_of(entry) == before
