"""One writer at a time, many readers, and nothing left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from policyctl.generate import folder_lock as module
from policyctl.generate.folder_lock import LockedError, folder_lock


def test_a_run_that_waits_too_long_says_so(tmp_path: Path) -> None:
    """The loser gets a message with the folder, and takes nothing."""
    with folder_lock(tmp_path):
        with pytest.raises(LockedError, match="another run is writing to"):
            with folder_lock(tmp_path, wait=0.0):
                raise AssertionError("two holders at once")
    with folder_lock(tmp_path, wait=0.0):
        assert os.listdir(tmp_path) == []


def test_readers_share_and_exclude_a_writer(tmp_path: Path) -> None:
    """Two comparisons run at once; a writer waits for both."""
    with folder_lock(tmp_path, shared=True):
        with folder_lock(tmp_path, shared=True, wait=0.0):
            with pytest.raises(LockedError):
                with folder_lock(tmp_path, wait=0.0):
                    raise AssertionError("a writer beside readers")


def test_a_folder_that_was_replaced_while_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is taken on the folder that is there, not on one that is gone."""
    folder = tmp_path / "generated"
    folder.mkdir()
    real = module._acquire
    opened: list[int] = []

    def replaced(descriptor: int, shared: bool, end: float, place: Path) -> None:
        real(descriptor, shared, end, place)
        opened.append(os.fstat(descriptor).st_ino)
        if len(opened) == 1:
            shutil.move(folder, tmp_path / "old")

    monkeypatch.setattr(module, "_acquire", replaced)
    with folder_lock(folder):
        assert folder.stat().st_ino == opened[-1]
    assert len(opened) == 2


def test_a_folder_that_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without locks for folders, runs still exclude each other."""
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    folder = tmp_path / "generated"
    folder.mkdir()
    with folder_lock(folder):
        with pytest.raises(LockedError):
            with folder_lock(folder, wait=0.0):
                raise AssertionError("two holders at once")
    assert os.listdir(folder) == []
