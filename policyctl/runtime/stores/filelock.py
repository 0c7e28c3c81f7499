"""A lock between processes on a file beside the one that it protects."""

from __future__ import annotations

import os
from pathlib import Path
from threading import RLock
from types import TracebackType

try:
    import fcntl
except ImportError:  # a system without it runs one process for each file
    fcntl = None  # type: ignore[assignment]


class FileLock:
    """Held by one thread of one process at a time; freed when its process dies.

    The system's lock belongs to an open file and not to the process, so that it does
    not touch the locks that SQLite keeps on its own files.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self.after_fork()

    def after_fork(self) -> None:
        """In a child process: the lock is free here, whatever the parent holds."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._mutex = RLock()
        self._depth = 0
        self._descriptor = -1

    def __enter__(self) -> None:
        self._mutex.acquire()
        self._depth += 1
        if self._depth > 1 or fcntl is None:
            return
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o666)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._leave()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._depth == 1 and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._depth -= 1
        self._mutex.release()
