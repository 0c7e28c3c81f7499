"""CB001: a circuit breaker that total failure does not open."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.lint import mend, show
from policyctl.lint.amplify import attempts_of
from policyctl.lint.circuits import seen_by
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.breaker import window_attempts
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import CircuitBreaker, Operation


class BreakerCannotTrip(Rule):
    """The circuit breaker can never evaluate its window.

    What:
        The breaker opens on `failure_ratio` or `slow_call` over a rolling time window,
        and one client process makes fewer attempts in that window than `minimum_calls`.
        It is a warning where only retries of failing calls reach the minimum, or where
        `failure_threshold` can still open it.

    Why:
        Below its minimum a breaker ignores even 100 % failures. Each process counts for
        itself, so the rate of the whole fleet is divided by its size, unless the circuit
        has `store: redis`.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 20/s, callers: 10}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {failure_ratio: 50%, window: 10s, minimum_calls: 100}

    Good:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {rate: 20/s, callers: 10}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {failure_ratio: 50%, window: 10s, minimum_calls: 10}

    Fix:
        Set `minimum_calls` to half of the attempts that a window holds, but at least 5,
        widen the window, or open on `failure_threshold`, which needs no window.

    False positives:
        Bursty traffic whose mean is low: state the rate of the busy hour.

    References:
        Polly documentation, circuit breaker strategy: minimum throughput
    """

    code: ClassVar[str] = "CB001"
    name: ClassVar[str] = "breaker-cannot-trip"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        if breaker is None or breaker.mode == "disabled":
            return
        window = breaker.window.seconds
        ratios = breaker.failure_ratio is not None or breaker.slow_call is not None
        if window is None or not ratios:
            return
        if site.edge is not None and breaker.store == "redis":
            return  # other callers may count in the same circuit
        seen = seen_by(site, breaker, context)
        if seen.rate is None:
            yield from missing(seen.missing)
            return
        if over(breaker.minimum_calls, window_attempts(seen.rate, window)):
            yield self._too_few(site, breaker, seen.rate, window, seen.whose)

    def _too_few(
        self,
        site: Site,
        breaker: CircuitBreaker,
        rate: float,
        window: float,
        whose: str,
    ) -> Diagnostic:
        seen = window_attempts(rate, window)
        tries = _attempts(site.policy)
        most = window_attempts(rate, window) * tries
        need = breaker.minimum_calls
        message = (
            f"{_WHO[whose]} {show.number(seen)} of the {need} calls needed in "
            f"{show.duration(window)} ({show.rate(rate)} {_EACH[whose]})"
        )
        severity = None
        if breaker.failure_threshold is not None:
            severity = Severity.WARNING
            message += ": only failure_threshold can open the circuit"
        elif reaches(most, need):
            severity = Severity.WARNING
            many = "its" if math.isinf(tries) else show.number(tries)
            message += f": it can open only when every call uses all {many} attempts"
        else:
            message += ": the circuit can never open"
        return self.finding(
            site.place,
            "circuit_breaker.minimum_calls",
            message,
            severity=severity,
            help=_help(seen, need, rate),
            fix=_fix(site, seen),
            also=(("circuit_breaker.window.seconds", "the window"),),
        )


_WHO = {"each": "one process makes", "all": "all processes together make"}
_EACH = {"each": "each", "all": "in all"}


def _attempts(policy: Operation) -> float:
    """The most attempts of one call, hedges included."""
    if policy.hedge is not None:
        return 1.0 + policy.hedge.max_hedges
    return attempts_of(policy)


def _fix(site: Site, seen: float) -> Fix | None:
    """Half of what a window holds, where that is enough calls to judge by."""
    if seen < 10:
        return None
    calls = str(max(5, int(seen / 2)))
    return mend.set_value(
        site.place, "circuit_breaker.minimum_calls", calls, safe=False
    )


def _help(seen: float, need: int, rate: float) -> str:
    if seen >= 10:
        return f"set minimum_calls: {max(5, int(seen / 2))}"
    window = show.ceil_duration(2 * need / rate) if rate > 0 else None
    widened = f", or window: {window}" if window else ""
    return f"open on failure_threshold: 5, which needs no window{widened}"
