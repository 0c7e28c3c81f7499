"""SQLite files that many threads and processes write: connections and transactions.

The file is in WAL mode with ``synchronous=FULL``: a commit that returned survives a
crash of the machine. Nothing is opened before the first transaction. A connection is
used by one thread at a time and never by a child process of the one that opened it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import WeakSet, finalize

from policyctl.runtime.stores.errors import StoreDamagedError, StoreFullError
from policyctl.runtime.stores.filelock import FileLock
from policyctl.runtime.stores.forkgate import GATE

try:
    import resource
except ImportError:  # a system without it has no such limits
    resource = None  # type: ignore[assignment]

R = TypeVar("R")
Connection = sqlite3.Connection
Work = Callable[[Connection], R]

BUSY_SECONDS: Final = 10.0
"""How long a transaction waits for those of other threads and processes."""
KEEP: Final = 4
"""Idle connections that are kept open."""
CHECKPOINT_PAGES: Final = 256
"""Pages of the write-ahead log that are carried over into the file at once."""
WAL_BYTES: Final = 1024 * 1024
"""What the log is cut back to after a checkpoint."""
WAL_HEADER: Final = 32
RESERVE_BYTES: Final = 2 * 1024 * 1024
"""Kept in a file beside it for the time when the disk is full.

A checkpoint fails when less is free than the log holds, and the log goes on in what is
left: so twice the log is what it takes to empty it.
"""
VACUUM_PAGES: Final = 256
"""Free pages that are left in the file, and given back in one step."""
OPENING_BYTES: Final = 256 * 1024
"""What the log and its index take at most when a file is opened."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WRITING = (
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_TRUNCATE",
)
_leaked: list[object] = []
_databases: WeakSet[Database] = WeakSet()


