"""``text``: findings for people, with excerpts and remedies."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports._excerpt import MAX_WIDTH, Mark, Row, excerpt
from policyctl.reports.encode import one_line
from policyctl.reports.report import Report
from policyctl.source.nodes import Source

TAKES_COLOR = True
TAKES_WIDTH = True
LINE = 160
"""Characters of a line for a finding that is good to know."""

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


def render(report: Report, *, color: bool = False, width: int | None = None) -> str:
    """Return findings with excerpts, then infos a line each, notes and a summary.

    Infos that make the run fail are shown like the others. Excerpts fit into ``width``
    columns, so that carets stay below what they mean.
    """
    painter = _Painter(color, width)
    brief = [d for d in report.findings if _is_brief(d, report)]
    full = [d for d in report.findings if not _is_brief(d, report)]
    blocks = [f"{_finding(finding, report, painter)}\n\n" for finding in full]
    lines = [_line(finding, painter) for finding in brief]
    if lines:
        lines.append("")
    notes = [*report.notes, *_fixable(report)]
    lines += [f"{painter('bold', 'note')}: {one_line(note)}" for note in notes]
    summary = report.summary()
    if not report.findings:
        head, colon, rest = summary.partition(":")
        summary = painter("clean", head) + colon + rest
    elif report.failed:
        summary = painter("bold", summary)
    return "".join(blocks) + "\n".join([*lines, summary, ""])


def _is_brief(finding: Diagnostic, report: Report) -> bool:
    return finding.severity is Severity.INFO and report.fail_on > Severity.INFO


def _line(finding: Diagnostic, painter: _Painter) -> str:
    """A finding that is good to know, with as much of its help as fits."""
    label = painter("info", f"info[{finding.code}]")
    text = f"{one_line(_place(finding.span))}: {one_line(finding.message)}"
    if finding.help:
        text += f"; {one_line(finding.help)}"
    width = LINE - len(f"info[{finding.code}] ")
    return f"{label} {text if len(text) <= width else text[: width - 1] + '…'}"


def _fixable(report: Report) -> Iterator[str]:
    """What the options for fixes would do."""
    fixes = {d.fix for d in report.findings if d.fix is not None and d.fix.edits}
    safe = sum(fix.safe for fix in fixes)
    bold = len(fixes) - safe
    parts: list[str] = []
    if safe:
        parts.append(f"{safe:,} can be mended with validate --fix")
    if bold:
        words = "more" if safe else "can be mended"
        parts.append(f"{bold:,} {words} with validate --fix --unsafe-fixes")
    if parts:
        yield ", ".join(parts)


class _Painter:
    """Colours text, or does not, and knows how wide the page is."""

    def __init__(self, color: bool, width: int | None) -> None:
        self._color = color
        self._width = width

    def room(self, gutter: int) -> int:
        """The columns of an excerpt beside ``gutter`` columns, cut marks left out."""
        if self._width is None:
            return MAX_WIDTH
        return max(10, min(MAX_WIDTH, self._width - gutter - 2))

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
        _row(row, width, finding.severity, painter)
        for row in excerpt(source, marks, painter.room(width + 3))
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
