"""Several files change together: an error or a kill anywhere leaves all of them old."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.generate.staging import (
    STAGING_NAME,
    Replacement,
    recover,
    replace_files,
    was_interrupted,
)

CALLS = [
    "mkdir",
    "open",
    "write",
    "fsync",
    "chmod",
    "close",
    "link",
    "replace",
    "unlink",
    "rmdir",
    "listdir",
]

Tree = dict[str, tuple[bytes, int]]


class Killed(BaseException):
    """The process is gone: nothing that it would still do happens."""


def make(folder: Path) -> Path:
    """A package of three files, one with a mode of its own, and a stranger."""
    folder.mkdir()
    for name in ("a.py", "b.py", "c.py", "mine.txt"):
        (folder / name).write_bytes(f"old {name}".encode())
    (folder / "b.py").chmod(0o640)
    return folder


def changes(folder: Path) -> list[Replacement]:
    """Two files change, one goes, and one is new."""
    return [
        Replacement(folder / "a.py", b"new a.py"),
        Replacement(folder / "b.py", b"new b.py"),
        Replacement(folder / "c.py", None),
        Replacement(folder / "d.py", b"new d.py"),
    ]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """The package, in its old state."""
    return make(tmp_path / "generated")


@pytest.fixture
def replacements(output: Path) -> list[Replacement]:
    """What is to change in it."""
    return changes(output)


def read(folder: Path) -> Tree:
    """The content and mode of everything in a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Faults:
    """Counts system calls and lets one of them fail, once or for good."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, at: int | None, error: BaseException
    ) -> None:
        self.count = 0
        self.at = at
        self.error = error
        for name in CALLS:
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name)))

    def _wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            index = self.count
            self.count += 1
            dead = isinstance(self.error, Killed)
            if self.at is not None and (index == self.at or (dead and index > self.at)):
                raise self.error
            return real(*args, **kwargs)

        return call


def each_call(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A fresh copy of the package for each system call of a run without faults."""
    first = make(tmp_path / "first")
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, None, Killed())
        replace_files(first, changes(first))
    assert faults.count > 30
    for at in range(faults.count):
        yield at, make(tmp_path / f"run{at}")


def new_tree(old: Tree) -> Tree:
    """What the replacements make of the package."""
    plain = old["a.py"][1]
    return {
        "a.py": (b"new a.py", plain),
        "b.py": (b"new b.py", 0o640),
        "d.py": (b"new d.py", plain),
        "mine.txt": old["mine.txt"],
    }


def test_all_files_change(output: Path, replacements: list[Replacement]) -> None:
    """Without faults the new tree is there, modes are kept, and nothing else is left."""
    old = read(output)
    replace_files(output, replacements)
    assert read(output) == new_tree(old)
    assert not (output / STAGING_NAME).exists()


def test_an_error_at_any_system_call_leaves_the_old_tree(tmp_path: Path) -> None:
    """A full disk is reported, and every file is as it was, with no leftovers."""
    failures = 0
    for at, folder in each_call(tmp_path):
        old = read(folder)
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, OSError(errno.ENOSPC, "no space left"))
            try:
                replace_files(folder, changes(folder))
            except OSError:
                failures += 1
                expected = old
            else:
                recover(folder)  # what could not be cleared waits for the next run
                expected = new_tree(old)
        assert read(folder) == expected, at
        assert not (folder / STAGING_NAME).exists(), at
    assert failures > 25


def test_a_kill_at_any_system_call_is_undone_by_the_next_run(tmp_path: Path) -> None:
    """After a kill the tree is old, or new, or says that it was interrupted."""
    seen: set[str] = set()
    for at, folder in each_call(tmp_path):
        old, new = read(folder), new_tree(read(folder))
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, Killed())
            with contextlib.suppress(Killed):
                replace_files(folder, changes(folder))
        found = {name: file for name, file in read(folder).items() if "/" not in name}
        state = "old" if found == old else "new" if found == new else "mixed"
        interrupted = was_interrupted(folder)
        seen.add(state)
        assert state != "mixed" or interrupted, at
        recover(folder)
        assert read(folder) == (new if state == "new" and not interrupted else old), at
        assert not (folder / STAGING_NAME).exists(), at
    assert seen == {"old", "new", "mixed"}


def test_a_kill_while_undoing_is_undone_too(tmp_path: Path) -> None:
    """Undoing can itself be killed at any system call and done again."""
    for at in range(40):
        folder = make(tmp_path / f"run{at}")
        old = read(folder)
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, 32, Killed())
            with pytest.raises(Killed):
                replace_files(folder, changes(folder))
        assert was_interrupted(folder)
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, at, Killed())
            with contextlib.suppress(Killed):
                recover(folder)
        recover(folder)
        assert read(folder) == old, at


def test_files_are_copied_where_there_are_no_links(
    output: Path, replacements: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without hard links a failure restores content and mode."""
    old = read(output)
    replace = os.replace

    def no_link(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EPERM, "operation not permitted")

    def failing(source: Any, target: Any) -> None:
        if str(target).endswith("b.py") and str(source).endswith(".new"):
            raise OSError(errno.EROFS, "read-only file system")
        replace(source, target)

    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="read-only"):
        replace_files(output, replacements)
    assert read(output) == old


def test_an_interrupt_moves_everything_back(
    output: Path, replacements: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between two moves is undone before the program ends."""
    old = read(output)
    unlink = os.unlink

    def interrupted(path: Any) -> None:
        if str(path).endswith("c.py"):
            raise KeyboardInterrupt
        unlink(path)

    monkeypatch.setattr(os, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_files(output, replacements)
    assert read(output) == old


def test_a_journal_leads_nowhere_else(output: Path, tmp_path: Path) -> None:
    """Entries of a forged journal that leave the folder are not followed."""
    staging = output / STAGING_NAME
    staging.mkdir()
    (staging / "0.old").write_bytes(b"forged")
    (staging / "journal").write_text('[[0, "../victim.txt", true]]')
    victim = tmp_path / "victim.txt"
    victim.write_bytes(b"safe")
    recover(output)
    assert victim.read_bytes() == b"safe"
    assert not staging.exists()


def test_a_link_in_place_of_the_staging_folder_is_not_followed(
    output: Path, replacements: list[Replacement], tmp_path: Path
) -> None:
    """A planted link is an error, and what it points to is not touched."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "keep").write_bytes(b"keep")
    (output / STAGING_NAME).symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        replace_files(output, replacements)
    assert [path.name for path in elsewhere.iterdir()] == ["keep"]
