"""Answers a run that nothing has changed for with what the same run printed before.

An entry belongs to one command line in one folder. It holds the output, the exit code
and everything that the run depended on: each file and folder with its status (times,
size, inode) and a digest. While the statuses are the same nothing is read; where one
differs the digests decide. A status that is younger than two seconds is not trusted,
since a change within the clock's grain would not show in it.

This module is loaded before anything else of the command, so it imports only what
Python has loaded by itself, and ``hashlib`` and ``zlib`` when it needs them.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Sequence

from policyctl._version import __version__

FOLDER = ".policyctl-cache"
VARIABLE = "POLICYCTL_NO_CACHE"
MOST_ENTRIES = 50
"""Entries that a folder keeps; the oldest go first."""

MOST_PATHS = 200_000
"""Files and folders that an entry may depend on."""

_MAGIC = "policyctl run 1"
_GRAIN = 2_000_000_000
_NEVER = ("-", "--fix", "--no-cache", "--help", "-h")
_NEVER_BEGINS = ("--output-file", "/dev/", "/proc/")
_FIELDS = 3
Output = tuple[str, str]
"""Where a text went (``out``, ``utf8`` or ``err``), and the text."""


class Unusable(Exception):
    """An entry that cannot be used: damaged, out of date, or of another run."""


def applies(arguments: Sequence[str]) -> bool:
    """Whether a command line only looks, at files alone."""
    if os.environ.get(VARIABLE) or not arguments:
        return False
    if any(item in _NEVER or item.startswith(_NEVER_BEGINS) for item in arguments):
        return False
    if arguments[0] == "generate":
        return "--check" in arguments or "--diff" in arguments
    return arguments[0] == "validate" and "--diff" not in arguments


def key_of(
    arguments: Sequence[str],
    out_color: bool,
    err_color: bool,
    widths: tuple[int | None, int | None],
) -> str:
    """The name of a run's entry: everything that decides its output beside files."""
    from hashlib import blake2b

    parts = (
        __version__,
        sys.version,
        sys.prefix,
        os.getcwd(),
        out_color,
        err_color,
        widths,
        tuple(sys.path),
        tuple(arguments),
    )
    return blake2b(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:40]


def find(key: str) -> tuple[int, list[Output]] | None:
    """The exit code and output of an unchanged run, or None.

    Whatever is wrong with an entry, it is as if there were none.
    """
    folder = _nearest()
    if folder is None:
        return None
    path = os.path.join(folder, f"{key}.run")
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            entry = _Entry.parse(stream.read(), key)
        stale = entry.check()
    except (OSError, Unusable, ValueError, IndexError, MemoryError):
        return None
    if stale:
        _write(path, entry.refreshed())
    return entry.code, entry.outputs


def store(
    root: str, key: str, code: int, outputs: list[Output], dependencies: Dependencies
) -> None:
    """Keep the outcome of a run below ``root``; if that fails, nothing happens."""
    fields = dependencies.fields()
    texts = [text for _, text in outputs]
    if fields is None or any("\0" in text for text in (*texts, *fields)):
        return
    folder = os.path.join(root, FOLDER)
    day = time.strftime("%Y-%m-%d") if dependencies.only_today else ""
    flat = [item for output in outputs for item in output]
    entry = [_MAGIC, key, str(code), day, str(len(outputs)), *flat, *fields]
    try:
        _make(folder)
        _write(os.path.join(folder, f"{key}.run"), entry)
        _prune(folder)
    except OSError:
        return


class Dependencies:
    """What a run has read: files with their content or without, folders, absences.

    ``only_today`` is set where the outcome changes with the date.
    """

    def __init__(self) -> None:
        self.began = time.time_ns()
        self.only_today = False
        self._data: dict[str, bytes | None] = {}

    def file(self, path: str | os.PathLike[str], data: bytes | None = None) -> None:
        """A file, which may be absent; ``data`` is what was read of it."""
        self._data[os.path.abspath(path)] = data

    def tree(self, path: str | os.PathLike[str]) -> None:
        """A folder with all that is below it, hidden files and bytecode left out."""
        todo = [os.path.abspath(path)]
        while todo:
            folder = todo.pop()
            self._data.setdefault(folder, None)
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if _is_ignored(entry.name):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            todo.append(entry.path)
                        else:
                            self._data.setdefault(entry.path, None)
            except OSError:
                continue
            if len(self._data) > MOST_PATHS:
                return

    def paths(self, found: Iterable[str | os.PathLike[str]]) -> None:
        """Files and folders whose content was not kept."""
        for path in found:
            self._data.setdefault(os.path.abspath(path), None)

    def known(self) -> Iterable[str]:
        """The paths so far."""
        return self._data.keys()

    def fields(self) -> list[str] | None:
        """Path, status and digest of each.

        None where one changed during the run, and where there are too many.
        """
        fields: list[str] = []
        if len(self._data) > MOST_PATHS:
            return None
        for path, data in self._data.items():
            status, newest = _status(path)
            if newest >= self.began and data is None:
                return None
            if newest > self.began - _GRAIN:
                status = "?"
            fields += (path, status, _digest(path, data))
        return fields


