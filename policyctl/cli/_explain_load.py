"""What of an operation's load ``explain`` shows: paths of retries, hidden capacity."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from policyctl.lint import amplify, show
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import hidden_capacity
from policyctl.lint.paths import START, Way
from policyctl.resolve.policy import Operation

MOST_PATHS = 8


@dataclass(frozen=True, slots=True)
class Path:
    """The heaviest path of calls that reaches an operation through one caller.

    Attributes:
        caller: the node that makes the last call.
        steps: the callers whose retries multiply, with their attempts for each call.
        weight: the natural logarithm of the product of these attempts.
    """

    caller: str
    steps: tuple[tuple[str, float], ...]
    weight: float

    @property
    def text(self) -> str:
        """``web.page 3 x api.load 3 = 9 attempts for one request``."""
        product = show.power(self.weight)
        noun = "attempt" if product == "1" else "attempts"
        total = f"{product} {noun} for one request"
        if not self.steps:
            return f"{self.caller}: {total}, nobody on the way retries"
        return f"{show.factors(self.steps)} = {total}"

    def as_json(self) -> dict[str, Any]:
        """The path as JSON data; a product that no float holds, or no bound, is null."""
        return {
            "caller": self.caller,
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
        last = ((edge.caller, factor),) if factor > 1 else ()
        result.append(Path(edge.caller, (*_steps(before, context), *last), weight))
    return heapq.nlargest(len(result), result, key=lambda path: path.weight)


def _steps(way: Way, context: Context) -> tuple[tuple[str, float], ...]:
    factor = context.retry_paths.factor
    return tuple((edge.caller, factor(edge)) for edge in way.multiplying())


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a service recovers to; rates per second (formula F6).

    Attributes:
        stated: its capacity, in attempts.
        planned: first tries that are known of, a lower bound.
        factor: attempts for each first try when everything fails.
        hidden: the load below which it recovers from an overload.
    """

    stated: float
    planned: float
    factor: float
    hidden: float

    def as_json(self) -> dict[str, Any]:
        """The capacity as JSON data; null has no bound."""
        factor = self.factor if math.isfinite(self.factor) else None
        return {
            "capacity": self.stated,
            "planned": self.planned,
            "attempts_for_each": factor,
            "hidden_capacity": self.hidden,
        }


def capacity(operation: Operation, context: Context) -> Capacity | None:
    """The hidden capacity of the operation's service, where facts allow it."""
    service = context.project.services[operation.service]
    stated = service.facts.capacity
    if stated is None:
        return None
    demand = amplify.demand(service, context)
    if demand.first == 0:
        return None
    factor = demand.factor
    hidden = 0.0 if math.isinf(factor) else hidden_capacity(stated, factor)
    return Capacity(stated, demand.first, factor, hidden)


def as_json(operation: Operation, context: Context) -> dict[str, Any]:
    """Paths and hidden capacity as JSON data."""
    found = capacity(operation, context)
    return {
        "amplification": [path.as_json() for path in paths(operation, context)],
        "hidden_capacity": None if found is None else found.as_json(),
    }


def lines(operation: Operation, context: Context) -> Iterator[str]:
    """The same as text."""
    found = paths(operation, context)
    if found:
        yield "  when every attempt fails:"
    for path in found[:MOST_PATHS]:
        yield f"    {path.text}"
    if len(found) > MOST_PATHS:
        yield f"    and {len(found) - MOST_PATHS} more callers, none with more attempts"
    room = capacity(operation, context)
    if room is not None:
        state = "below" if room.planned < room.hidden else "not below"
        yield (
            f"  hidden capacity of {operation.service}: {show.rate(room.stated)} / "
            f"{show.number(room.factor)} attempts = {show.rate(room.hidden)}; the planned "
            f"{show.rate(room.planned)} are {state} it"
        )
