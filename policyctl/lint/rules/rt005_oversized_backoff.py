"""RT005: back-off that grows past all use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.amplify import grows
from policyctl.lint.compare import over
from policyctl.lint.context import Context, QueueSite, Site
from policyctl.lint.formulas.horizon import as_backoff
from policyctl.lint.place import Place
from policyctl.lint.rule import At, Outcomes, Rule
from policyctl.resolve.policy import Backoff
from policyctl.resolve.worst_case import longest_waits
from policyctl.units import parse_duration


class OversizedBackoff(Rule):
    """The back-off outgrows the call that it belongs to.

    What:
        - `backoff.max` is off, the back-off grows, and the last wait, at its longest, is
          over the larger of 30 s and the budget;
        - a stated `backoff.max` is over `budget.total`;
        - `backoff.initial` is over half of `budget.total`;
        - `multiplier` is below 1, so that waits shrink (an error).
        The redelivery of a queue is measured against its `max_age` in the same way.

    Why:
        A wait that outlives the caller is dead work, and a doubling without a cap
        passes every limit unnoticed.

    Bad:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 10s
            retry:
              max_attempts: 3
              backoff: {initial: 500ms, multiplier: 2, max: 1m}

    Good:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 10s
            retry:
              max_attempts: 3
              backoff: {initial: 500ms, multiplier: 2, max: 2s}

    Fix:
        Cap the back-off at about a quarter of the budget.

    False positives:
        None known. Long waits between deliveries belong under `redelivery` of a queue.

    References:
        AWS Builders' Library, Timeouts, retries, and backoff with jitter
    """

    code: ClassVar[str] = "RT005"
    name: ClassVar[str] = "oversized-backoff"
    severity: ClassVar[Severity] = Severity.WARNING

    longest = setting.seconds(
        30.0, "an uncapped wait up to this long is never reported"
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        retry = policy.retry
        if retry is None or retry.max_attempts == 1:
            return
        total = None if policy.budget is None else policy.budget.total
        retries = None if retry.max_attempts is None else retry.max_attempts - 1
        limit = None if total is None else Limit("budget", total)
        stated = site.place.stated("retry.backoff.max")
        for problem in self._problems(retry.backoff, retries, limit, stated):
            related = (("budget.total", "the whole call"),) if total else ()
            yield self._about(site.place, "retry.backoff", problem, related)

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        if queue.max_deliveries == 1:
            return
        backoff = as_backoff(queue)
        retries = None if queue.max_deliveries is None else queue.max_deliveries - 1
        limit = None if queue.max_age is None else Limit("max_age", queue.max_age)
        stated = site.place.stated("redelivery.max")
        for problem in self._problems(backoff, retries, limit, stated):
            related = (("max_age", "the age limit"),) if queue.max_age else ()
            yield self._about(site.place, "redelivery", problem, related)

    def _about(
        self, place: Place, block: str, problem: Problem, related: tuple[At, ...]
    ) -> Diagnostic:
        values = [(f"{block}.{key}", text) for key, text in problem.values]
        words = " and ".join(f"{key}: {text}" for key, text in problem.values)
        fix = mend.set_value(place, *values[0], safe=False)
        if len(values) > 1:
            message = f"set {words} in {place.title}"
            fix = mend.set_values(place, values, safe=False, message=message)
        return self.finding(
            place,
            f"{block}.{problem.key}",
            problem.message,
            help=f"set {words}{' or less' if problem.key == 'initial' else ''}",
            fix=fix,
            severity=problem.severity,
            also=related,
        )

    def _problems(
        self, backoff: Backoff, retries: int | None, limit: Limit | None, stated: bool
    ) -> Iterator[Problem]:
        """Each clause that holds."""
        last = last_wait(backoff, retries)
        if backoff.multiplier < 1:
            text = f"multiplier {show.number(backoff.multiplier)} makes waits shrink"
            yield Problem("multiplier", text, (("multiplier", "2"),), Severity.ERROR)
        most = self.longest if limit is None else max(self.longest, limit.seconds)
        if grows(backoff) and backoff.max is None and over(last, most):
            text = f"nothing caps the back-off: {_growth(backoff, retries, last)}"
            longest = 4 * self.longest if limit is None else limit.seconds
            yield Problem("max", text, _capped(backoff, longest))
        if limit is None:
            return
        shown = f"{limit.name} {show.duration(limit.seconds)}"
        too_long = stated or over(last, limit.seconds)
        if backoff.max is not None and backoff.max > limit.seconds and too_long:
            text = (
                f"max {show.duration(backoff.max)} > {shown}: no wait can be that long"
            )
            yield Problem("max", text, _capped(backoff, limit.seconds))
        if over(backoff.initial, limit.seconds / 2):
            text = (
                f"the first wait of {show.duration(backoff.initial)} is over half of "
                f"the {limit.name} of {show.duration(limit.seconds)}"
            )
            first = show.floor_duration(limit.seconds / 10)
            yield Problem("initial", text, (("initial", first),))


@dataclass(frozen=True, slots=True)
class Limit:
    """What waits are measured against: its key, and its seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Problem:
    """One clause that holds: the key that it is about, and what to set."""

    key: str
    message: str
    values: tuple[tuple[str, str], ...]
    severity: Severity | None = None


def _capped(backoff: Backoff, longest: float) -> tuple[tuple[str, str], ...]:
    """A quarter of the longest time as the cap; where waits begin above it, both."""
    cap = show.floor_duration(longest / 4)
    if parse_duration(cap) >= backoff.initial:
        return (("max", cap),)
    return (("initial", show.floor_duration(longest / 10)), ("max", cap))


def last_wait(backoff: Backoff, retries: int | None) -> float:
    """The longest wait before the last retry, in seconds (F1).

    A ratio r lengthens each delay by up to 1 + r; decorrelated jitter triples it.
    """
    cap = math.inf if backoff.max is None else backoff.max
    first, multiplier = backoff.initial, backoff.multiplier
    if backoff.jitter.kind == "ratio":
        first *= 1 + backoff.jitter.ratio
    elif backoff.jitter.kind == "decorrelated":
        first, multiplier = 3 * first, 3.0
    if retries is None:
        return cap if grows(backoff) else min(cap, first)
    if retries < 1 or first == 0:
        return 0.0
    try:
        grown = first * multiplier ** (retries - 1)
    except OverflowError:
        grown = math.inf
    return min(cap, grown)


def _growth(backoff: Backoff, retries: int | None, last: float) -> str:
    if retries is None or math.isinf(last):
        return "it grows without end"
    total = longest_waits(backoff, retries)
    return (
        f"the wait before the last of {retries} retries is "
        f"{show.duration(last)}, all waits together {show.duration(total)}"
    )
