"""CB012: circuits of a fleet that all probe at the same instant."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.circuits import grows
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing


class SynchronisedRecovery(Rule):
    """All circuits of a fleet probe the callee at the same instant.

    What:
        Over 10 client processes keep circuits of their own open for the same time,
        without jitter and without growth, and their probes together are over 5 % of what the
        callee serves in a second.

    Why:
        Circuits that open together then probe together, in ever the same rhythm, and a
        callee that is just starting meets all of them at once.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {callers: 40, latency: {p50: 20ms, p99: 90ms}}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker: {recovery_timeout: {initial: 5s, jitter: 0%}}

    Good:
        version: 1
        service: price_api
        owner: price-team
        facts: {capacity: 300/s}
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {callers: 40, latency: {p50: 20ms, p99: 90ms}}
            attempt_timeout: 500ms
            budget: 2s
            circuit_breaker:
              recovery_timeout: {initial: 5s, multiplier: 2, max: 1m, jitter: 50%}

    Fix:
        Keep the default jitter of 20 %, or let `recovery_timeout` grow.

    False positives:
        Breakers of thin traffic, which open at different times by themselves.

    References:
        Linkerd documentation, circuit breaking: backoff with jitter
        Envoy documentation, outlier detection: ejection time grows with the count
    """

    code: ClassVar[str] = "CB012"
    name: ClassVar[str] = "synchronised-recovery"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.callers",
        "facts.instances",
        "callee's facts.capacity",
    )

    callers = setting.count(10, "up to this many client processes are not reported")
    share = setting.ratio(0.05, "the share of one second's capacity that is no burden")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        if breaker is None or breaker.mode != "enforce":
            return
        recovery = breaker.recovery_timeout
        if recovery.jitter > 0 or grows(recovery) or breaker.store == "redis":
            return
        load = context.load(site)
        callee = context.project.services[site.policy.service]
        capacity = callee.facts.capacity
        if load.callers is not None and load.callers <= self.callers:
            return
        if load.callers is None or capacity is None:
            lacking = [] if capacity else [f"{callee.name}.facts.capacity"]
            yield from missing([*lacking, *load.missing_callers])
            return
        probes = load.callers * breaker.half_open_max_calls
        if not over(probes, self.share * capacity):
            return
        yield self.finding(
            site.place,
            "circuit_breaker.recovery_timeout.jitter",
            f"{load.callers} processes that opened together send {probes} probes at once "
            f"every {show.duration(recovery.initial)}, {show.ratio(probes / capacity)} of "
            f"what {callee.name} serves in a second",
            help="set recovery_timeout.jitter: 20%, or multiplier: 2 with max: 1m",
            fix=mend.set_value(
                site.place,
                "circuit_breaker.recovery_timeout.jitter",
                "20%",
                safe=True,
            ),
        )
