"""CB002: circuit breakers that healthy traffic opens."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import setting, show
from policyctl.lint.circuits import Seen, seen_by
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.breaker import (
    false_trip,
    false_trips_per_day,
    window_attempts,
)
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import CircuitBreaker


class BreakerTripsOnNoise(Rule):
    """Healthy traffic opens the circuit now and then.

    What:
        With the failures that a healthy callee has (`facts.failure_ratio`, 0.1 % if it
        is not stated), chance alone opens circuits of the fleet more than once a day (a
        warning) or once an hour (an error). A window counts as many calls as fall into
        it, at least `minimum_calls`; failures are taken as independent, so the result
        is an estimate.

    Why:
        Each open circuit refuses calls that would have succeeded. Small windows trip
        most: 10 calls at a ratio of 10 % trip on a single failure.

    Bad:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {rate: 40/s, callers: 40, failure_ratio: 1%, latency: {p50: 20ms, p99: 90ms}}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {failure_ratio: 10%, window: 10s, minimum_calls: 10}

    Good:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {rate: 40/s, callers: 40, failure_ratio: 1%, latency: {p50: 20ms, p99: 90ms}}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {failure_ratio: 50%, window: 30s, minimum_calls: 20}

    Fix:
        Raise the ratio or `minimum_calls`; the help line names a minimum that trips less
        than once a week.

    False positives:
        Failures that come in bursts break the model: the true number is lower between
        bursts and higher within.

    References:
        Marc Brooker, Will circuit breakers solve my problems, 2022
    """

    code: ClassVar[str] = "CB002"
    name: ClassVar[str] = "breaker-trips-on-noise"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate",
        "operation facts.callers",
        "operation facts.failure_ratio",
        "facts.instances",
    )

    healthy_failures = setting.ratio(0.001, "the failure share where none is stated")
    per_day = setting.number(1.0, "false openings per day that are not reported")
    error_per_day = setting.number(24.0, "false openings per day that are an error")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        if breaker is None or breaker.mode == "disabled":
            return
        seen = seen_by(site, breaker, context)
        rate, circuits = seen.rate, seen.circuits
        if rate is None or circuits is None:
            yield from missing(seen.missing)
            return
        stated = site.policy.facts.failure_ratio
        failures = self.healthy_failures if stated is None else stated
        calls = _window_calls(breaker, rate)
        by_ratio = _ratio_trips(breaker, failures, calls, rate) * circuits
        by_run = _run_trips(breaker, failures, rate) * circuits
        if by_ratio + by_run <= self.per_day:
            return
        severe = by_ratio + by_run > self.error_per_day
        origin = "stated" if stated is not None else "assumed"
        shown = f"healthy failures of {show.ratio(failures)} ({origin})"
        if by_ratio >= by_run:
            assert breaker.failure_ratio is not None
            key = "failure_ratio"
            chance = false_trip(calls, breaker.failure_ratio, failures)
            text = (
                f"{shown} reach {show.ratio(breaker.failure_ratio)} in "
                f"{show.number(100 * chance)}% of windows of {calls} calls"
            )
            help = _more_calls(breaker.failure_ratio, failures, rate, circuits)
        else:
            key = "failure_threshold"
            text = f"{shown} come {breaker.failure_threshold} in a row by chance"
            help = "raise failure_threshold, or open on failure_ratio: 50%"
        yield self.finding(
            site.place,
            f"circuit_breaker.{key}",
            f"{text}: {_whose(seen, circuits)} falsely about {show.number(by_ratio + by_run)} "
            "times a day (estimate)",
            severity=Severity.ERROR if severe else None,
            help=help,
        )


def _whose(seen: Seen, circuits: int) -> str:
    if seen.whose == "all":
        return "the circuit that all processes share opens"
    if circuits == 1:
        return "the circuit opens"
    return f"circuits of all {circuits} processes together open"


def _window_calls(breaker: CircuitBreaker, rate: float) -> int:
    """Calls in a usual window: those that fall into it, at least the minimum."""
    if breaker.window.calls is not None:
        return max(breaker.minimum_calls, breaker.window.calls)
    seen = window_attempts(rate, breaker.window.seconds or 0.0)
    return max(breaker.minimum_calls, int(seen))


def _ratio_trips(
    breaker: CircuitBreaker, failures: float, calls: int, rate: float
) -> float:
    """False openings per day of one circuit through the failure ratio.

    None are counted where a window is too short for ``minimum_calls`` (CB001), or where
    it is split among circuits for each value of an argument, whose calls are unknown.
    """
    if breaker.failure_ratio is None:
        return 0.0
    window = breaker.window.seconds
    if window is not None:
        short = over(breaker.minimum_calls, window_attempts(rate, window))
        if short or breaker.scope.startswith("argument:"):
            return 0.0
    chance = false_trip(calls, breaker.failure_ratio, failures)
    return false_trips_per_day(chance, calls, rate)


def _run_trips(breaker: CircuitBreaker, failures: float, rate: float) -> float:
    """False openings per day of one circuit through failures in a row.

    A run of k begins after a success: ``lam (1 - p) p^k`` per second.
    """
    if breaker.failure_threshold is None:
        return 0.0
    return 86400 * rate * (1 - failures) * failures**breaker.failure_threshold


def _more_calls(ratio: float, failures: float, rate: float, clients: int) -> str:
    """The smallest round minimum that trips less than once a week, if any helps."""
    weekly = 1 / 7
    for calls in (20, 30, 50, 100, 200, 500, 1000, 2000, 5000):
        chance = false_trip(calls, ratio, failures)
        if false_trips_per_day(chance, calls, rate) * clients < weekly:
            window = show.ceil_duration(math.ceil(calls / rate))
            return (
                f"set minimum_calls: {calls} (a window of {window} or more at this rate), "
                "or raise failure_ratio to 50%"
            )
    return "raise failure_ratio: healthy failures lie too close to it"