class _Entry:
    """One entry as it was stored."""

    def __init__(
        self, head: list[str], code: int, outputs: list[Output], fields: list[str]
    ) -> None:
        self.code = code
        self.outputs = outputs
        self._head = head
        self._fields = fields

    @classmethod
    def parse(cls, data: bytes, key: str) -> _Entry:
        """Read an entry.

        Raises:
            Unusable: it is damaged or of another run or day.
        """
        import zlib

        checksum, _, body = data.partition(b"\0")
        if checksum != b"%08x" % zlib.crc32(body):
            raise Unusable
        parts = body.decode("utf-8", "surrogateescape").split("\0")
        magic, own, code, day, number = parts[:5]
        if magic != _MAGIC or own != key:
            raise Unusable
        if day and day != time.strftime("%Y-%m-%d"):
            raise Unusable
        first = 5 + 2 * int(number)
        outputs = list(zip(parts[5:first:2], parts[6:first:2], strict=True))
        return cls(parts[:first], int(code), outputs, parts[first:])

    def check(self) -> bool:
        """Whether statuses have to be stored anew, though nothing has changed.

        Raises:
            Unusable: something has changed.
        """
        stale = False
        fields = self._fields
        for index in range(0, len(fields), _FIELDS):
            path, known, digest = fields[index : index + _FIELDS]
            status, newest = _status(path)
            if status == known:
                continue
            if _digest(path, None) != digest:
                raise Unusable
            if newest < time.time_ns() - _GRAIN:
                fields[index + 1] = status
                stale = True
        return stale

    def refreshed(self) -> list[str]:
        """The entry with the statuses of now."""
        return [*self._head, *self._fields]


def _status(path: str) -> tuple[str, int]:
    """The status of a path as text, and its newest time in nanoseconds."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return "-", 0
    text = (
        f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_size} "
        f"{found.st_ino} {found.st_dev} {found.st_mode}"
    )
    return text, max(found.st_mtime_ns, found.st_ctime_ns)


def _digest(path: str, data: bytes | None) -> str:
    """A digest of a file's content or of the names in a folder; ``-`` for neither."""
    from hashlib import blake2b

    if data is None:
        try:
            if os.path.isdir(path):
                names = sorted(n for n in os.listdir(path) if not _is_ignored(n))
                data = b"folder\0" + "\0".join(names).encode("utf-8", "surrogateescape")
            else:
                with open(path, "rb", opener=_open_at_once) as stream:
                    data = stream.read()
        except (OSError, ValueError):
            return "-"
    return blake2b(data, digest_size=20).hexdigest()


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def _nearest() -> str | None:
    """The cache folder of the working directory or of the nearest folder above it."""
    folder = os.getcwd()
    while True:
        candidate = os.path.join(folder, FOLDER)
        if os.path.isdir(candidate):
            return candidate
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _make(folder: str) -> None:
    """Make the folder, which tells git to leave it alone."""
    os.makedirs(folder, exist_ok=True)
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="ascii") as stream:
            stream.write("# made by policyctl; may be removed at any time\n*\n")


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end, should a pipe be there."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def _write(path: str, entry: list[str]) -> None:
    """Put an entry in its place whole; other runs may be doing the same."""
    if os.path.lexists(path) and not os.path.isfile(path):
        return
    import zlib

    body = "\0".join(entry).encode("utf-8", "surrogateescape")
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        with open(temporary, "wb") as stream:
            stream.write(b"%08x\0" % zlib.crc32(body) + body)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            return


def _prune(folder: str) -> None:
    """Remove the oldest entries over the limit, and what stopped runs left behind."""
    found: list[tuple[float, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            found.append((entry.stat().st_mtime, entry.path))
    for _, path in sorted(found, reverse=True)[MOST_ENTRIES:]:
        os.unlink(path)


__all__ = ["FOLDER", "Dependencies", "Output", "applies", "find", "key_of", "store"]
