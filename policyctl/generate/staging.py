"""Replacing several files as one step, so that a failure leaves all of them old.

New files and links to the old ones are first put into a folder of their own inside the
output. Then a journal is written, the new files are moved to their places one by one,
and the journal is removed. An error on the way moves the old files back. A process that
is killed on the way leaves the journal, and the next run moves the old files back
before it does anything else. Several files cannot change in one instant on any common
file system: who reads the folder during the moves, or after a kill and before the next
run, may see new files beside old ones, each of them complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from policyctl.generate.tree import Content, content_of

STAGING_NAME = ".policyctl-staging"
_JOURNAL = "journal"
_MANY = 32
_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file to be; ``content`` None removes it. ``target`` is below the output."""

    target: Path
    content: bytes | Content | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the journal: ``existed`` tells that ``<index>.old`` is a backup."""

    index: int
    target: str
    existed: bool


def was_interrupted(output: Path) -> bool:
    """Whether a run was killed in ``output`` while it moved files."""
    return os.path.lexists(output / STAGING_NAME / _JOURNAL)


def replace_files(output: Path, replacements: Sequence[Replacement]) -> None:
    """Make all replacements, or none of them and raise.

    The caller holds the folder's lock and has called ``recover``.

    Raises:
        OSError: a file could not be written or moved; the old ones are back in place.
    """
    staging = output / STAGING_NAME
    try:
        os.mkdir(staging, 0o700)
        entries = _stage_all(output, staging, replacements)
        _write_journal(staging, entries)
        for entry, replacement in zip(entries, replacements, strict=True):
            if replacement.content is None:
                os.unlink(replacement.target)
            else:
                os.replace(staging / f"{entry.index}.new", replacement.target)
        _sync_folder(output)
        os.unlink(staging / _JOURNAL)
    except BaseException:
        recover(output)
        raise
    with suppress(OSError):
        _remove_staging(staging)


def recover(output: Path) -> None:
    """Undo what an interrupted run did to ``output``, and clear what it left.

    Raises:
        OSError: a file could not be moved back; the next run tries again.
    """
    staging = output / STAGING_NAME
    if staging.is_symlink() or not staging.is_dir():
        return
    root = os.path.realpath(output)
    for entry in _read_journal(staging):
        target = os.path.normpath(os.path.join(root, entry.target))
        if not Path(target).is_relative_to(root):
            continue
        backup = staging / f"{entry.index}.old"
        if os.path.lexists(backup):
            os.replace(backup, target)
        elif not entry.existed:
            with suppress(FileNotFoundError):
                os.unlink(target)
    with suppress(FileNotFoundError):
        os.unlink(staging / _JOURNAL)
    _remove_staging(staging)


def _stage_all(
    output: Path, staging: Path, replacements: Sequence[Replacement]
) -> list[_Entry]:
    """Stage every file; many at once, since most of the time is waiting for the disk."""

    def stage(index: int) -> _Entry:
        return _stage(output, staging, index, replacements[index])

    indexes = range(len(replacements))
    if len(replacements) < _MANY:
        return [stage(index) for index in indexes]
    with ThreadPoolExecutor(_WORKERS) as pool:
        return list(pool.map(stage, indexes))


def _stage(output: Path, staging: Path, index: int, new: Replacement) -> _Entry:
    target = new.target
    existed = os.path.lexists(target)
    if existed:
        _back_up(target, staging / f"{index}.old")
    if new.content is not None:
        mode = os.stat(target).st_mode & 0o7777 if existed else None
        _write(staging / f"{index}.new", content_of(new.content), mode)
    return _Entry(index, os.path.relpath(target, os.path.realpath(output)), existed)


def _back_up(target: Path, backup: Path) -> None:
    """A second name for the old file; a copy where the file system has no links."""
    try:
        os.link(target, backup, follow_symlinks=False)
    except (OSError, NotImplementedError):
        if target.is_symlink():
            os.symlink(os.readlink(target), backup)
            return
        mode = os.stat(target).st_mode & 0o7777
        _write(backup, target.read_bytes(), mode)


def _write(path: Path, content: bytes, mode: int | None) -> None:
    """Create a file that is on disk when this returns; by default 0644 and the umask."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_journal(staging: Path, entries: Sequence[_Entry]) -> None:
    lines = [[entry.index, entry.target, entry.existed] for entry in entries]
    temporary = staging / f"{_JOURNAL}.new"
    _write(temporary, json.dumps(lines).encode("ascii"), None)
    os.replace(temporary, staging / _JOURNAL)
    _sync_folder(staging)


def _read_journal(staging: Path) -> list[_Entry]:
    """The moves that may have been made; none when the journal was never written."""
    try:
        lines: object = json.loads((staging / _JOURNAL).read_bytes())
    except (FileNotFoundError, ValueError):
        return []
    return [
        _Entry(int(index), str(target), bool(existed))
        for index, target, existed in cast("list[list[object]]", lines)
        if isinstance(index, int)
    ]


def _sync_folder(folder: Path) -> None:
    """Put the folder's names on disk, where the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_staging(staging: Path) -> None:
    for name in os.listdir(staging):
        os.unlink(staging / name)
    os.rmdir(staging)
