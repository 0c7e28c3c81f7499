"""Edits that take a suppression out of a document."""

from __future__ import annotations

from policyctl.diagnostics import Edit, Fix
from policyctl.lint.suppressions import Suppression
from policyctl.source.nodes import Source


def remove(
    suppression: Suppression, source: Source, code: str | None = None
) -> Fix | None:
    """Remove ``code`` from a comment, or the comment when no other code is left.

    A comment on its own line goes with the line. Entries of an ``ignore:`` list are left
    to people, since removing the last one changes the shape of the document.
    """
    if suppression.at is not None:
        return None
    text = source.text
    start, end = suppression.span.start, suppression.span.end
    kept = dict.fromkeys(other for other in suppression.codes if other != code)
    if code is not None and kept:
        opening = text.index("[", start)
        closing = text.index("]", opening)
        edit = Edit(source.span(opening + 1, closing), ", ".join(kept))
        return Fix(f"remove {code} from the suppression", (edit,), safe=True)
    line_start = text.rfind("\n", 0, start) + 1
    before = text[line_start:start]
    if before.strip():
        start -= len(before) - len(before.rstrip())
    else:
        start, end = line_start, _after_line(text, end)
    edit = Edit(source.span(start, end), "")
    return Fix("remove the suppression", (edit,), safe=True)


def _after_line(text: str, end: int) -> int:
    if text.startswith("\r\n", end):
        return end + 2
    return end + 1 if text.startswith("\n", end) else end
