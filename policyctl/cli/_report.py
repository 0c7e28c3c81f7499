"""Writes reports: to standard output, and to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from policyctl import reports
from policyctl.cli._console import Console
from policyctl.cli._errors import CommandError, UsageError
from policyctl.reports.report import Report

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Target:
    """One format and where it goes; ``file`` ``-`` is standard output."""

    format: str
    file: str


def targets(formats: Sequence[str], files: Sequence[str]) -> tuple[Target, ...]:
    """Pair formats with files: the n-th file takes the n-th format.

    One format more than files goes to standard output; without any, text does.

    Raises:
        UsageError: a format is not known, or the numbers do not match.
    """
    known = reports.format_names()
    for name in formats:
        if name not in known:
            near = get_close_matches(name, known, 1)
            help = f"did you mean {near[0]}?" if near else None
            known_list = ", ".join(known)
            raise UsageError(
                f"{name} is not a format", help or f"the formats are {known_list}"
            )
    wanted = list(formats) or ["text"]
    if len(files) > len(wanted):
        raise UsageError(
            f"{len(files)} output files for {len(wanted)} formats",
            "give --format and --output-file in pairs",
        )
    places = [*files, STDOUT] if len(wanted) > len(files) else list(files)
    if len(wanted) > len(places) or places.count(STDOUT) > 1:
        raise UsageError(
            "two formats go to standard output",
            "give --format and --output-file in pairs; one format may do without",
        )
    return tuple(map(Target, wanted, places))


def goes_to_people(targets: Sequence[Target]) -> bool:
    """Whether standard output gets a format that people read."""
    return any(
        target.file == STDOUT and not reports.is_machine_format(target.format)
        for target in targets
    )


def write(console: Console, report: Report, target: Target) -> None:
    """Write a report to its place.

    Raises:
        CommandError: the file cannot be written.
    """
    if target.file != STDOUT:
        _write_file(Path(target.file), reports.render(target.format, report))
        return
    machine = reports.is_machine_format(target.format)
    text = reports.render(target.format, report, color=console.color)
    if machine:
        console.write_utf8(text)
    else:
        console.write(text)


def _write_file(path: Path, text: str) -> None:
    """Write a report as UTF-8, whole or not at all."""
    import os
    import tempfile

    folder = path.parent
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise CommandError(f"{path.as_posix()} cannot be written: {reason}") from None


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


def statistics(report: Report) -> str:
    """How often each check found something, most frequent first."""
    counts = Counter((d.code, d.name, d.severity.label) for d in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(max(counts.values(), default=0)))
    lines = "".join(
        f"{number:>{width}}  {code}  {severity:<7}  {name}\n"
        for (code, name, severity), number in rows
    )
    return f"{lines}{report.summary()}\n"
