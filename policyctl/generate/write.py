"""Writing the package: only what differs, only what is ours, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.generate.build import Built
from policyctl.generate.changes import FileChange
from policyctl.generate.compare import Comparison, compare_unlocked
from policyctl.generate.folder_lock import folder_lock
from policyctl.generate.options import GenerateOptions
from policyctl.generate.places import find_target
from policyctl.generate.staging import (
    STAGING_NAME,
    Replacement,
    recover,
    replace_files,
)


class OutputError(Exception):
    """The package was not written; the output folder is as it was."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class Written:
    """What a run did, by paths below the output folder.

    Attributes:
        written: files that were created or replaced.
        removed: orphans that were removed.
        hand_edited: those of ``written`` that somebody had edited.
    """

    written: tuple[PurePosixPath, ...] = ()
    removed: tuple[PurePosixPath, ...] = ()
    hand_edited: tuple[PurePosixPath, ...] = ()


def write(built: Built, comparison: Comparison, options: GenerateOptions) -> Written:
    """Bring the output folder to what was built.

    Equal files are not touched, nor is a lock file that differs in the version alone.
    Concurrent runs wait for each other, so the folder is compared again before it is
    written to. An interrupted run is undone first.

    Raises:
        OutputError: somebody else's file is in the way, or the folder cannot be
            written to. Nothing has changed.
    """
    if built.diagnostics:
        raise OutputError(built.diagnostics)
    if comparison.conflicts and not comparison.interrupted:
        raise OutputError(comparison.conflicts)
    if comparison.fresh and not os.path.lexists(options.output / STAGING_NAME):
        return Written()
    try:
        with _created(options.output), folder_lock(options.output):
            return _write(built, comparison, options)
    except OSError as error:
        raise OutputError((_cannot_write(error, options),)) from error


def _write(built: Built, before: Comparison, options: GenerateOptions) -> Written:
    output = options.output
    recover(output)
    now = compare_unlocked(built, options, before)
    if now.conflicts:
        raise OutputError(now.conflicts)
    replacements = [
        Replacement(
            (
                output / change.path
                if change.new is None
                else find_target(output, change.path)
            ),
            change.new,
        )
        for change in now.stale
    ]
    if replacements:
        _make_folders(replacements)
        replace_files(output, replacements)
        _remove_folders(output, now.stale)
    stale = now.stale
    return Written(
        tuple(c.path for c in stale if c.new is not None),
        tuple(c.path for c in stale if c.new is None),
        tuple(c.path for c in stale if c.kind == "hand_edited"),
    )


def _make_folders(replacements: list[Replacement]) -> None:
    """Make the folders below the output that new files go to."""
    wanted = {r.target.parent for r in replacements if r.content is not None}
    for folder in sorted(wanted):
        folder.mkdir(parents=True, exist_ok=True)


def _remove_folders(output: Path, changes: tuple[FileChange, ...]) -> None:
    """Remove the folders below the output that have become empty."""
    left = {p for c in changes if c.new is None for p in c.path.parents}
    for folder in sorted(left - {PurePosixPath()}, reverse=True):
        with suppress(OSError):
            (output / folder).rmdir()


@contextmanager
def _created(folder: Path) -> Generator[None]:
    """Make the folder and its parents; when the body fails, remove what was made."""
    made: list[Path] = []
    for candidate in (folder, *folder.parents):
        if candidate.exists():
            break
        made.append(candidate)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for candidate in made:
                candidate.rmdir()
        raise


def _cannot_write(error: OSError, options: GenerateOptions) -> Diagnostic:
    reason = error.strerror or str(error)
    return Diagnostic(
        "GN007",
        "output-not-written",
        Severity.ERROR,
        f"the package cannot be written: {reason[:1].lower()}{reason[1:]}",
        Span(options.output.as_posix()),
        help="nothing was changed; make room or permissions and run it again",
    )
