"""How one call runs in the worst case: attempts, waits, and what ends it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from policyctl.lint import show
from policyctl.lint.formulas.attempts import reachable_attempts
from policyctl.resolve.policy import Hedge, Operation
from policyctl.resolve.worst_case import local_wait, longest_waits, worst_case

MOST_ROWS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A moment of the time line; ``at`` is seconds after the call began.

    ``lasts`` is how long it goes on, in seconds; hedges run beside what came before.
    """

    at: float
    text: str
    lasts: float = 0.0


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The worst case of one call; times are seconds, None is unlimited.

    Attributes:
        attempts: the most attempts that the policy allows, hedges included.
        hedges: how many of them are hedges, which run beside the first.
        waits: the longest wait before each retry, at most the first few.
        reachable: how many attempts can begin when each is as slow as allowed.
        complete: how many of them can last their whole timeout.
        duration: formula F2 of the lint reference.
        steps: the time line.
    """

    attempts: int | None
    hedges: int
    waits: tuple[float, ...]
    reachable: int | None
    complete: int | None
    duration: float | None
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """The worst case as JSON data."""
        return {
            "max_attempts": self.attempts,
            "hedges": self.hedges,
            "longest_waits": list(self.waits),
            "reachable_attempts": self.reachable,
            "complete_attempts": self.complete,
            "duration": self.duration,
            "time_line": [{"at": step.at, "what": step.text} for step in self.steps],
        }


def of_operation(operation: Operation) -> WorstCase:
    """Work out the worst case of one call of an operation."""
    if operation.hedge is not None:
        return _hedged(operation, operation.hedge)
    retry = operation.retry
    attempts = 1 if retry is None else retry.max_attempts
    longest = worst_case(operation)
    wait = local_wait(operation.bulkhead, operation.rate_limit)
    rows = MOST_ROWS if attempts is None else min(attempts, MOST_ROWS)
    sums = [
        0.0 if retry is None else longest_waits(retry.backoff, count)
        for count in range(rows)
    ]
    waits = tuple(after - before for before, after in pairwise(sums))
    limit, total = _limits(operation)
    if limit is None:
        return WorstCase(attempts, 0, waits, None, None, _finite(longest), ())
    reachable = complete = attempts
    if retry is not None and math.isfinite(total):
        most = 1_000_000_000 if attempts is None else attempts
        budget = operation.budget
        minimum = 0.0 if budget is None else budget.minimum
        found = reachable_attempts(limit, wait, retry.backoff, most, total, minimum)
        reachable, complete = found.start, found.full
    elif math.isfinite(total):
        complete = int(wait + limit <= total)
    steps = _time_line(limit, wait, waits, reachable, total, longest)
    return WorstCase(attempts, 0, waits, reachable, complete, _finite(longest), steps)


def _limits(operation: Operation) -> tuple[float | None, float]:
    """Seconds of one attempt, None without limit, and of the whole call."""
    timeout, budget = operation.attempt_timeout, operation.budget
    limit = None if timeout is None else timeout.total
    total = math.inf if budget is None or budget.total is None else budget.total
    return limit, total


def _hedged(operation: Operation, hedge: Hedge) -> WorstCase:
    """Attempts that begin ``delay`` apart, and of which none answers in time."""
    longest = worst_case(operation)
    wait = local_wait(operation.bulkhead, operation.rate_limit)
    attempts = 1 + hedge.max_hedges
    limit, total = _limits(operation)
    if limit is None:
        finite = _finite(longest)
        return WorstCase(attempts, hedge.max_hedges, (), None, None, finite, ())
    begins = [wait + number * hedge.delay for number in range(min(attempts, MOST_ROWS))]
    steps = [_waiting(0.0, wait)] if wait else []
    for number, at in enumerate(begins, 1):
        if at < total:
            name = "attempt 1" if number == 1 else f"attempt {number}, a hedge,"
            steps.append(_attempt(name, at, limit, total))
    if attempts > len(begins):
        at = wait + len(begins) * hedge.delay
        if at < total:
            more = f"{attempts - len(begins)} more hedges"
            steps.append(Step(at, more, longest - at))
    steps.append(Step(longest, "the call ends"))
    finite = _finite(longest)
    return WorstCase(attempts, hedge.max_hedges, (), None, None, finite, tuple(steps))


def _waiting(at: float, seconds: float) -> Step:
    text = f"waits {show.duration(seconds)} for a slot or a token"
    return Step(at, text, seconds)


def _attempt(name: str, at: float, limit: float, total: float) -> Step:
    """An attempt that times out, or is cut by the budget of ``total`` seconds."""
    lasts = min(limit, total - at)
    cut = f", cut by the budget of {show.duration(total)}" if lasts < limit else ""
    return Step(at, f"{name} runs for {show.duration(lasts)}{cut}", lasts)


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _time_line(
    limit: float,
    wait: float,
    waits: tuple[float, ...],
    reachable: int | None,
    total: float,
    longest: float,
) -> tuple[Step, ...]:
    """Every attempt times out, and every wait is as long as it can be."""
    steps: list[Step] = []
    at = 0.0
    shown = len(waits) + 1 if reachable is None else min(reachable, len(waits) + 1)
    for number in range(1, shown + 1):
        if wait:
            steps.append(_waiting(at, wait))
            at += wait
        if at >= total:
            break
        steps.append(_attempt(f"attempt {number}", at, limit, total))
        at += steps[-1].lasts
        if number < shown:
            pause = waits[number - 1]
            steps.append(Step(at, f"waits {show.duration(pause)}", pause))
            at += pause
    end = longest if math.isfinite(longest) and reachable != shown else at
    if reachable is None or reachable > shown:
        more = (
            "and so on" if reachable is None else f"{reachable - shown} more attempts"
        )
        steps.append(Step(at, more, max(0.0, end - at)))
    if math.isfinite(longest):
        steps.append(Step(max(at, end), "the call ends"))
    return tuple(steps)
