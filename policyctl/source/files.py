"""Which files a command reads: PATH arguments to a bounded list, and their bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.source.limits import DEFAULT_LIMITS, Limits
from policyctl.source.reader import ReadResult, read, too_large
from policyctl.source.regular import descriptor_of

STDIN = "-"
SUFFIXES = (".yaml", ".yml")
MAX_FILES = 50_000
MAX_FOLDER_DEPTH = 64

NAMES: dict[str, str] = {
    "CF201": "path-not-found",
    "CF202": "path-unreadable",
    "CF203": "not-a-file",
    "CF204": "link-loop",
    "CF205": "too-many-files",
    "CF206": "folders-too-deep",
}
"""Code to name of every finding about input files."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read. ``path`` is None for standard input; ``display`` is shown."""

    path: Path | None
    display: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that arguments stand for, each once, and what was wrong with them.

    ``folders`` are those that were searched.
    """

    files: tuple[InputFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    folders: tuple[Path, ...] = ()


def is_hidden(path: Path) -> bool:
    """Whether the last part of ``path`` begins with a dot."""
    return path.name.startswith(".")


def expand(
    arguments: Sequence[str],
    *,
    skip: Callable[[Path], bool] = is_hidden,
    stdin_name: str = "<stdin>",
    max_files: int = MAX_FILES,
) -> Inputs:
    """Return the files that PATH arguments name, in the order of the arguments.

    A folder stands for the YAML files below it, sorted; in it, files and folders for
    which ``skip`` is true are passed over (by default those that begin with a dot). A
    file named outright is taken whatever it is called. ``-`` is standard input, shown
    as ``stdin_name``. Links are followed; a file reached twice is read once.
    """
    return _Expansion(skip, stdin_name, max_files).run(arguments)


def read_input(
    file: InputFile, *, stdin: bytes | None = None, limits: Limits = DEFAULT_LIMITS
) -> ReadResult:
    """Read one file, or ``stdin`` for the file without a path.

    A file over the size limit is not loaded. What cannot be read gives a finding.
    """
    if file.path is None:
        return read(stdin or b"", file.display, limits)
    try:
        with file.path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > limits.max_bytes:
                found = too_large(file.display, limits)
                return ReadResult(None, (), (found,))
            data = stream.read(limits.max_bytes + 1)
    except OSError as error:
        return ReadResult(None, (), (unreadable(file.display, error),))
    return read(data, file.display, limits)


def display_path(path: str | os.PathLike[str]) -> str:
    """The path as findings show it: relative where it lies below the working
    directory, else as given; forward slashes; bytes that are no text made visible.
    """
    text = os.fspath(path)
    if os.path.isabs(text):
        here = os.getcwd()
        if text == here or text.startswith(here.rstrip(os.sep) + os.sep):
            text = os.path.relpath(text, here)
    else:
        text = os.path.normpath(text)
    text = text.replace(os.sep, "/")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unreadable(display: str, error: OSError) -> Diagnostic:
    """The finding for an operating system's refusal to read ``display``."""
    reason = (error.strerror or type(error).__name__).lower()
    if isinstance(error, FileNotFoundError):
        return input_finding(
            "CF201",
            display,
            f"{display} does not exist",
            "check the spelling of the path",
        )
    if isinstance(error, IsADirectoryError):
        hint = "give a YAML file, or the folder alone"
        return input_finding("CF203", display, f"{display} is a folder", hint)
    message = f"{display} cannot be read: {reason}"
    return input_finding("CF202", display, message, "make it readable for this user")


def input_finding(
    code: str,
    display: str,
    message: str,
    help_text: str,
    severity: Severity = Severity.ERROR,
) -> Diagnostic:
    """Return a finding about an input path.

    Raises:
        KeyError: ``code`` is not in ``NAMES``.
    """
    return Diagnostic(
        code, NAMES[code], severity, message, Span(display), help=help_text
    )


class _TooMany(Exception):
    """More files than the bound."""


