"""Writes reports: to standard output, and to files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from policyctl import reports
from policyctl.cli._console import Console
from policyctl.cli._errors import UsageError
from policyctl.cli._save import deliver
from policyctl.reports.report import Report

STDOUT = "-"
_SUFFIXES = {".sarif": "sarif", ".json": "json", ".xml": "junit"}


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
    found = tuple(map(Target, wanted, places))
    for target in found:
        _check_name(target, wanted)
    return found


def _check_name(target: Target, wanted: Sequence[str]) -> None:
    """Refuse a file that is named for another of the formats that are wanted.

    Raises:
        UsageError: it is.
    """
    path = Path(target.file)
    meant = _SUFFIXES.get(path.suffix.lower())
    if meant in (None, target.format) or meant not in wanted:
        return
    if target.format not in path.name:
        raise UsageError(
            f"{target.file} would get {target.format}, not {meant}: the n-th file takes "
            "the n-th format",
            f"begin with --format {meant} --output-file {target.file}",
        )


def goes_to_people(targets: Sequence[Target]) -> bool:
    """Whether standard output gets a format that people read."""
    return any(
        target.file == STDOUT and not reports.is_machine_format(target.format)
        for target in targets
    )


def write_all(
    console: Console, report: Report, targets: Sequence[Target], counts: bool
) -> None:
    """Write a report to all its places; ``counts`` prints statistics for people.

    Raises:
        CommandError: a file cannot be written.
    """
    for target in targets:
        if counts and target.file == STDOUT:
            console.write(statistics(report))
        else:
            write(console, report, target)


def write(console: Console, report: Report, target: Target) -> None:
    """Write a report to its place.

    Raises:
        CommandError: the file cannot be written.
    """
    if target.file != STDOUT:
        text = reports.render(target.format, report)
        deliver(Path(target.file), text.encode("utf-8", "backslashreplace"))
        return
    machine = reports.is_machine_format(target.format)
    text = reports.render(
        target.format, report, color=console.color, width=console.width
    )
    if machine:
        console.write_utf8(text)
    else:
        console.write(text)


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
