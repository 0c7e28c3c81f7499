"""RT005: back-off that grows past all use."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, QueueSite, Site
from policyctl.lint.formulas.horizon import as_backoff
from policyctl.lint.place import Place
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Backoff
from policyctl.resolve.worst_case import longest_waits
from policyctl.units import parse_duration


class OversizedBackoff(Rule):
    """The back-off outgrows the call that it belongs to.

    What:
        - `backoff.max` is off, the back-off grows, and the last wait is over the larger
          of 30 s and the budget;
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
        for key, message, help, severity in self._problems(
            retry.backoff,
            retries,
            total,
            "budget",
            site.place.stated("retry.backoff.max"),
        ):
            related = (("budget.total", "the whole call"),) if total else ()
            yield self.finding(
                site.place,
                f"retry.backoff.{key}",
                message,
                help=help,
                fix=_fix(site.place, f"retry.backoff.{key}", help, retry.backoff),
                severity=severity,
                also=related,
            )

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        queue = site.queue
        backoff = as_backoff(queue)
        deliveries = queue.max_deliveries
        retries = None if deliveries is None else deliveries - 1
        stated = site.place.stated("redelivery.max")
        for key, message, help, severity in self._problems(
            backoff, retries, queue.max_age, "max_age", stated
        ):
            related = (("max_age", "the age limit"),) if queue.max_age else ()
            yield self.finding(
                site.place,
                f"redelivery.{key}",
                message,
                help=help,
                fix=_fix(site.place, f"redelivery.{key}", help, backoff),
                severity=severity,
                also=related,
            )

    def _problems(
        self,
        backoff: Backoff,
        retries: int | None,
        limit: float | None,
        limit_name: str,
        stated: bool,
    ) -> list[tuple[str, str, str, Severity | None]]:
        """Key, message, help and severity of each clause that holds."""
        found: list[tuple[str, str, str, Severity | None]] = []
        growing = backoff.multiplier > 1 and backoff.initial > 0
        last = last_wait(backoff, retries)
        most = self.longest if limit is None else max(self.longest, limit)
        if backoff.multiplier < 1:
            text = f"multiplier {show.number(backoff.multiplier)} makes waits shrink"
            found.append(("multiplier", text, "set multiplier: 2", Severity.ERROR))
        if growing and backoff.max is None and over(last, most):
            text = f"nothing caps the back-off: {_growth(backoff, retries, last)}"
            cap = show.floor_duration((limit or 4 * self.longest) / 4)
            found.append(("max", text, f"set max: {cap}", None))
        if limit is None:
            return found
        shown = show.duration(limit)
        if (
            backoff.max is not None
            and backoff.max > limit
            and (stated or over(last, limit))
        ):
            text = f"max {show.duration(backoff.max)} > {limit_name} {shown}: no wait can be that long"
            help = f"set max: {show.floor_duration(limit / 4)}"
            found.append(("max", text, help, None))
        if over(backoff.initial, limit / 2):
            text = (
                f"the first wait of {show.duration(backoff.initial)} is over half of "
                f"the {limit_name} of {shown}"
            )
            help = f"set initial: {show.floor_duration(limit / 10)} or less"
            found.append(("initial", text, help, None))
        return found


def _fix(place: Place, at: str, help: str, backoff: Backoff) -> Fix | None:
    """The number that the help line names, unless the waits begin above that cap."""
    text = help.partition(": ")[2].removesuffix(" or less")
    if at.endswith(".max") and parse_duration(text) < backoff.initial:
        return None
    return mend.set_value(place, at, text, safe=False)


def last_wait(backoff: Backoff, retries: int | None) -> float:
    """The wait before the last retry, in seconds, before jitter."""
    cap = math.inf if backoff.max is None else backoff.max
    if retries is None:
        return cap if backoff.multiplier > 1 and backoff.initial else backoff.initial
    if retries < 1 or backoff.initial == 0:
        return 0.0
    try:
        grown = backoff.initial * backoff.multiplier ** (retries - 1)
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