class _Expansion:
    """The state of one expansion."""

    def __init__(
        self, skip: Callable[[Path], bool], stdin_name: str, max_files: int
    ) -> None:
        self._skip = skip
        self._stdin_name = stdin_name
        self._max_files = max_files
        self._files: dict[object, InputFile] = {}
        self._findings: list[Diagnostic] = []
        self._folders: list[Path] = []

    def run(self, arguments: Sequence[str]) -> Inputs:
        for argument in arguments:
            try:
                self._argument(argument)
            except _TooMany:
                shown = display_path(argument)
                message = f"there are more than {self._max_files:,} YAML files"
                self._report("CF205", shown, message, "name a smaller folder")
                break
        return Inputs(
            tuple(self._files.values()), tuple(self._findings), tuple(self._folders)
        )

    def _argument(self, argument: str) -> None:
        if argument == STDIN:
            self._files.setdefault(STDIN, InputFile(None, self._stdin_name))
            return
        if "\0" in argument or not argument:
            shown = repr(argument)
            self._report(
                "CF201", shown, f"{shown} is not a path", "give a file or folder"
            )
            return
        path = Path(argument)
        status = self._status(path)
        if status is None:
            return
        if not stat.S_ISDIR(status.st_mode):
            if stat.S_ISREG(status.st_mode) or descriptor_of(argument) is not None:
                self._add(path, status)
            else:
                self._special(path)
            return
        for file, file_status in self._walk(path, status):
            self._add(file, file_status)

    def _add(self, path: Path, status: os.stat_result) -> None:
        key = (
            (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)
        )
        if key not in self._files and len(self._files) >= self._max_files:
            raise _TooMany
        self._files.setdefault(key, InputFile(path, display_path(path)))

    def _walk(
        self, folder: Path, status: os.stat_result
    ) -> Iterator[tuple[Path, os.stat_result]]:
        """YAML files below ``folder``, depth first, names in order."""
        root = (folder, status, frozenset({(status.st_dev, status.st_ino)}))
        pending = [root]
        while pending:
            path, status, above = pending.pop()
            if not stat.S_ISDIR(status.st_mode):
                yield path, status
                continue
            if len(above) > MAX_FOLDER_DEPTH:
                shown = display_path(path)
                message = f"{shown} lies more than {MAX_FOLDER_DEPTH} folders deep"
                self._report("CF206", shown, message, "name the folder itself")
                continue
            pending.extend(reversed(list(self._children(path, above))))

    def _children(
        self, folder: Path, above: frozenset[tuple[int, int]]
    ) -> Iterator[tuple[Path, os.stat_result, frozenset[tuple[int, int]]]]:
        self._folders.append(folder)
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            self._findings.append(unreadable(display_path(folder), error))
            return
        for name in names:
            path = folder / name
            if self._skip(path):
                continue
            is_yaml = name.lower().endswith(SUFFIXES)
            status = self._status(path) if is_yaml else _quiet_status(path)
            if status is None:
                continue
            mark = (status.st_dev, status.st_ino)
            if stat.S_ISDIR(status.st_mode):
                if mark in above:
                    self._loop(path)
                else:
                    yield path, status, above | {mark}
            elif is_yaml and stat.S_ISREG(status.st_mode):
                yield path, status, above
            elif is_yaml:
                self._special(path)

    def _status(self, path: Path) -> os.stat_result | None:
        try:
            return path.stat()
        except OSError as error:
            self._broken(path, error)
        return None

    def _broken(self, path: Path, error: OSError) -> None:
        shown = display_path(path)
        if path.is_symlink():
            target = display_path(os.readlink(path))
            message = f"{shown} is a link to {target}, which cannot be followed"
            code = "CF201" if isinstance(error, FileNotFoundError) else "CF204"
            self._report(code, shown, message, "remove the link or correct its target")
        else:
            self._findings.append(unreadable(shown, error))

    def _loop(self, path: Path) -> None:
        shown = display_path(path)
        message = f"{shown} leads back to a folder that contains it"
        hint = "remove the link; it is not followed"
        self._report("CF204", shown, message, hint, Severity.WARNING)

    def _special(self, path: Path) -> None:
        shown = display_path(path)
        message = f"{shown} is not a regular file"
        self._report("CF203", shown, message, "replace it by a YAML file, or rename it")

    def _report(
        self,
        code: str,
        display: str,
        message: str,
        hint: str,
        severity: Severity = Severity.ERROR,
    ) -> None:
        found = input_finding(code, display, message, hint, severity)
        if found not in self._findings:
            self._findings.append(found)


def _quiet_status(path: Path) -> os.stat_result | None:
    """The status of something that matters only if it is a folder."""
    try:
        return path.stat()
    except OSError:
        return None
