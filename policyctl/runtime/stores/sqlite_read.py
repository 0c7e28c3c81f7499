"""Looking into an SQLite file without any trace: nothing is made beside it, no lock stays.

A file in WAL mode belongs together with its log. Where there is a log, programs use the file
now or died with it open: SQLite reads both, and shares the log's index with them. Where there
is none, the file is whole and nobody writes it: it is read as one that cannot change, since
SQLite would make a log and an index even for a reader. If somebody begins to write meanwhile,
the reading is done again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from policyctl.runtime.stores.errors import StoreDamagedError
from policyctl.runtime.stores.sqlite import Database, connect, translated

R = TypeVar("R")
Mark = tuple[int, int, int] | None
TRIES: Final = 10
"""How often a reading is done again for want of a moment without change."""


class ReadOnlyDatabase(Database):
    """One SQLite file that is only read; each reading opens it anew.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "")
        self._log = self.path.with_name(self.path.name + "-wal")

    def read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Run ``work`` in a read transaction.

        Raises:
            StoreDamagedError: the file is damaged.
            sqlite3.Error: it cannot be read.
        """
        for _ in range(TRIES):
            if self._has_log():
                return self._read(work, "mode=ro")
            before = self._mark()
            try:
                result = self._read(work, "mode=ro&immutable=1")
            except (StoreDamagedError, sqlite3.Error):
                if self._is_as(before):
                    raise
                continue  # half of a change looks like damage
            if self._is_as(before):
                return result
        return self._read(work, "mode=ro")

    def write(self, work: Callable[[sqlite3.Connection], R]) -> NoReturn:
        """Refuse: this file is only read.

        Raises:
            sqlite3.OperationalError: always.
        """
        raise sqlite3.OperationalError("the file was opened for reading")

    def _read(self, work: Callable[[sqlite3.Connection], R], mode: str) -> R:
        with translated():
            connection = connect(f"{self.path.as_uri()}?{mode}", uri=True)
            try:
                connection.execute("BEGIN")
                return work(connection)
            finally:
                connection.close()

    def _has_log(self) -> bool:
        try:
            return self._log.stat().st_size > 0
        except OSError:
            return False

    def _is_as(self, before: Mark) -> bool:
        return not self._has_log() and self._mark() == before

    def _mark(self) -> Mark:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def close(self) -> None:
        """Nothing stays open between two readings."""
