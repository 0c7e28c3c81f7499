"""Retries along paths of the call graph: products of attempts, and what they add up to.

An edge multiplies what lies behind it only if its retries follow failures in which the
callee was reached (a timeout, a 5xx answer); one that retries refused connections alone
does not. Edges inside a cycle are left out, since their product has no bound (GR006).
Clients that no policy declares, but a stated rate proves, retry as their operation says:
a path begins with them. All of it is one pass over the graph, callers first, in logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from policyctl.lint import outcomes
from policyctl.lint.amplify import amplification, layer_attempts, most_attempts
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.traffic import Load

MANY = 2
"""From this many retrying edges on, paths are no longer told apart by their number."""


@dataclass(frozen=True, slots=True)
class Way:
    """The path with the largest product to a node: its last edge and what came before.

    ``weight`` is the logarithm of the product of attempts, ``retrying`` the last edge
    that retries, ``calls`` the calls at the end of the path for one request at its
    start, without retries.
    """

    weight: float
    edge: Edge | None = None
    before: Way | None = None
    retrying: Edge | None = None
    calls: float = 1.0

    def edges(self) -> list[Edge]:
        """The edges of the path, first to last."""
        found: list[Edge] = []
        way: Way | None = self
        while way is not None and way.edge is not None:
            found.append(way.edge)
            way = way.before
        return found[::-1]

    def multiplying(self) -> list[Edge]:
        """Those edges of the path whose attempts are factors of the product."""
        found: list[Edge] = []
        way: Way | None = self
        while way is not None and way.edge is not None:
            if way.retrying is way.edge:
                found.append(way.edge)
            way = way.before
        return found[::-1]

    def longer(self, edge: Edge, factor: float) -> Way:
        """The path with one more edge, whose attempts are ``factor``."""
        last = edge if factor > 1 else self.retrying
        calls = self.calls * edge.per_request
        return Way(self.weight + _log(factor), edge, self, last, calls)


START = Way(0.0)


class RetryPaths:
    """For each node, the path with the largest product of attempts.

    Attributes:
        through: node to ways, by number of retrying edges (0, 1, 2 or more), whose every
            edge multiplies what lies behind the node.
        ending: node to the way with at least two retrying edges, the last one counted in
            full.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.through: dict[str, dict[int, Way]] = {}
        self.ending: dict[str, Way] = {}
        looping = context.graph.on_cycle()
        for node in context.graph.callers_first():
            ways = self.through.setdefault(node, {0: START})
            outside = _outside(node, context)
            if outside is not None:
                self._extend(ways, outside)
            for edge in context.graph.outgoing.get(node, ()):
                if node in looping and edge.callee in looping:
                    continue
                self._extend(ways, edge)

    def factor(self, edge: Edge) -> float:
        """Attempts that arrive for each call of an edge, layers included."""
        if edge.policy is None:
            return 1.0
        callee = self._context.project.services[edge.policy.service]
        load = load_of(edge, self._context)
        return amplification(edge.policy, load) * layer_attempts(callee)

    def _extend(self, ways: dict[int, Way], edge: Edge) -> None:
        full = self.factor(edge)
        passed = full if _repeats_work(edge) else 1.0
        targets = self.through.setdefault(edge.callee, {0: START})
        for count, way in list(ways.items()):
            more = min(MANY, count + (passed > 1))
            _keep(targets, more, way.longer(edge, passed))
            if min(MANY, count + (full > 1)) == MANY:
                whole = way.longer(edge, full)
                best = self.ending.get(edge.callee)
                if best is None or whole.weight > best.weight:
                    self.ending[edge.callee] = whole


def _outside(node: str, context: Context) -> Edge | None:
    """The step of undeclared clients into an operation, where a stated rate proves them."""
    operation = context.project.find_operation(node)
    if operation is None or operation.facts.rate is None:
        return None
    if context.graph.incoming.get(node):
        return None
    service = context.project.services[operation.service]
    return Edge(f"clients of {node}", service, node, None, operation)


def load_of(edge: Edge, context: Context) -> Load:
    """The traffic of an edge, or of an operation whose clients nobody declares."""
    if edge.call is None and edge.policy is not None:
        return context.traffic.of_operation(edge.policy)
    return context.traffic.of_edge(edge)


def _repeats_work(edge: Edge) -> bool:
    """Whether failures behind the callee make the caller try again."""
    if edge.policy is None:
        return True
    retry = edge.policy.retry
    return retry is None or bool(outcomes.repeats_possible_successes(retry))


def _keep(ways: dict[int, Way], count: int, way: Way) -> None:
    """Keep the heaviest way; one without retries counts only as a start."""
    best = ways.get(count)
    if count and (best is None or way.weight > best.weight):
        ways[count] = way


def _log(factor: float) -> float:
    return math.inf if math.isinf(factor) else math.log(factor)


def worst_loads(context: Context, paths: RetryPaths) -> dict[str, float]:
    """Attempts/s that reach each node when everything fails, as far as rates are known.

    ``R(d) = sum of R(s) x calls x A``, at most what rate limits let through; a lower
    bound where a rate is missing. Of ``R(s)`` those attempts count that repeat the work
    of s, as in :class:`RetryPaths`.
    """
    arriving: dict[str, float] = {}
    working: dict[str, float] = {}
    looping = context.graph.on_cycle()
    for node in context.graph.callers_first():
        stated = context.traffic.rate(node) or 0.0
        outside = _outside(node, context)
        full = stated if outside is None else _arriving(outside, stated, context)
        arriving[node] = max(arriving.get(node, 0.0), full)
        if outside is not None and _repeats_work(outside):
            stated = full
        load = max(working.get(node, 0.0), stated)
        for edge in context.graph.outgoing.get(node, ()):
            if load and not (node in looping and edge.callee in looping):
                rate = load * edge.per_request
                full = _arriving(edge, rate, context)
                passed = full if _repeats_work(edge) else min(full, rate)
                callee = edge.callee
                arriving[callee] = arriving.get(callee, 0.0) + full
                working[callee] = working.get(callee, 0.0) + passed
    return arriving


def _arriving(edge: Edge, rate: float, context: Context) -> float:
    """Attempts/s that ``rate`` first tries of an edge become when all of them fail."""
    if edge.policy is None:
        return rate
    load = load_of(edge, context)
    attempts = rate * amplification(edge.policy, load)
    layers = layer_attempts(context.project.services[edge.policy.service])
    return min(attempts, most_attempts(edge.policy, load)) * layers
