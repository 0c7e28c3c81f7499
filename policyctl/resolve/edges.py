"""The edges of the call graph, as a document lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from policyctl.diagnostics import Diagnostic, Related, Span
from policyctl.resolve.findings import finding
from policyctl.resolve.tree import Block, Layer, Leaf, wrap

Mode = Literal["sequential", "parallel", "detached"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One entry of a ``calls:`` list.

    ``path`` names the entry by what it calls, not by its place in the list, so that
    baselines survive reordering.
    """

    to: str
    per_request: float
    mode: Mode
    override: Block | None
    path: str
    span: Span


def edges(tree: Block, owner: str) -> list[Edge]:
    """The edges of an operation's or a service's tree; ``owner`` is its policy path."""
    leaf = tree.entries.get("calls")
    if not isinstance(leaf, Leaf) or leaf.off:
        return []
    return [
        _edge(item, leaf.layer, index, owner) for index, item in enumerate(leaf.value)
    ]


def _edge(item: Mapping[str, Any], layer: Layer, index: int, owner: str) -> Edge:
    at = (*layer.prefix, "calls", index)
    override = item.get("override")
    tree = None
    if isinstance(override, dict):
        inner = Layer(layer.kind, layer.document, (*at, "override"), layer.name)
        tree = wrap(cast(Mapping[str, Any], override), inner)
    rate, mode = item.get("per_request", 1.0), item.get("mode", "sequential")
    span = layer.span(("calls", index, "to"))
    return Edge(
        to=item["to"],
        per_request=1.0 if rate == "off" else float(rate),
        mode="sequential" if mode == "off" else mode,
        override=tree,
        path=f"{owner}.calls[{item['to']}]",
        span=span or Span(""),
    )


def check_doubles(found: list[Edge]) -> Iterator[Diagnostic]:
    """Find operations that one list calls twice."""
    seen: dict[str, Edge] = {}
    for edge in found:
        first = seen.setdefault(edge.to, edge)
        if first is not edge:
            yield finding(
                "VA128",
                f"{edge.to} is in this list twice",
                edge.span,
                help="keep one entry and add up per_request",
                related=[Related(first.span, "first listed here")],
                path=edge.path,
            )