class Database:
    """One SQLite file.

    Args:
        path: the file; folders above it are made when it is first opened.
        schema: statements that make the tables; run once for each new connection, so
            each says ``IF NOT EXISTS``.
        max_pages: the most pages of the file, None for no limit of its own.
    """

    def __init__(self, path: str, schema: str, *, max_pages: int | None = None) -> None:
        self.path = Path(path).absolute()
        self.schema = schema
        self.max_pages = max_pages
        self._reserve = self.path.with_name(self.path.name + ".reserve")
        self.lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        self.repair = self.path.with_name(self.path.name + ".repair")
        self._finalizer: finalize[[list[tuple[Connection, int]], int], Any] | None
        self._finalizer = None
        self.after_fork()
        _databases.add(self)

    def after_fork(self) -> None:
        """In a child process: forget the connections of the parent, closing none.

        Closing them here would end locks that the parent relies on.
        """
        _leaked.extend(getattr(self, "_idle", ()))
        self._idle: list[tuple[Connection, int]] = []
        if self._finalizer is not None:
            self._finalizer.detach()
        self._finalizer = finalize(self, _close_dropped, self._idle, os.getpid())
        self._mutex = Lock()
        self._process = os.getpid()
        self._allowed: int | None = None
        self.repairing = False
        self.lock.after_fork()

    def write(self, work: Work[R]) -> R:
        """Run ``work`` in a write transaction, and commit.

        Raises:
            StoreFullError: no space is left; nothing was written.
            StoreDamagedError: the file is damaged.
            sqlite3.Error: it could not be done, for example because others kept the
                file locked for ``BUSY_SECONDS``.
        """
        return self._run(work, "BEGIN IMMEDIATE")

    def read(self, work: Work[R]) -> R:
        """Run ``work`` in a read transaction, which waits for nobody.

        Raises:
            StoreDamagedError, sqlite3.Error: as ``write``.
        """
        return self._run(work, "BEGIN")

    def _run(self, work: Work[R], begin: str) -> R:
        while True:
            with GATE, self._borrowed() as (connection, inode), translated():
                connection.execute(begin)
                try:
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                if self._inode() == inode:
                    return result
            # The file was replaced meanwhile: what was done went into the old one.

    @contextlib.contextmanager
    def _borrowed(self) -> Generator[tuple[Connection, int]]:
        """A connection to the file that is there now; kept for the next one after."""
        if os.getpid() != self._process:
            self.after_fork()
        pair = self._take_idle()
        if pair is None:
            pair = self._open()
        try:
            yield pair
        except StoreDamagedError:
            pair[0].close()
            raise
        except BaseException:
            self._give_back(pair)
            raise
        self._give_back(pair)

    def _take_idle(self) -> tuple[Connection, int] | None:
        while True:
            with self._mutex:
                if not self._idle:
                    return None
                pair = self._idle.pop()
            if pair[1] == self._inode() and self._allowed == file_limit():
                return pair
            pair[0].close()

    def _give_back(self, pair: tuple[Connection, int]) -> None:
        with self._mutex:
            if len(self._idle) < KEEP and not pair[0].in_transaction:
                self._idle.append(pair)
                return
        pair[0].close()

    def _inode(self) -> int:
        try:
            return os.stat(self.path).st_ino
        except FileNotFoundError:
            return -1

    def _open(self) -> tuple[Connection, int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.lock, translated():
            self._check_file()
            try:
                connection = self._connect()
            except StoreFullError:
                if not self._shrink_reserve():
                    raise
                connection = self._connect()
            self.fill_reserve()
            return connection, self._inode()

    def _connect(self) -> Connection:
        with translated():
            connection = connect(self.path)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def _check_file(self) -> None:
        """Find what SQLite would take for a new file although there was one.

        A repair that was cut off is such a case: its file is there while it lasts.
        """
        if self.repairing:
            return
        if self.repair.exists():
            raise StoreDamagedError("its repair was interrupted")
        log = self.path.with_name(self.path.name + "-wal")
        size = self.path.stat().st_size if self.path.exists() else -1
        if size <= 0 and log.exists() and log.stat().st_size > WAL_HEADER:
            raise StoreDamagedError("the file is gone, its log is not")
        if size == 0 and self._reserve.exists():
            raise StoreDamagedError("the file is empty")

    def _prepare(self, connection: Connection) -> None:
        run = connection.execute
        if run("PRAGMA auto_vacuum").fetchone()[0] != 2:  # saying it again would write
            run("PRAGMA auto_vacuum=INCREMENTAL")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run(f"PRAGMA journal_size_limit={WAL_BYTES}")
        run(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        most = self._most_pages(run("PRAGMA page_size").fetchone()[0])
        if most is not None:
            run(f"PRAGMA max_page_count={most}")
        run("BEGIN IMMEDIATE")
        for statement in self.schema.split(";"):
            if statement.strip():
                run(statement)
        run("COMMIT")

    def _most_pages(self, page: int) -> int | None:
        """The most pages that the file may have; None without a limit.

        A page that lies behind the largest size of a file could be written to the log
        alone, which then could never be emptied.
        """
        self._allowed = file_limit()
        if self._allowed is None:
            return self.max_pages
        return min(self._allowed // page, self.max_pages or sys.maxsize)

    def reclaim(self) -> None:
        """Give free pages back to the file system, a bounded number in one step."""
        with GATE, self._borrowed() as (connection, _), translated():
            (free,) = connection.execute("PRAGMA freelist_count").fetchone()
            if free > VACUUM_PAGES:
                # execute() would stop after the first page.
                connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")
        self.fill_reserve()

    def open_reserve(self) -> None:
        """Free the space that was kept for steps that make room."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._reserve)

    def _shrink_reserve(self) -> bool:
        """Free what opening takes, and no more: puts must not use it up."""
        size = self._reserve_size()
        if not size:
            return False
        try:
            os.truncate(self._reserve, max(0, size - OPENING_BYTES))
        except OSError:
            return False
        return True

    def is_short(self) -> bool:
        """Whether less space is left than emptying the log may take, and a step after it.

        Where readers and writers never pause, the log grows; what it holds may have to
        be appended to the file before it can be emptied.
        """
        log = self.path.with_name(self.path.name + "-wal")
        needed = _size_of(log) + 2 * OPENING_BYTES
        return free_bytes(self.path) + self._reserve_size() < needed

    def _reserve_size(self) -> int:
        return _size_of(self._reserve)

    def fill_reserve(self) -> None:
        """Keep space for steps that make room, where there is plenty of it."""
        if self._reserve_size() >= RESERVE_BYTES:
            return
        if free_bytes(self.path) < 2 * RESERVE_BYTES:
            return
        try:
            with open(self._reserve, "wb") as file:
                file.write(b"\xff" * RESERVE_BYTES)
        except OSError:
            self.open_reserve()

    def empty_log(self) -> None:
        """Carry the log over into the file and cut it, as far as that is possible."""
        errors = contextlib.suppress(
            sqlite3.Error, StoreFullError, StoreDamagedError, OSError
        )
        with GATE, errors, self._borrowed() as (connection, _):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def disk_bytes(self) -> int:
        """What the file and its log take on disk."""
        ends = ("", "-wal")
        files = (self.path.with_name(self.path.name + end) for end in ends)
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close the idle connections; the next transaction opens a new one."""
        if os.getpid() != self._process:
            self.after_fork()
            return
        with GATE:
            with self._mutex:
                idle = self._idle.copy()
                self._idle.clear()
            for connection, _ in idle:
                connection.close()


def _close_dropped(idle: list[tuple[Connection, int]], process: int) -> None:
    """Close what a database that nobody closed has kept, also at the end of the process."""
    if os.getpid() != process or not GATE.enter_if_open():
        _leaked.extend(idle)
        return
    try:
        while idle:
            idle.pop()[0].close()
    finally:
        GATE.__exit__(None, None, None)


def _size_of(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def file_limit() -> int | None:
    """The largest file that this process may write; None without a limit."""
    if resource is None:
        return None
    found: int = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if found == resource.RLIM_INFINITY else found


def free_bytes(path: Path) -> int:
    """The free space of the file system, without end where it cannot be told."""
    try:
        found = os.statvfs(path.parent)
    except (OSError, AttributeError):
        return sys.maxsize
    return found.f_bavail * found.f_frsize


def connect(path: Path | str, *, uri: bool = False) -> Connection:
    """Open a file for one thread at a time; it waits ``BUSY_SECONDS`` for others."""
    return sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=uri,
    )


@contextlib.contextmanager
def translated() -> Generator[None]:
    """Full disks and damaged files as errors of ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or _is_out_of_space(code, error):
            raise StoreFullError(str(error)) from error
        if code in _DAMAGED:
            raise StoreDamagedError(str(error)) from error
        raise


def _is_out_of_space(code: int, error: sqlite3.DatabaseError) -> bool:
    """Whether an I/O error comes from a full disk, as it does for the shared index."""
    if code != sqlite3.SQLITE_IOERR:
        return False
    return getattr(error, "sqlite_errorname", "") in _WRITING


def _after_fork_in_child() -> None:
    for database in list(_databases):
        database.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
