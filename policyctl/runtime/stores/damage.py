"""Moving a damaged SQLite file aside and reading what can still be read of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import struct
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

from policyctl.runtime.stores.sqlite import WAL_HEADER, connect

_FRAME_HEADER: Final = 24
_LONGEST_GAP: Final = 1 << 20
"""Numbers that are skipped at most in the search for the next readable row."""


def move_aside(path: Path) -> Path:
    """Give a file and its log a name with a time stamp; the new name of the file.

    What is moved can be opened like the original.
    """
    aside = _free_name(path)
    _move(path, aside)
    return aside


def move_aside_or_go_on(path: Path, note: Path) -> Path:
    """Like ``move_aside``, but a process that dies here or later can be taken over from.

    Args:
        path: the file.
        note: holds the new name from before the first step until the caller, who has
            brought everything over into a new file, removes it.
    """
    name = note.read_text("utf-8", "replace") if note.exists() else ""
    if not re.fullmatch(re.escape(path.name) + r"\.damaged-[0-9T-]+", name):
        name = ""
    aside = path.with_name(name) if name else _free_name(path)
    if not name:
        draft = _beside(note, ".new")
        with open(draft, "w", encoding="utf-8") as file:
            file.write(aside.name)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, note)
    begun = aside.exists() or _beside(aside, "-wal").exists()
    if not (begun and path.exists()):  # else it is the new file already
        _move(path, aside)
    return aside


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    return aside


def _move(path: Path, aside: Path) -> None:
    if path.exists():
        os.rename(path, aside)
    log = _beside(path, "-wal")
    if log.exists():
        os.rename(log, _beside(aside, "-wal"))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_beside(path, "-shm"))


@contextlib.contextmanager
def readable_copy(aside: Path) -> Generator[sqlite3.Connection]:
    """Open a copy of a moved file, so that reading does not change the original."""
    copy = aside.with_name(aside.name + ".reading")
    try:
        if aside.exists():
            shutil.copyfile(aside, copy)
        log = _beside(aside, "-wal")
        if log.exists():
            shutil.copyfile(log, _beside(copy, "-wal"))
            if _size(copy) == 0:
                _first_page_from_log(copy, _beside(copy, "-wal"))
        connection = connect(copy)
        # Without it, SQLite refuses a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema=ON")
        try:
            yield connection
        finally:
            connection.close()
    finally:
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(_beside(copy, end))


def readable_rows(
    connection: sqlite3.Connection, select: str, last: int
) -> Iterator[tuple[Any, ...]]:
    """The rows that can be read, in the order of their number.

    Args:
        connection: to the damaged file.
        select: a query with one parameter: rows whose number, the first column, is
            over it, in that order.
        last: the highest number that there may be.
    """
    after, step = 0, 1
    while after < last:
        try:
            for row in connection.execute(select, (after,)):
                yield row
                after, step = row[0], 1
            return
        except sqlite3.DatabaseError:
            after += step
            step = min(step * 2, _LONGEST_GAP)


def last_number(connection: sqlite3.Connection, table: str, known: int) -> int:
    """The highest row number of a table as far as it can be told; ``known`` at least."""
    try:
        (found,) = connection.execute(f"SELECT max(seq) FROM {table}").fetchone()
    except sqlite3.DatabaseError:
        return max(known, 1 << 16)
    return max(known, found or 0)


def _first_page_from_log(copy: Path, log: Path) -> None:
    """Make a file of its first page alone; opening it brings in the rest of the log."""
    data = log.read_bytes()
    (size,) = struct.unpack(">I", data[8:12])
    if not 512 <= size <= 65536:
        return
    for start in range(WAL_HEADER, len(data) - _FRAME_HEADER, _FRAME_HEADER + size):
        (page,) = struct.unpack(">I", data[start : start + 4])
        if page == 1:
            begin = start + _FRAME_HEADER
            copy.write_bytes(data[begin : begin + size])
            return


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
