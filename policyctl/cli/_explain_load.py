"""What of an operation's load ``explain`` shows: callers, paths, hidden capacity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyctl.lint import amplify, show
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import hidden_capacity, origin_rate
from policyctl.lint.graph import Edge
from policyctl.lint.paths import START, Way
from policyctl.resolve.policy import Operation

MOST_PATHS = 8
"""Callers that the page shows; JSON has all of them."""


@dataclass(frozen=True, slots=True)
class Path:
    """The heaviest path of calls that reaches an operation through one caller.

    Attributes:
        edge: the last call of the path.
        way: what comes before it.
        factor: attempts for each call of the last edge.
        weight: the natural logarithm of the product of attempts.
        context: the run's context.
    """

    edge: Edge
    way: Way
    factor: float
    weight: float
    context: Context

    @property
    def steps(self) -> tuple[tuple[str, float], ...]:
        """The callers whose retries multiply, with their attempts for each call."""
        factor = self.context.retry_paths.factor
        steps = [(edge.caller, factor(edge)) for edge in self.way.multiplying()]
        if self.factor > 1:
            steps.append((self.edge.caller, self.factor))
        return tuple(steps)

    @property
    def calls(self) -> float:
        """Calls that one request at the start of the path makes, without retries."""
        return self.way.calls * self.edge.per_request

    @property
    def circles(self) -> bool:
        """Whether the callee calls back, so that the product grows with each round."""
        looping = self.context.graph.on_cycle()
        return self.edge.caller in looping and self.edge.callee in looping

    @property
    def text(self) -> str:
        """``web.page 3 x api.load 3 = 9 attempts for one request``."""
        steps = self.steps
        product = show.power(self.weight)
        noun = "attempt" if product == "1" else "attempts"
        text = f"{product} {noun} {self._for_what()}"
        if len(steps) < 2:
            text = f"{self.edge.caller}: {text}"
        else:
            text = f"{show.factors(steps, lambda step: step)} = {text}"
        if not steps:
            text += ", nobody on the way retries"
        if self.circles:
            text += "; more with each round of the cycle"
        return text

    def _for_what(self) -> str:
        calls = show.number(self.calls)
        if calls == "1" or not self.calls:
            return "for one request"
        noun = f"each of {calls} calls" if self.calls > 1 else "each call"
        total = show.power(self.weight + math.log(self.calls))
        return f"for {noun}, {total} for one request"

    def as_json(self) -> dict[str, Any]:
        """The path as JSON data; a product that no float holds, or no bound, is null."""
        return {
            "caller": self.edge.caller,
            "calls": self.calls,
            "mode": "sequential" if self.edge.call is None else self.edge.call.mode,
            "cycle": self.circles,
            "steps": [
                {
                    "caller": name,
                    "attempts": attempts if math.isfinite(attempts) else None,
                }
                for name, attempts in self.steps
            ],
            "attempts": round(math.exp(self.weight), 6) if self.weight < 700 else None,
            "log10_attempts": (
                round(self.weight / math.log(10), 6)
                if math.isfinite(self.weight)
                else None
            ),
        }


def paths(operation: Operation, context: Context) -> list[Path]:
    """The heaviest path through each caller, heaviest first."""
    found = context.retry_paths
    result: list[Path] = []
    for edge in context.graph.callers(operation.id):
        ways = found.through.get(edge.caller, {0: START}).values()
        before = max(ways, key=lambda way: way.weight)
        factor = found.factor(edge)
        weight = before.weight + (math.log(factor) if math.isfinite(factor) else factor)
        result.append(Path(edge, before, factor, weight, context))
    return sorted(result, key=lambda path: -path.weight)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a service recovers to; rates per second (formula F6).

    Attributes:
        stated: its capacity, in attempts.
        planned: first tries that are known of, a lower bound.
        factor: attempts that its callers make of each first try when all fail.
        whole: the same with the retries of callers further up, which repeat theirs.
    """

    stated: float
    planned: float
    factor: float
    whole: float

    def as_json(self) -> dict[str, Any]:
        """The capacity as JSON data; null has no bound."""
        return {
            "capacity": self.stated,
            "planned": self.planned,
            "attempts_for_each": _finite(self.factor),
            "hidden_capacity": self._hidden(self.factor),
            "along_paths": {
                "attempts_for_each": _finite(self.whole),
                "hidden_capacity": self._hidden(self.whole),
            },
        }

    def _hidden(self, factor: float) -> float:
        """The load below which it recovers from an overload."""
        return 0.0 if math.isinf(factor) else hidden_capacity(self.stated, factor)

    def lines(self, service: str) -> Iterator[str]:
        """The capacity as text, for the callers alone and for the whole paths."""
        yield f"  hidden capacity of {service}: {self._worked_out(self.factor)}"
        if self.whole > self.factor * (1 + 1e-9):
            yield (
                "  with the retries of callers further up: "
                f"{self._worked_out(self.whole)}"
            )

    def _worked_out(self, factor: float) -> str:
        hidden = self._hidden(factor)
        state = "below" if self.planned < hidden else "not below"
        noun = "attempt" if factor == 1 else "attempts"
        return (
            f"{show.rate(self.stated)} / {show.number(factor)} {noun} = "
            f"{show.rate(hidden)}; the planned {show.rate(self.planned)} are {state} it"
        )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def capacity(operation: Operation, context: Context) -> Capacity | None:
    """The hidden capacity of the operation's service, where facts allow it."""
    service = context.project.services[operation.service]
    stated = service.facts.capacity
    if stated is None:
        return None
    demand = amplify.demand(service, context)
    if demand.first == 0:
        return None
    loads = context.worst_loads
    arriving = sum(loads.get(item.id, 0.0) for item in service.operations.values())
    whole = origin_rate(arriving, amplify.hit_ratio(service)) / demand.first
    return Capacity(stated, demand.first, demand.factor, max(whole, demand.factor))


