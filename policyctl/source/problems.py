"""The findings of the builder, worded in one place."""

from __future__ import annotations

from collections.abc import Sequence

from policyctl.diagnostics import Diagnostic, Edit, Fix, Related, Span
from policyctl.source.codes import finding
from policyctl.source.nodes import MappingNode, ScalarNode, SequenceNode, Source
from policyctl.source.scalars import Scalar

_SHOWN = 60


class StopReading(Exception):
    """The rest of the file cannot be read; ``finding`` says why."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


def shorten(text: str) -> str:
    """``text`` on one line, cropped to 60 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def duplicate_key(source: Source, key: ScalarNode, first: ScalarNode) -> Diagnostic:
    """A key that the mapping already has; equality is that of resolved keys."""
    span = source.span(key.start, key.end)
    other = source.span(first.start, first.end)
    message = f"the key {shorten(key.text)!r} is already used on line {other.line}"
    if key.text != first.text:
        message += f", written {shorten(first.text)!r}"
    return finding(
        "SY009",
        span,
        message,
        "keep one of the two, or move the settings of both under one key",
        (Related(other, "first used here"),),
    )


def key_not_text(source: Source, key: ScalarNode) -> Diagnostic:
    """A key that is null, a number or a boolean."""
    if key.start == key.end:
        span = source.span(key.start, min(key.start + 1, len(source.text)))
        return finding(
            "SY010", span, "the key is missing", "write a key before the colon"
        )
    span = source.span(key.start, key.end)
    kind = _kind(key.value)
    shown = shorten(key.text)
    message = f"the key {shown} is {kind}, not a name"
    hint = f'if the name is meant, put it in quotes: "{shown}"'
    fix = Fix("put the key in quotes", (Edit(span, f'"{key.text}"'),), safe=False)
    return finding("SY010", span, message, hint, fix=fix)


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int):
        return "an integer"
    return "a number" if isinstance(value, float) else "null"


def half_character(span: Span) -> Diagnostic:
    """An escape for half of a surrogate pair."""
    message = "the text holds an escape for half a character (U+D800 to U+DFFF)"
    return finding("SY008", span, message, "write the whole character")


def complex_key(source: Source, node: MappingNode | SequenceNode) -> Diagnostic:
    """A mapping or list where a key has to stand."""
    template = source.text.startswith("{{", node.start)
    kind = "list" if isinstance(node, SequenceNode) else "mapping"
    hint = (
        'a value that begins with "{{" has to be put in quotes'
        if template
        else "keys are names; put a list or mapping after the colon"
    )
    span = source.span(node.start, node.start + (2 if template else 1))
    return finding("SY010", span, f"a {kind} is used as a key", hint)


def long_number(source: Source, start: int, end: int, what: str) -> Diagnostic:
    """A number with more digits than any setting has."""
    hint = "shorten it, or put it in quotes if it is not a number"
    return finding("SY018", source.span(start, end), f"{what} is too long", hint)


def tag_mismatch(span: Span, tag: str, text: str) -> Diagnostic:
    """A value that is not of the kind that its tag names."""
    hint = f"remove {tag}, or write a value of that kind"
    return finding("SY018", span, f"{shorten(text)!r} does not fit the tag {tag}", hint)


def unknown_tag(span: Span, tag: str) -> Diagnostic:
    """A tag outside the core schema; nothing is ever constructed from a tag."""
    return finding(
        "SY011",
        span,
        f"the tag {shorten(tag)} is not allowed",
        "remove the tag; a policy holds only text, numbers, booleans, lists and mappings",
    )


def undefined_alias(span: Span, name: str, near: Sequence[str]) -> Diagnostic:
    """An alias without an anchor before it."""
    hint = (
        f"did you mean *{near[0]}?"
        if near
        else f"define &{name} before this line, or put the value in quotes if text is meant"
    )
    return finding("SY012", span, f"the alias *{name} has no anchor", hint)


def recursive_alias(span: Span, name: str, anchor: Span) -> Diagnostic:
    """An alias inside the node that it names."""
    return finding(
        "SY013",
        span,
        f"the alias *{name} stands inside the value that it refers to",
        "refer to another anchor, or write the value out",
        (Related(anchor, f"&{name} begins here"),),
    )


def too_deep(span: Span, limit: int | None = None) -> Diagnostic:
    """More levels than ``limit``, or than the parser itself can follow."""
    how = "too deeply" if limit is None else f"more than {limit} levels deep"
    return finding(
        "SY014",
        span,
        f"lists and mappings nest {how}",
        "check for brackets that are never closed; no setting nests this deep",
    )


def too_many_values(span: Span, limit: int, *, by_alias: bool) -> Diagnostic:
    """More values than the limit, written out or through aliases."""
    if by_alias:
        return finding(
            "SY016",
            span,
            f"aliases expand to more than {limit:,} values",
            "write the values out; aliases that repeat aliases multiply",
        )
    message = f"the file holds more than {limit:,} values"
    return finding("SY015", span, message, "split it into several files")


def bad_merge(span: Span) -> Diagnostic:
    """A merge key whose value is not a mapping."""
    return finding(
        "SY017",
        span,
        'the merge key "<<" takes a mapping or a list of mappings',
        "give it an alias of a mapping, for example <<: *base",
    )


def too_many_errors(source: Source, last: Diagnostic) -> Diagnostic:
    """Reading stopped because of the number of findings."""
    message = "there are more errors than are shown; the rest of the file was not read"
    return finding("SY022", last.span, message, "mend the errors above first")
