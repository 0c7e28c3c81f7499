"""``text``: findings for people, with excerpts and remedies."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports._excerpt import Mark, Row, excerpt
from policyctl.reports.encode import one_line
from policyctl.reports.report import Report
from policyctl.source.nodes import Source

TAKES_COLOR = True

_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "frame": "34",
    "secondary": "34",
    "bold": "1",
    "help": "1;36",
    "clean": "1;32",
}


def render(report: Report, *, color: bool = False) -> str:
    """Return all findings with excerpts, then notes and a summary."""
    painter = _Painter(color)
    blocks = [_finding(finding, report, painter) for finding in report.findings]
    notes = [f"{painter('bold', 'note')}: {one_line(note)}" for note in report.notes]
    summary = report.summary()
    if not report.findings:
        head, colon, rest = summary.partition(":")
        summary = painter("clean", head) + colon + rest
    elif report.failed:
        summary = painter("bold", summary)
    return "".join(f"{block}\n\n" for block in blocks) + "\n".join(
        [*notes, summary, ""]
    )


class _Painter:
    """Colours text, or does not."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        if not self._color or not text:
            return text
        return f"\033[{_STYLES[style]}m{text}\033[0m"


def _finding(finding: Diagnostic, report: Report, painter: _Painter) -> str:
    label = finding.severity.label
    head = painter(label, f"{label}[{finding.code}]")
    name = painter("bold", f"{finding.name}:")
    lines = [f"{head} {name} {one_line(finding.message)}"]
    groups = _groups(finding)
    numbers = [m.span.line for path, ms in groups for m in ms if path in report.sources]
    width = len(str(max(numbers, default=1)))
    for path, marks in groups:
        lines += _block(path, marks, report.sources.get(path), width, finding, painter)
    if not finding.help and groups[-1][0] in report.sources:
        lines.pop()
    if finding.help:
        bar = painter("frame", " " * (width + 1) + "=")
        lines.append(f"{bar} {painter('help', 'help')}: {one_line(finding.help)}")
    return "\n".join(lines)


def _groups(finding: Diagnostic) -> list[tuple[str, list[Mark]]]:
    """The places of a finding by file, that of the finding itself first."""
    groups = {finding.span.path: [Mark(finding.span, primary=True)]}
    for related in finding.related:
        mark = Mark(related.span, one_line(related.message))
        groups.setdefault(related.span.path, []).append(mark)
    return list(groups.items())


def _block(
    path: str,
    marks: list[Mark],
    source: Source | None,
    width: int,
    finding: Diagnostic,
    painter: _Painter,
) -> list[str]:
    """The place line of one file and its excerpt."""
    primary = marks[0].primary
    arrow = painter("frame", " " * width + ("-->" if primary else ":::"))
    if source is None:
        lines = [f"{arrow} {_place(marks[0].span)}"]
        bar = painter("frame", " " * (width + 1) + "=")
        for mark in marks:
            if mark.words:
                place = "" if mark is marks[0] else f" ({_place(mark.span)})"
                lines.append(f"{bar} {mark.words}{place}")
        return lines
    empty = painter("frame", " " * (width + 1) + "|")
    rows = [
        _row(row, width, finding.severity, painter) for row in excerpt(source, marks)
    ]
    return [f"{arrow} {one_line(str(marks[0].span))}", empty, *rows, empty]


def _place(span: Span) -> str:
    """Where something is, for a file whose text is not at hand."""
    if (span.line, span.column, span.end) == (1, 1, 0):
        return one_line(span.path)
    return one_line(str(span))


def _row(row: Row, width: int, severity: Severity, painter: _Painter) -> str:
    if row.kind == "gap":
        return painter("frame", row.text)
    number = "" if row.number is None else str(row.number)
    bar = painter("frame", f"{number:>{width}} |")
    if row.kind == "source":
        return f"{bar} {row.text}".rstrip()
    style = severity.label if row.kind == "primary" else "secondary"
    spaces = len(row.text) - len(row.text.lstrip(" "))
    return f"{bar} {row.text[:spaces]}{painter(style, row.text[spaces:])}"
