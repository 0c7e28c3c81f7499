"""Fixes: set, add to and take from settings where they are declared.

The value is changed where it stands at the operation (queue, override, service). One
that is inherited, from a preset, ``defaults``, a merge key or a built-in default, is
not changed there, since others use it: the key is added at the operation instead.

Every function returns None where the text has a form that cannot be edited safely; the
finding then has no fix. What is returned is checked again when it is applied.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise

from policyctl.diagnostics import Edit, Fix
from policyctl.lint import show
from policyctl.lint.mend_site import Spot, spot_of
from policyctl.lint.place import Place
from policyctl.source import rewrite
from policyctl.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from policyctl.source.quotes import scalar_text
from policyctl.source.scalars import resolve
from policyctl.units import MAX_DURATION, parse_duration

SHORT = {
    "attempt_timeout": "total",
    "budget": "total",
    "recovery_timeout": "initial",
}
"""Blocks that may be written as one scalar, and the key that it stands for."""

_LONGEST_NUMBER = 30


def set_value(
    place: Place, at: str, text: str, *, safe: bool, message: str | None = None
) -> Fix | None:
    """Give the setting ``at`` of ``place`` the value ``text``, YAML of one line.

    ``at`` is the dotted long-form path of a single value, for example
    ``retry.backoff.jitter`` or ``budget.total``; missing blocks are made. There is no
    fix where ``text`` is a longer time than the language takes.
    """
    edit = None if _is_too_long(text) else _set(place, at, text)
    if edit is None:
        return None
    return Fix(message or f"set {at}: {text} in {place.title}", (edit,), safe)


def set_values(
    place: Place, values: Sequence[tuple[str, str]], *, safe: bool, message: str
) -> Fix | None:
    """Set several values together, all of them or none.

    Values of one block that has to be made are written into it together.
    """
    edits: list[Edit] = []
    absent: dict[str, list[tuple[str, str]]] = {}
    if any(_is_too_long(text) for _at, text in values):
        return None
    for at, text in values:
        block, _, key = at.rpartition(".")
        if block and not _present(place, block):
            absent.setdefault(block, []).append((key, text))
            continue
        edit = _set(place, at, text)
        if edit is None:
            return None
        edits.append(edit)
    for block, pairs in absent.items():
        edit = _set(place, block, _flow(pairs))
        if edit is None:
            return None
        edits.append(edit)
    return Fix(message, tuple(edits), safe) if _apart(edits) else None


def take_out(
    place: Place, at: str, items: Collection[str], present: Sequence[str], *, safe: bool
) -> Fix | None:
    """Take ``items`` out of the list ``at``, which resolves to ``present``.

    An inherited list is written out at the operation without them. No list is emptied.
    """
    spot = spot_of(place, at)
    kept = [item for item in present if item not in items]
    if spot is None or not kept or len(kept) == len(present):
        return None
    message = f"take {', '.join(sorted(items))} out of {at} in {place.title}"
    written = spot.own_list()
    if written is None:
        return set_value(place, at, _list(kept), safe=safe, message=message)
    names = [_name(item) for item in written.items]
    gone = [index for index, name in enumerate(names) if name in items]
    if not gone or len(gone) == len(names):
        return None
    edits = _removals(spot, written, gone)
    return None if edits is None else Fix(message, edits, safe)


def put_in(
    place: Place, at: str, items: Sequence[str], present: Sequence[str], *, safe: bool
) -> Fix | None:
    """Add ``items`` to the list ``at``, which resolves to ``present``.

    An inherited list is written out at the operation, since lists are replaced whole.
    """
    spot = spot_of(place, at)
    if spot is None or spot.shared:
        return None
    message = f"add {', '.join(items)} to {at} in {place.title}"
    written = spot.own_list()
    if written is None:
        new = _list([*present, *items])
        return set_value(place, at, new, safe=safe, message=message)
    if not written.flow and len(items) > 1:
        return None
    text = ", ".join(map(_item, items))
    edit = rewrite.append_item(spot.document, written, text)
    return None if edit is None else Fix(message, (edit,), safe)


def _is_too_long(text: str) -> bool:
    """Whether a text is a duration over the longest one, or stands for no end at all."""
    if text == show.duration(math.inf):
        return True
    try:
        return parse_duration(text, maximum=None) > MAX_DURATION
    except ValueError:
        return text[:1].isdigit() and len(text) > _LONGEST_NUMBER


def _set(place: Place, at: str, text: str) -> Edit | None:
    """The edit that sets one value."""
    spot = spot_of(place, at)
    if spot is None or spot.shared:
        return None
    rest = spot.rest
    if spot.found is None:
        if not isinstance(spot.parent, MappingNode):
            return None
        key, value = _nested(rest, text)
        return rewrite.insert_key(spot.document, spot.parent, key, value)
    entry = spot.found
    short = len(rest) == 2 and SHORT.get(rest[0]) == rest[1]
    if not rest[1:] or (entry.alias and short and isinstance(entry.value, ScalarNode)):
        return _replace(spot, entry, text)
    if entry.alias is not None:
        return _override_alias(spot, entry, rest[1:], text)
    if isinstance(entry.value, ScalarNode):
        return _lengthen(spot, entry, rest, text)
    return None


def _replace(spot: Spot, entry: Entry, text: str) -> Edit | None:
    """Put ``text`` in the place of a value; quotes stay quotes."""
    value = entry.value
    if (
        isinstance(value, ScalarNode)
        and entry.alias is None
        and text[:1] not in "[{'\""
    ):
        new = resolve(text)
        if isinstance(new, str) and value.style in ("single", "double"):
            return rewrite.set_scalar(spot.document, value, new)
    return rewrite.set_value(spot.document, entry, text)


def _lengthen(spot: Spot, entry: Entry, rest: Sequence[str], text: str) -> Edit | None:
    """Set a key of a block that is written as one scalar."""
    value = entry.value
    assert isinstance(value, ScalarNode)
    block = spot.path[len(spot.path) - len(rest)]
    key = rest[1]
    if value.text == "off" or value.value is False or len(rest) > 2:
        return None
    if block == "window" and key in ("seconds", "calls"):
        words = f"{text} calls" if key == "calls" else text
        return _replace(spot, entry, words)
    short = SHORT.get(str(block))
    if short is None:
        return None
    if key == short:
        return _replace(spot, entry, text)
    old = spot.text_of(value)
    return rewrite.set_value(spot.document, entry, f"{{{short}: {old}, {key}: {text}}}")


def _override_alias(
    spot: Spot, entry: Entry, rest: Sequence[str], text: str
) -> Edit | None:
    """``retry: *common`` becomes ``retry: {<<: *common, max_attempts: 3}``.

    The anchored block stays as it is for its other users.
    """
    value = entry.value
    if not isinstance(value, MappingNode) or entry.alias is None:
        return None
    if len(rest) > 1 and rest[0] in value.entries:
        return None
    start, end = entry.alias
    alias = spot.document.source.text[start:end]
    key, new = _nested(rest, text)
    return rewrite.set_value(spot.document, entry, f"{{<<: {alias}, {key}: {new}}}")


def _nested(rest: Sequence[str], text: str) -> tuple[str, str]:
    """The key and flow text of a new block; short where the language has a short form."""
    key = rest[0]
    if len(rest) == 1:
        return key, text
    inner, value = _nested(rest[1:], text)
    if SHORT.get(key) == inner or (key == "window" and inner == "seconds"):
        return key, value
    if key == "window" and inner == "calls":
        return key, f"{value} calls"
    return key, f"{{{inner}: {value}}}"


def _present(place: Place, block: str) -> bool:
    """Whether the block is written at the place itself."""
    spot = spot_of(place, block)
    return spot is not None and spot.found is not None


def _flow(pairs: Sequence[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {text}" for key, text in pairs) + "}"


def _list(items: Sequence[str]) -> str:
    return "[" + ", ".join(_item(item) for item in items) + "]"


def _item(text: str) -> str:
    """A list item as policies write it: status numbers bare, ranges quoted."""
    return text if text.isdecimal() and text[0] != "0" else scalar_text(text)


def _name(node: Node) -> str:
    return node.text if isinstance(node, ScalarNode) else ""


def _removals(
    spot: Spot, written: SequenceNode, gone: Sequence[int]
) -> tuple[Edit, ...] | None:
    """Edits that remove the items at ``gone``; one flow list is written anew."""
    if spot.shared:
        return None
    if written.flow and "#" not in spot.text_of(written):
        source = spot.document.source
        texts = [
            source.text[slice(*written.extent(i))]
            for i in range(len(written.items))
            if i not in gone
        ]
        if "\n" not in spot.text_of(written):
            new = "[" + ", ".join(texts) + "]"
            return (Edit(source.span(written.start, written.end), new),)
        gone = gone[:1]
    edits = [rewrite.remove_item(spot.document, written, index) for index in gone]
    found = tuple(edit for edit in edits if edit is not None)
    return found if len(found) == len(edits) and _apart(found) else None


def _apart(edits: Sequence[Edit]) -> bool:
    """Whether no two edits touch the same characters or insert at one place."""
    places = sorted((edit.span.start, edit.span.end) for edit in edits)
    return all(one[1] <= two[0] and one != two for one, two in pairwise(places))
