"""Which files a command reads: what was asked for, and what is read as context."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from policyctl.config import FILE_NAME, Config
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.source.files import (
    InputFile,
    display_path,
    expand,
    is_hidden,
    unreadable,
)
from policyctl.source.limits import DEFAULT_LIMITS

STDIN_NAME = "<stdin>"
NAMES = {"CF105": "nothing-to-read"}
_START = "policyctl init writes an example to start from"


@dataclass(frozen=True, slots=True)
class File:
    """One file that was read; ``reported`` unless it is context. ``path`` is absolute."""

    path: Path | None
    display: str
    data: bytes
    reported: bool


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that a run reads.

    Attributes:
        files: those asked for, then those that are context.
        preset_folders: where presets that are not among the files may lie.
        partial: whether single files were asked for, rather than folders.
        findings: paths that could not be read.
        roots: the files and folders that were asked for.
        folders: every folder that was searched.
    """

    files: tuple[File, ...]
    preset_folders: tuple[Path, ...]
    partial: bool
    findings: tuple[Diagnostic, ...]
    roots: tuple[Path, ...]
    folders: tuple[Path, ...] = ()


def gather(
    config: Config,
    paths: Sequence[str],
    stdin_filename: str | None = None,
    whole: bool = False,
) -> Gathered:
    """Read the files that ``paths`` stand for, by default those of the configuration.

    When something asked for lies inside the configured folders, the rest of them is
    read as context, so that references to other services can be followed. ``whole``
    counts that as asked for too, unless single files were.
    """
    configured = [_from_root(config, name) for name in config.policies]
    arguments = list(paths) or configured
    skip = _skipper(config)
    folders: list[Path] = []
    asked = expand(arguments, skip=skip, stdin_name=stdin_filename or STDIN_NAME)
    folders += asked.folders
    findings = [_advised(d, paths) for d in asked.diagnostics]
    files = [_read(file, True, stdin_filename, findings) for file in asked.files]
    partial = bool(paths) and not any(os.path.isdir(item) for item in arguments)
    if paths and _any_inside(files, arguments, configured):
        known = {_identity(file.path) for file in files if file and file.path}
        rest = expand(configured, skip=skip)
        folders += rest.folders
        files += [
            _read(file, whole and not partial, None, findings)
            for file in rest.files
            if file.path is None or _identity(file.path) not in known
        ]
    read = tuple(file for file in files if file is not None)
    if not read and not findings:
        findings.append(nothing(arguments, "there is no .yaml or .yml file"))
    return Gathered(
        read,
        _preset_folders(read, [*arguments, *configured]),
        partial,
        tuple(findings),
        tuple(Path(item).absolute() for item in arguments if item != "-"),
        tuple(folders),
    )


def matches(config: Config, path: Path, patterns: Iterable[str]) -> bool:
    """Whether a pattern names ``path`` or a folder above it.

    A pattern with a slash is compared with the path from the configuration's folder, one
    without with each part's name; ``*`` and ``?`` are wildcards.
    """
    try:
        relative = path.absolute().relative_to(config.root)
    except ValueError:
        return False
    levels = [relative, *relative.parents][:-1]
    for pattern in patterns:
        wanted = pattern.rstrip("/").removeprefix("./")
        if "/" in wanted:
            if any(fnmatchcase(level.as_posix(), wanted) for level in levels):
                return True
        elif any(fnmatchcase(level.name, wanted) for level in levels):
            return True
    return False


def _skipper(config: Config) -> Callable[[Path], bool]:
    """What is passed over while folders are searched."""
    return lambda path: is_hidden(path) or (
        bool(config.exclude) and matches(config, path, config.exclude)
    )


def _from_root(config: Config, name: str) -> str:
    """A configured path as seen from the working directory."""
    path = config.root / name
    return os.path.relpath(path) if not os.path.isabs(name) else name


def _read(
    file: InputFile,
    reported: bool,
    stdin_filename: str | None,
    findings: list[Diagnostic],
) -> File | None:
    """Read one file; what the reader would refuse for its size is not read whole."""
    most = DEFAULT_LIMITS.max_bytes + 1
    if file.path is None:
        stream = getattr(sys.stdin, "buffer", None)
        data = b"" if stream is None else stream.read(most)
        path = Path(stdin_filename).absolute() if stdin_filename else None
        return File(path, file.display, data, reported)
    try:
        with file.path.open("rb") as stream:
            data = stream.read(most)
    except OSError as error:
        findings.append(unreadable(file.display, error))
        return None
    return File(file.path.absolute(), file.display, data, reported)


def _identity(path: Path | None) -> str:
    return "" if path is None else os.path.realpath(path)


def _any_inside(
    files: Sequence[File | None], arguments: Sequence[str], configured: Sequence[str]
) -> bool:
    """Whether a file lies in a configured folder that was not itself asked for."""
    asked = {os.path.realpath(item) for item in arguments}
    folders = [os.path.realpath(item) for item in configured]
    if all(folder in asked for folder in folders):
        return False
    return any(
        _identity(file.path).startswith(folder + os.sep)
        for file in files
        if file is not None and file.path is not None
        for folder in folders
    )


def _preset_folders(files: Sequence[File], places: Iterable[str]) -> tuple[Path, ...]:
    """``presets`` below what was named, and beside every file that was read."""
    folders = {Path(place) / "presets": None for place in places if place != "-"}
    for file in files:
        if file.path is not None:
            folders[Path(display_path(file.path.parent)) / "presets"] = None
    unique = {
        os.path.realpath(folder): folder for folder in folders if os.path.isdir(folder)
    }
    return tuple(unique.values())


def _advised(finding: Diagnostic, paths: Sequence[str]) -> Diagnostic:
    """A configured folder that is missing is not a misspelt argument."""
    if paths or finding.code != "CF201":
        return finding
    hint = f"{_START}, or name the folders with policies = [...] in {FILE_NAME}"
    return replace(finding, help=hint)


def nothing(places: Sequence[str], message: str) -> Diagnostic:
    """The finding for folders that hold nothing to work on."""
    shown = [Path(place).as_posix() for place in places]
    return Diagnostic(
        "CF105",
        NAMES["CF105"],
        Severity.ERROR,
        f"{message} in {', '.join(shown)}",
        Span(shown[0]),
        help=_START,
    )
