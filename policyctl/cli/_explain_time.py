"""How one call runs in the worst case: attempts, waits, and what ends it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from policyctl.lint import show
from policyctl.lint.formulas.attempts import reachable_attempts
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import local_wait, longest_waits, worst_case

MOST_ROWS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A moment of the time line; ``at`` is seconds after the call began."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The worst case of one call; times are seconds, None is unlimited.

    Attributes:
        attempts: the most attempts that the policy allows.
        waits: the longest wait before each retry, at most the first few.
        reachable: how many attempts can begin when each is as slow as allowed.
        complete: how many of them can last their whole timeout.
        duration: formula F2 of the lint reference.
        steps: the time line.
    """

    attempts: int | None
    waits: tuple[float, ...]
    reachable: int | None
    complete: int | None
    duration: float | None
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """The worst case as JSON data."""
        return {
            "max_attempts": self.attempts,
            "longest_waits": list(self.waits),
            "reachable_attempts": self.reachable,
            "complete_attempts": self.complete,
            "duration": self.duration,
            "time_line": [{"at": step.at, "what": step.text} for step in self.steps],
        }


def of_operation(operation: Operation) -> WorstCase:
    """Work out the worst case of one call of an operation."""
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
    timeout = operation.attempt_timeout
    limit = None if timeout is None else timeout.total
    budget = operation.budget
    total = math.inf if budget is None or budget.total is None else budget.total
    if limit is None:
        return WorstCase(attempts, waits, None, None, _finite(longest), ())
    reachable = complete = attempts
    if retry is not None and math.isfinite(total):
        most = 1_000_000_000 if attempts is None else attempts
        minimum = 0.0 if budget is None else budget.minimum
        found = reachable_attempts(limit, wait, retry.backoff, most, total, minimum)
        reachable, complete = found.start, found.full
    elif math.isfinite(total):
        complete = int(wait + limit <= total)
    steps = _time_line(limit, wait, waits, reachable, total, longest)
    return WorstCase(attempts, waits, reachable, complete, _finite(longest), steps)


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
            text = f"waits {show.duration(wait)} for a slot or a token"
            steps.append(Step(at, text))
            at += wait
        lasts = min(limit, total - at)
        if lasts <= 0:
            break
        cut = f", cut by the budget of {show.duration(total)}" if lasts < limit else ""
        text = f"attempt {number} runs for {show.duration(lasts)}{cut}"
        steps.append(Step(at, text))
        at += lasts
        if number < shown:
            steps.append(Step(at, f"waits {show.duration(waits[number - 1])}"))
            at += waits[number - 1]
    if reachable is None or reachable > shown:
        more = (
            "and so on" if reachable is None else f"{reachable - shown} more attempts"
        )
        steps.append(Step(at, more))
    if math.isfinite(longest):
        steps.append(
            Step(max(at, longest) if reachable != shown else at, "the call ends")
        )
    return tuple(steps)
