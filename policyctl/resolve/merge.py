"""Lay one tree of settings over another: later wins, mappings key by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policyctl.resolve.tree import EMPTY, Block, Node

# Under these keys, a form of the overlay takes the place of every other form.
_ALTERNATIVES: Final[dict[str, frozenset[str]]] = {
    "fallback": frozenset({"value", "call", "operation"}),
    "window": frozenset({"seconds", "calls"}),
    "forward": frozenset({"header", "argument"}),
}


def merge(base: Block, over: Block, name: str = "") -> Block:
    """Return ``base`` with ``over`` on top; neither is changed.

    Mappings are merged key by key and everything else, ``off`` included, is
    replaced. ``name`` is the key that holds the blocks; it decides which of their
    keys are alternatives of each other.
    """
    if not base.entries:
        return over
    entries: dict[str, Node] = dict(base.entries)
    forms = _ALTERNATIVES.get(name)
    if forms is not None and not forms.isdisjoint(over.entries):
        for form in forms:
            entries.pop(form, None)
    for key, node in over.entries.items():
        below = entries.get(key)
        if isinstance(below, Block) and isinstance(node, Block):
            node = merge(below, node, key)
        entries[key] = node
    return Block(entries, over.layer)


def merge_all(layers: Iterable[Block]) -> Block:
    """Lay all ``layers`` on each other, the first at the bottom."""
    merged = EMPTY
    for layer in layers:
        merged = merge(merged, layer)
    return merged