def as_json(operation: Operation, context: Context) -> dict[str, Any]:
    """Paths and hidden capacity as JSON data."""
    found = capacity(operation, context)
    return {
        "amplification": [path.as_json() for path in paths(operation, context)],
        "hidden_capacity": None if found is None else found.as_json(),
    }


def lines(operation: Operation, context: Context) -> Iterator[str]:
    """Traffic, callers, paths and hidden capacity as text."""
    known = list(_traffic(operation, context))
    found = paths(operation, context)
    room = capacity(operation, context)
    if known or found or room is not None:
        yield ""
    if known:
        yield f"  traffic: {', '.join(known)}"
    for path in found[:MOST_PATHS]:
        yield f"  called by {_caller(path.edge)}"
    if len(found) > MOST_PATHS:
        yield f"  and by {len(found) - MOST_PATHS:,} more; --format json lists all"
    if found:
        yield "  when every attempt fails:"
    for path in found[:MOST_PATHS]:
        yield f"    {path.text}"
    if len(found) > MOST_PATHS:
        more = f"{len(found) - MOST_PATHS:,} more callers"
        yield f"    and {more}, none with more attempts"
    if room is not None:
        yield from room.lines(operation.service)


def _traffic(operation: Operation, context: Context) -> Iterator[str]:
    """What is known of rates and callers."""
    traffic = context.traffic.of_operation(operation)
    if traffic.rate is not None:
        yield f"{show.rate(traffic.rate)} first tries"
        attempts = amplify.attempts_at(operation, traffic.rate, context)
        if traffic.rate < attempts < math.inf:
            yield f"up to {show.rate(attempts)} when every attempt fails"
    if traffic.callers is not None:
        yield f"client processes: {traffic.callers}"


def _caller(edge: Edge) -> str:
    """A caller with how it calls."""
    mode = "" if edge.call is None else edge.call.mode
    beside = "" if mode in ("", "sequential") else f", {mode}"
    own = " with settings of its own" if edge.call and edge.call.policy else ""
    return f"{edge.caller}, {edge.per_request:g} per request{beside}{own}"
