"""One writer at a time: an advisory lock on a folder that leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

WAIT = 60.0
_STEP = 0.02


class LockedError(OSError):
    """Another run held the lock for all of the time that we waited."""


@contextmanager
def folder_lock(
    folder: Path, *, shared: bool = False, wait: float = WAIT
) -> Generator[None]:
    """Hold the lock of an existing folder; ``shared`` ones exclude only writers.

    Raises:
        LockedError: the lock was not free within ``wait`` seconds.
        OSError: the folder cannot be opened.
    """
    end = time.monotonic() + wait
    while True:
        descriptor = _open(folder)
        try:
            _acquire(descriptor, shared, end, folder)
            if _is_current(descriptor, folder):
                yield
                return
        finally:
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _open(folder: Path) -> int:
        return os.open(_lock_file(folder), os.O_RDWR | os.O_CREAT)

    def _try_lock(descriptor: int, shared: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _is_current(descriptor: int, folder: Path) -> bool:
        return True

else:
    import fcntl

    def _open(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def _try_lock(descriptor: int, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _is_current(descriptor: int, folder: Path) -> bool:
        """Whether the folder is still the one that was opened."""
        try:
            now = os.stat(folder)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
            return False
        then = os.fstat(descriptor)
        return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)


def _acquire(descriptor: int, shared: bool, end: float, folder: Path) -> None:
    while not _try_lock(descriptor, shared):
        if time.monotonic() > end:
            raise LockedError(f"another run is writing to {folder.as_posix()}")
        time.sleep(_STEP)


def _lock_file(folder: Path) -> str:
    """Where the lock lives when a folder itself cannot be locked."""
    name = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape"))
    return os.path.join(
        tempfile.gettempdir(), f"policyctl-{name.hexdigest()[:24]}.lock"
    )
