"""Merge keys: ``<<: *base`` and ``<<: [*first, *second]``."""

from __future__ import annotations

from policyctl.diagnostics import Diagnostic
from policyctl.source import problems
from policyctl.source.nodes import Entry, MappingNode, Node, SequenceNode, Source


def merge(source: Source, node: MappingNode) -> tuple[Diagnostic, ...]:
    """Replace the ``<<`` of a complete mapping by the entries that it brings.

    Keys of the mapping itself win wherever they stand; of several merged mappings the
    first wins (https://yaml.org/type/merge.html). What cannot be merged is reported and
    left out.
    """
    written = node.entries["<<"]
    found: list[Diagnostic] = []
    brought: dict[str, Entry] = {}
    for item, place in _sources(written):
        if not isinstance(item, MappingNode):
            found.append(problems.bad_merge(source.span(*place)))
            continue
        for name, entry in item.entries.items():
            if name not in node.entries and name not in brought:
                brought[name] = Entry(entry.key, entry.value, True, entry.alias)
    own = dict(node.entries)
    node.entries.clear()
    for name, entry in own.items():
        if entry is written:
            node.entries.update(brought)
        else:
            node.entries[name] = entry
    return tuple(found)


def _sources(written: Entry) -> list[tuple[Node, tuple[int, int]]]:
    """The mappings that a ``<<`` names, each with its place."""
    value = written.value
    if isinstance(value, SequenceNode):
        return [(item, value.extent(i)) for i, item in enumerate(value.items)]
    place = written.extent
    if place[0] == place[1]:
        place = (written.key.start, written.key.end)
    return [(value, place)]
