"""What is in the output folder against what was built: which files differ, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.build import Built
from policyctl.generate.bundle import FOLDER
from policyctl.generate.changes import FileChange, compare_file
from policyctl.generate.folder_lock import folder_lock
from policyctl.generate.header import generated_modules
from policyctl.generate.lock import LOCK_NAME, Lock, LockError
from policyctl.generate.options import GenerateOptions
from policyctl.generate.places import PlaceError, check_roots, find_target
from policyctl.generate.staging import was_interrupted
from policyctl.generate.tree import Tree

__all__ = ["Comparison", "FileChange", "compare", "compare_unlocked"]


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
        NotBuiltError: a file was built by its digest alone, and has been changed since.
    """
    if not options.output.is_dir():
        return compare_unlocked(built, options)
    with folder_lock(options.output, shared=True):
        return compare_unlocked(built, options)


def compare_unlocked(
    built: Built, options: GenerateOptions, before: Comparison | None = None
) -> Comparison:
    """The same for a caller that holds the folder's lock.

    ``before`` is an earlier comparison with the same package: what it says of files that
    have not changed since is taken from it.
    """
    output = options.output
    conflicts = [_conflict(error, options) for error in check_roots(options)]
    if conflicts or not built.tree:
        return Comparison((), tuple(conflicts))
    lock = _LockOnDisk(output)
    changes: list[FileChange] = []
    plain = options.plain()
    known = {} if before is None else {change.path: change for change in before.changes}
    for path in built.tree:
        try:
            target = find_target(output, path)
            old = target.read_bytes() if target.exists() else None
            change = known.get(path)
            if change is None or not change.still(old):
                change = _compare(path, old, built, lock, plain)
        except PlaceError as error:
            conflicts.append(_conflict(error, options))
            continue
        if change is not None:
            changes.append(change)
    if not options.partial and output.is_dir():
        changes.extend(_orphans(built, output, lock))
    changes.sort(key=lambda change: change.path)
    return Comparison(tuple(changes), tuple(conflicts), was_interrupted(output))


def _compare(
    path: PurePosixPath,
    old: bytes | None,
    built: Built,
    lock: _LockOnDisk,
    options: Mapping[str, Any],
) -> FileChange | None:
    tree = built.tree
    if isinstance(tree, Tree):
        if old is not None and tree.matches(path, old):
            return None
        change = compare_file(path, old, tree[path], lock, options)
        return None if change is None else change.packed(tree.content(path))
    return compare_file(path, old, tree[path], lock, options)


class _LockOnDisk:
    """The lock file in a folder, read when it is first asked for."""

    def __init__(self, output: Path) -> None:
        self.output = output

    @cached_property
    def lock(self) -> Lock | None:
        """The lock file without its services, or None where none can be read."""
        try:
            path = find_target(self.output, PurePosixPath(LOCK_NAME))
            return replace(Lock.parse(path.read_bytes()), services={})
        except (FileNotFoundError, LockError, PlaceError):
            return None

    def __call__(self) -> Lock | None:
        return self.lock


def _orphans(built: Built, output: Path, lock: _LockOnDisk) -> Iterator[FileChange]:
    found = dict(generated_modules(output))
    found.update(generated_modules(output, f"{FOLDER}/**/*.py"))
    for path in output.iterdir():
        name = PurePosixPath(path.name)
        if path.suffix == ".py" or name in built.tree or not path.is_file():
            continue
        listed = lock()
        if listed is not None and path.name in listed.files:
            found[name] = path.read_bytes()
    for name, old in found.items():
        if name not in built.tree:
            message = f"{name} is an orphan: no policy generates it any more"
            if name.parts[0] == FOLDER:
                message = f"{name} is an orphan: it is not part of the runtime"
            yield FileChange(name, "orphaned", message, old, None)


def _conflict(error: PlaceError, options: GenerateOptions) -> Diagnostic:
    return Diagnostic(
        "GN006",
        "output-conflict",
        Severity.ERROR,
        error.message,
        Span(options.output.as_posix()),
        help=error.help,
    )
