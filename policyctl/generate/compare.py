"""What is in the output folder against what was built: which files differ, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Literal

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.build import Built
from policyctl.generate.digest import FORMAT_VERSION, content_digest
from policyctl.generate.folder_lock import folder_lock
from policyctl.generate.header import is_ours, parse_header
from policyctl.generate.lock import LOCK_NAME, Lock, LockError
from policyctl.generate.options import GenerateOptions
from policyctl.generate.places import PlaceError, check_roots, find_target
from policyctl.generate.staging import was_interrupted

Kind = Literal["missing", "changed", "hand_edited", "orphaned", "version_only"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that is not as it was built.

    Attributes:
        path: the file's path below the output folder.
        kind: what is the matter; ``version_only`` is no reason to regenerate.
        message: that in words, with the file's name.
        old: the bytes on disk, None when there is no file.
        new: the bytes that were built, None for an orphan.
    """

    path: PurePosixPath
    kind: Kind
    message: str
    old: bytes | None
    new: bytes | None

    def diff(self, folder: str = "") -> str:
        """A unified diff from the disk to what was built, ending with a newline.

        Paths are shown below ``folder``.
        """
        name = f"{folder}/{self.path}" if folder else str(self.path)
        lines = unified_diff(
            _lines(self.old),
            _lines(self.new),
            name if self.old is not None else "/dev/null",
            name if self.new is not None else "/dev/null",
        )
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The state of the output folder.

    Attributes:
        changes: files that differ, by path.
        conflicts: why the folder cannot be written to: files of somebody else where
            files of ours would go, links that lead out, overlapping folders.
        interrupted: an earlier run was killed while it replaced files; the next write
            finishes its work first.
    """

    changes: tuple[FileChange, ...]
    conflicts: tuple[Diagnostic, ...] = ()
    interrupted: bool = False

    @property
    def fresh(self) -> bool:
        """Whether nothing has to be written; a newer version alone is no reason."""
        return not (self.stale or self.conflicts or self.interrupted)

    @property
    def stale(self) -> tuple[FileChange, ...]:
        """The changes that a write makes."""
        return tuple(c for c in self.changes if c.kind != "version_only")


def compare(built: Built, options: GenerateOptions) -> Comparison:
    """Compare what was built with the output folder; nothing is written.

    It waits for a run that is writing to the folder.

    Raises:
        OSError: a file or the folder cannot be read, or the wait took too long.
    """
    if not options.output.is_dir():
        return compare_unlocked(built, options)
    with folder_lock(options.output, shared=True):
        return compare_unlocked(built, options)


def compare_unlocked(built: Built, options: GenerateOptions) -> Comparison:
    """The same for a caller that holds the folder's lock."""
    output = options.output
    conflicts = [_conflict(error, options) for error in check_roots(options)]
    if conflicts:
        return Comparison((), tuple(conflicts))
    if not output.exists():
        return Comparison(
            tuple(_missing(path, new) for path, new in built.tree.items())
        )
    lock = _read_lock(output)
    changes: list[FileChange] = []
    for path, new in built.tree.items():
        try:
            target = find_target(output, path)
            old = target.read_bytes() if target.exists() else None
            change = _compare_file(path, old, new, lock)
        except PlaceError as error:
            conflicts.append(_conflict(error, options))
            continue
        if change is not None:
            changes.append(change)
    if not options.partial:
        changes.extend(_orphans(built, output, lock))
    changes.sort(key=lambda change: change.path)
    return Comparison(tuple(changes), tuple(conflicts), was_interrupted(output))


def _compare_file(
    path: PurePosixPath, old: bytes | None, new: bytes, lock: Lock | None
) -> FileChange | None:
    if old is None:
        return _missing(path, new)
    if old == new:
        return None
    if path.name == LOCK_NAME:
        return _compare_lock(path, old, new)
    recorded = None if lock is None else lock.files.get(str(path))
    if not (is_ours(old) if path.suffix == ".py" else recorded is not None):
        raise PlaceError(
            f"{path} exists and was not generated by policyctl",
            "move the file away, or choose another output folder",
        )
    if recorded == content_digest(old):
        return FileChange(path, "changed", _why_changed(path, old, new), old, new)
    header, ours = parse_header(old), parse_header(new)
    if recorded is None and header is not None and header != ours:
        return FileChange(path, "changed", _why_changed(path, old, new), old, new)
    message = f"{path} was edited by hand: the edit would be lost"
    return FileChange(path, "hand_edited", message, old, new)


def _why_changed(path: PurePosixPath, old: bytes, new: bytes) -> str:
    header, ours = parse_header(old), parse_header(new)
    if header is None or ours is None:
        return f"{path} is not up to date"
    if header.format != ours.format:
        return (
            f"{path} has output format {header.format}, this version writes "
            f"{ours.format}: regenerate"
        )
    if header.digest != ours.digest:
        return f"{path} is out of date: its policy or the options changed"
    if header.source != ours.source:
        return f"{path} is out of date: its policy is now read from {ours.source}"
    return f"{path} is out of date: the generator changed"


def _compare_lock(path: PurePosixPath, old: bytes, new: bytes) -> FileChange:
    ours = Lock.parse(new)
    try:
        lock = Lock.parse(old)
    except LockError as error:
        if b'"generator": "policyctl ' not in old:
            raise PlaceError(
                f"{path} exists and was not generated by policyctl: {error}",
                "move the file away, or choose another output folder",
            ) from None
        message = f"{path} was edited by hand: {error}"
        return FileChange(path, "hand_edited", message, old, new)
    if replace(lock, generator=ours.generator).render() == new:
        message = f"{path} was written by {lock.generator}, with the same content"
        return FileChange(path, "version_only", message, old, new)
    if lock.format != FORMAT_VERSION:
        message = (
            f"{path} has output format {lock.format}, this version writes "
            f"{FORMAT_VERSION}: regenerate"
        )
        return FileChange(path, "changed", message, old, new)
    if not lock.is_intact() or lock.render() != old:
        message = f"{path} was edited by hand: its values and digests disagree"
        return FileChange(path, "hand_edited", message, old, new)
    message = f"{path} is out of date: a policy or the options changed"
    return FileChange(path, "changed", message, old, new)


def _orphans(built: Built, output: Path, lock: Lock | None) -> Iterator[FileChange]:
    listed = frozenset[str]() if lock is None else frozenset(lock.files)
    for path in sorted(output.iterdir()):
        name = PurePosixPath(path.name)
        if name in built.tree or not path.is_file():
            continue
        if path.suffix != ".py" and path.name not in listed:
            continue
        old = path.read_bytes()
        if path.suffix != ".py" or is_ours(old):
            message = f"{name} is an orphan: no policy generates it any more"
            yield FileChange(name, "orphaned", message, old, None)


def _read_lock(output: Path) -> Lock | None:
    try:
        return Lock.parse(find_target(output, PurePosixPath(LOCK_NAME)).read_bytes())
    except (FileNotFoundError, LockError, PlaceError):
        return None


def _missing(path: PurePosixPath, new: bytes) -> FileChange:
    return FileChange(path, "missing", f"{path} is missing", None, new)


def _conflict(error: PlaceError, options: GenerateOptions) -> Diagnostic:
    return Diagnostic(
        "GN006",
        "output-conflict",
        Severity.ERROR,
        error.message,
        Span(options.output.as_posix()),
        help=error.help,
    )


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
