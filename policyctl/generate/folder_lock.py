"""One writer at a time: an advisory lock on a folder that leaves nothing in it."""

from __future__ import annotations

import errno
import getpass
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

    Where a folder itself cannot be locked (some network file systems, Windows), a file
    in the folder for temporary files stands in for it.

    Raises:
        LockedError: the lock was not free within ``wait`` seconds.
        OSError: the folder cannot be opened.
    """
    end = time.monotonic() + wait
    on_folder = not _IS_WINDOWS
    while True:
        descriptor = _open_folder(folder) if on_folder else _open_stand_in(folder)
        try:
            _acquire(descriptor, shared, end, folder)
            if not on_folder or _is_current(descriptor, folder):
                yield
                return
        except _CannotLockError:
            if not on_folder:
                raise
            on_folder = False
        finally:
            os.close(descriptor)


class _CannotLockError(OSError):
    """The file system has no locks for what was opened."""


if sys.platform == "win32":
    import msvcrt

    _IS_WINDOWS = True

    def _open_folder(folder: Path) -> int:
        raise _CannotLockError

    def _try_lock(descriptor: int, shared: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    _IS_WINDOWS = False
    _UNSUPPORTED = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP)

    def _open_folder(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def _try_lock(descriptor: int, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                raise _CannotLockError(*error.args) from None
            raise
        return True


def _acquire(descriptor: int, shared: bool, end: float, folder: Path) -> None:
    while not _try_lock(descriptor, shared):
        if time.monotonic() > end:
            raise LockedError(f"another run is writing to {folder.as_posix()}")
        time.sleep(_STEP)


def _is_current(descriptor: int, folder: Path) -> bool:
    """Whether the folder is still the one that was opened; one is there in any case."""
    try:
        now = os.stat(folder)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        return False
    then = os.fstat(descriptor)
    return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)


def _open_stand_in(folder: Path) -> int:
    """Open a file of this user's own that stands for the folder."""
    name = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape"))
    user = getattr(os, "getuid", getpass.getuser)()
    file = f"policyctl-{user}-{name.hexdigest()[:24]}.lock"
    path = os.path.join(tempfile.gettempdir(), file)
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
