"""CB007: a circuit that does not close again."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.circuits import seen_by
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.lint.sharing import redis_store
from policyctl.resolve.policy import CircuitBreaker


class BreakerCannotClose(Rule):
    """Once open, the circuit does not close, or closes very late.

    What:
        A probe may last no longer than `attempt_timeout` and `half_open_max_wait`. If
        that is below the callee's median latency, most probes fail although the callee
        is well: an error. If the calls that one circuit sees, those of a client process
        or of all that share it, need over 10 minutes to be `success_threshold`, it
        stays half-open for that long: a warning where more than 3 probes are asked for,
        else worth knowing only, since so few calls all pass as probes.

    Why:
        A healthy callee stays cut off. With little traffic each client keeps paying for
        one outage long after it ended.

    Bad:
        version: 1
        service: render_api
        owner: render-team
        operations:
          render:
            transport: http
            idempotent: true
            facts: {rate: 40/s, callers: 4, latency: {p50: 800ms}}
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {half_open_max_wait: 500ms}

    Good:
        version: 1
        service: render_api
        owner: render-team
        operations:
          render:
            transport: http
            idempotent: true
            facts: {rate: 40/s, callers: 4, latency: {p50: 800ms}}
            attempt_timeout: 2s
            budget: 5s
            circuit_breaker: {half_open_max_wait: 10s}

    Fix:
        Let probes last as long as other calls; lower `success_threshold` where traffic
        is thin.

    False positives:
        `half_open_max_calls` bounds probes in flight here, not their number, so it is
        no reason to stay open.

    References:
        resilience4j documentation, CircuitBreaker: permitted calls in half-open state
    """

    code: ClassVar[str] = "CB007"
    name: ClassVar[str] = "breaker-cannot-close"
    severity: ClassVar[Severity] = Severity.ERROR
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.latency.p50",
        "operation facts.rate",
        "operation facts.callers",
        "facts.instances",
    )

    slowest_close = setting.seconds(600.0, "the longest time that closing may need")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        if breaker is None or breaker.mode == "disabled":
            return
        yield from self._check_probe_time(site, breaker)
        if site.edge is not None and breaker.store == "redis":
            return  # other callers may probe for the same circuit
        seen = seen_by(site, breaker, context)
        rate = seen.rate
        if rate is None:
            yield from missing(seen.missing)
            return
        if rate > 0 and over(breaker.success_threshold / rate, self.slowest_close):
            yield self._slow_to_close(site, breaker, rate, seen.whose)

    def _check_probe_time(self, site: Site, breaker: CircuitBreaker) -> Outcomes:
        latency, timeout = site.policy.facts.latency, site.policy.attempt_timeout
        if latency is None or latency.p50 is None:
            yield from missing([site.place.join("facts.latency.p50")])
            return
        key, limit = "circuit_breaker.half_open_max_wait", breaker.half_open_max_wait
        if timeout is not None and timeout.total is not None and timeout.total < limit:
            key, limit = "attempt_timeout.total", timeout.total
        if limit >= latency.p50:
            return
        median = show.duration(latency.p50)
        yield self.finding(
            site.place,
            key,
            f"a probe may last {show.duration(limit)}, below the median latency of "
            f"{median}: more than half of all probes fail although the callee is well",
            help=f"let a probe last {show.ceil_duration(3 * latency.p50)} (3 x p50)",
            fix=mend.set_value(
                site.place, key, show.ceil_duration(3 * latency.p50), safe=False
            ),
            also=(("facts.latency.p50", f"half of all calls take over {median}"),),
        )

    def _slow_to_close(
        self, site: Site, breaker: CircuitBreaker, rate: float, whose: str
    ) -> Diagnostic:
        need = breaker.success_threshold
        each = "per process" if whose == "each" else "of all processes"
        return self.finding(
            site.place,
            "circuit_breaker.success_threshold",
            f"{show.count(need, 'good probe')} at {show.rate(rate)} {each} take "
            f"{show.duration(need / rate)} > {show.duration(self.slowest_close)}: "
            "the circuit stays half-open for that long",
            severity=Severity.WARNING if need > _FEW else Severity.INFO,
            help=_fewer_probes(site, breaker, rate, self.slowest_close),
            fix=_fix(site, _fitting(rate, self.slowest_close), need),
        )


_FEW = 3
"""Good probes that are no reason to stay half-open for long."""

_LEAST = 2
"""Fewer good probes than this are luck (CB008)."""


def _fitting(rate: float, limit: float) -> int:
    """How many probes fit into ``limit`` seconds."""
    return int(limit * rate * (1 + 1e-9))


def _fix(site: Site, fitting: int, need: int) -> Fix | None:
    if not _LEAST <= fitting < need:
        return None
    at = "circuit_breaker.success_threshold"
    return mend.set_value(site.place, at, str(fitting), safe=False)


def _fewer_probes(
    site: Site, breaker: CircuitBreaker, rate: float, limit: float
) -> str:
    fitting = _fitting(rate, limit)
    if _LEAST <= fitting < breaker.success_threshold:
        return f"set success_threshold: {fitting}"
    shared = ["scope: service"] if breaker.scope != "service" else []
    shared += [redis_store(site.service)] if breaker.store != "redis" else []
    if not shared:
        return "leave the breaker out: so few calls need none"
    return f"share the breaker: {', or '.join(shared)}"
