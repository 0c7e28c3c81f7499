"""Errors of the YAML parsers in our words, with a place and a remedy.

Both parsers are understood: libyaml says ``did not find expected key`` where the
pure-Python one says ``expected <block end>, but found '-'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import hexdigits

import yaml

from policyctl.diagnostics import Diagnostic, Edit, Fix, Related, Span
from policyctl.source import problems, quotes
from policyctl.source.codes import finding
from policyctl.source.nodes import Source

_LONGEST_KEY = 1024


@dataclass(frozen=True, slots=True)
class Failure:
    """What a parser reported: its words, and offsets into the text."""

    source: Source
    problem: str
    at: int
    context: str
    opened: int | None

    @property
    def character(self) -> str:
        """The character at the place of the failure; empty at the end."""
        return self.source.text[self.at : self.at + 1]

    @property
    def line_before(self) -> str:
        """The text of the line up to the place of the failure."""
        return self.source.text[_line_start(self.source, self.at) : self.at]

    def span(self, start: int | None = None, length: int = 1) -> Span:
        """``length`` characters from ``start``, within the line and the text."""
        start = self.at if start is None else start
        end = min(start + length, len(self.source.text))
        if "\n" in self.source.text[start:end] or "\r" in self.source.text[start:end]:
            end = start
        return self.source.span(start, end)

    def opening(self, words: str) -> tuple[Related, ...]:
        """The place where the enclosing thing began, as a second span."""
        if self.opened is None or self.opened == self.at:
            return ()
        return (Related(self.span(self.opened), words),)


def translate(source: Source, error: yaml.YAMLError) -> Diagnostic:
    """Return the finding for what a YAML parser raised."""
    failure = _failure(source, error)
    for words, explain in _EXPLANATIONS:
        if words in failure.problem:
            return explain(failure)
    problem = failure.problem.replace("did not find expected", "expected")
    hint = "look for a missing quote, bracket or colon, and at the indentation"
    return finding("SY004", failure.span(), problem, hint)


def _failure(source: Source, error: yaml.YAMLError) -> Failure:
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", error))
    mark = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    at = len(source.text) if mark is None else int(mark.index)
    at = min(at, len(source.text.rstrip(" \t\r\n")))
    return Failure(
        source,
        problem,
        at,
        str(getattr(error, "context", None) or ""),
        None if opened is None else int(opened.index),
    )


def _line_start(source: Source, at: int) -> int:
    return source.line_starts[source.span(at, at).line - 1]


def _tab(failure: Failure) -> Diagnostic:
    start = failure.at
    before = failure.line_before.find("\t")
    if failure.character != "\t" and before >= 0:
        start = _line_start(failure.source, failure.at) + before
    return finding(
        "SY005",
        failure.span(start),
        "a tab is used for indentation",
        "indent with spaces; YAML does not allow tabs there",
    )


def _cannot_start(failure: Failure) -> Diagnostic:
    character = failure.character
    if not character.strip():
        return _tab(failure)
    rest = failure.source.text[failure.at :].splitlines()[0]
    ends = r"\s#|[,\]}]" if re.search(r"[\[{]", failure.line_before) else r"\s#"
    quoted = quotes.quote(re.split(ends, rest)[0].strip())
    return finding(
        "SY020",
        failure.span(),
        f'a value cannot begin with "{character}" unless it is in quotes',
        f"put the value in quotes: {quoted}",
    )


def _unclosed(failure: Failure) -> Diagnostic:
    sequence = "]" in failure.problem
    kind, close = ("list", "]") if sequence else ("mapping", "}")
    if failure.opened is None:
        return finding("SY006", failure.span(), f"expected a comma or {close}", None)
    opened = failure.span(failure.opened)
    if failure.span().line == opened.line and failure.at < len(
        failure.source.text.rstrip()
    ):
        return finding(
            "SY006",
            failure.span(),
            f"expected a comma or {close} here",
            "separate the items with commas, and put items with special characters in "
            "quotes",
            failure.opening(f"the {kind} opens here"),
        )
    return finding(
        "SY006",
        opened,
        f"the {kind} that opens here is not closed",
        f"close it with {close}, and separate its items with commas",
        (Related(failure.span(), f"expected a comma or {close} before this"),),
    )


def _unclosed_quote(failure: Failure) -> Diagnostic:
    start = failure.at if failure.opened is None else failure.opened
    return finding(
        "SY007",
        failure.span(start),
        "the quoted text that opens here is not closed",
        "end it with the same quote; inside single quotes write '' for a quote",
    )


def _escape(failure: Failure) -> Diagnostic:
    text, at = failure.source.text, failure.at
    backslash = text.rfind("\\", max(0, at - 10), at + 1)
    start = at if backslash < 0 else backslash
    shown = text[start : start + 2]
    hint = "write a backslash as \\\\ inside double quotes, or use single quotes"
    fix = None
    raw = (
        None
        if failure.opened is None
        else quotes.raw_double_quoted(text, failure.opened)
    )
    if raw is not None and failure.opened is not None:
        hint = f"use single quotes, where a backslash is a backslash: {raw[0]}"
        edit = Edit(failure.source.span(failure.opened, raw[1]), raw[0])
        fix = Fix("use single quotes", (edit,), safe=False)
    message = f'"{shown}" is not an escape that YAML knows'
    if text[start + 1 : start + 2] in ("x", "u", "U"):
        digits = {"x": 2, "u": 4, "U": 8}[text[start + 1]]
        code = text[start + 2 : start + 2 + digits]
        message = f'"{shown}" is not followed by the digits of a character code'
        if len(code) == digits and set(code) <= set(hexdigits):
            message = f'"{shown}{code}" is not the code of a character'
    return finding("SY008", failure.span(start, 2), message, hint, fix=fix)


def _colon(failure: Failure) -> Diagnostic:
    before = failure.line_before
    if ": " in before or (before.lstrip().startswith(("- ", "? ")) and ":" in before):
        message = "a second colon on this line; a value cannot hold a colon and a space"
        hint = "put the value in quotes, or start the nested mapping on the next line"
        return finding("SY021", failure.span(), message, hint)
    if "\t" in before[: len(before) - len(before.lstrip())]:
        return _tab(failure)
    start = failure.at - len(before.lstrip())
    if failure.at - start > _LONGEST_KEY:
        return _long_key(failure, start, failure.at - start)
    return finding(
        "SY021",
        failure.span(start, failure.at - start),
        f"the key {before.strip()!r} does not fit here: the line above is not complete, "
        "or the indentation differs",
        "end the line above with a colon if it is a key, and indent keys of one mapping "
        "alike",
    )


def _no_key(failure: Failure) -> Diagnostic:
    before = failure.line_before
    if "\t" in before[: len(before) - len(before.lstrip())]:
        return _tab(failure)
    character = failure.character
    related = failure.opening("the mapping begins here")
    if character and character in "]}":
        message, hint = (
            f'"{character}" closes nothing',
            "remove it, or add the opening one",
        )
    elif before.rstrip().endswith(("'", '"')):
        message = "there is text after the closing quote"
        hint = "put the whole value inside one pair of quotes"
    elif character == "-" and not before.strip():
        message = "a list item stands where a key is expected"
        hint = "indent the list under the key that it belongs to"
    else:
        message = "expected a key here; the indentation fits no mapping above"
        hint = "indent keys of one mapping alike"
    return finding("SY004", failure.span(), message, hint, related)


def _no_item(failure: Failure) -> Diagnostic:
    return finding(
        "SY004",
        failure.span(),
        'expected the next list item, which begins with "- "',
        "indent all items of a list alike, and the keys of an item below its first key",
        failure.opening("the list begins here"),
    )


def _no_colon(failure: Failure) -> Diagnostic:
    start = failure.at if failure.opened is None else failure.opened
    rest = failure.source.text[start:].splitlines()
    length = len(rest[0].rstrip()) if rest else 1
    if length > _LONGEST_KEY and ": " in f"{rest[0]} ":
        return _long_key(failure, start, length)
    return finding(
        "SY004",
        failure.span(start, length),
        "this line is not a key with a colon",
        'write it as "key: value", or put it in quotes if it continues a text',
    )


def _long_key(failure: Failure, start: int, length: int) -> Diagnostic:
    return finding(
        "SY004",
        failure.span(start, length),
        f"this key is longer than the {_LONGEST_KEY} characters of a key in YAML",
        "write a shorter key",
    )


def _no_name(failure: Failure) -> Diagnostic:
    start = failure.at if failure.opened is None else failure.opened
    sign = failure.source.text[start : start + 1]
    return finding(
        "SY020",
        failure.span(start),
        f'"{sign}" begins an anchor or alias, and no name follows',
        "put the value in quotes if text is meant",
    )


def _directive(failure: Failure) -> Diagnostic:
    return finding(
        "SY020",
        failure.span(_line_start(failure.source, failure.at)),
        'a line that begins with "%" is taken for a directive',
        "put the text in quotes",
    )


def _fixed(
    code: str, message: str, hint: str, opening: str | None = None
) -> Callable[[Failure], Diagnostic]:
    """An explanation that needs nothing of the text."""

    def explain(failure: Failure) -> Diagnostic:
        related = () if opening is None else failure.opening(opening)
        return finding(code, failure.span(), message, hint, related)

    return explain


def _block_end(failure: Failure) -> Diagnostic:
    in_list = "collection" in failure.context
    return _no_item(failure) if in_list else _no_key(failure)


def _too_deep(failure: Failure) -> Diagnostic:
    return problems.too_deep(failure.span())


_document_ended = _fixed(
    "SY004",
    "there is text after the end of the document",
    'begin another document with a line "---", or indent this below the key that it '
    "belongs to",
)
_no_value = _fixed(
    "SY004",
    "a value is missing here",
    "write the value, or remove the comma",
    "in the list or mapping that opens here",
)

_EXPLANATIONS: tuple[tuple[str, Callable[[Failure], Diagnostic]], ...] = (
    ("found a tab character", _tab),
    ("cannot start any token", _cannot_start),
    ("expected ',' or '", _unclosed),
    ("found unexpected end of stream", _unclosed_quote),
    ("found unexpected document", _unclosed_quote),
    ("found unknown escape character", _escape),
    ("hexdecimal number", _escape),
    ("hexadecimal numbers", _escape),
    ("invalid Unicode character escape", _escape),
    ("mapping values are not allowed", _colon),
    ("could not find expected ':'", _no_colon),
    ("maximum nesting depth", _too_deep),
    ("did not find expected key", _no_key),
    ("expected <block end>", _block_end),
    ("did not find expected '-' indicator", _no_item),
    ("alphabetic or numeric character", _no_name),
    ("document start>", _document_ended),
    ("expected node content", _no_value),
    ("expected the node content", _no_value),
    (
        "sequence entries are not allowed",
        _fixed(
            "SY004",
            "a list item cannot begin on this line",
            "start the list on the line below its key",
        ),
    ),
    (
        "mapping keys are not allowed",
        _fixed("SY004", "a key cannot begin here", "start it on a line of its own"),
    ),
    (
        "expected comment or line break",
        _fixed(
            "SY004",
            'text stands on the line of "|" or ">"',
            "start the text on the next line, indented",
        ),
    ),
    (
        "comment or a line break",
        _fixed(
            "SY004",
            'text stands on the line of "|" or ">"',
            "start the text on the next line, indented",
        ),
    ),
    (
        "undefined tag handle",
        _fixed("SY011", "the tag is not allowed", "remove the tag"),
    ),
    ("expected tag URI", _fixed("SY011", "the tag is not allowed", "remove the tag")),
    ("directive name", _directive),
    (
        "found unexpected ':'",
        _fixed(
            "SY021",
            "a colon cannot stand here inside brackets",
            "put the text in quotes, or a space after the colon if a value follows",
        ),
    ),
    (
        "incompatible YAML document",
        _fixed(
            "SY004",
            "the %YAML line asks for an unknown version",
            "remove the line; files are read as YAML 1.2",
        ),
    ),
)
