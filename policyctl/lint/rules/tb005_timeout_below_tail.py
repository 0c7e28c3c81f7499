"""TB005: timeouts that cut healthy calls."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, outcomes, room, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Operation


class TimeoutBelowTail(Rule):
    """Healthy calls run into the attempt timeout.

    What:
        `attempt_timeout` is below the p99 of the measured latency (a warning), or below
        the median (an error). Hedged idempotent operations cut their tail on purpose
        and are not measured.

    Why:
        A timeout that is too short turns health into failure, retries then add load, and
        load adds latency: this loop has started well-known outages. Choose the timeout
        by the share of false timeouts that is acceptable, for example at the p99.9.

    Bad:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {latency: {p50: 80ms, p99: 300ms}}
            attempt_timeout: 250ms
            budget: 2s

    Good:
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {latency: {p50: 80ms, p99: 300ms}}
            attempt_timeout: 450ms
            budget: 2s

    Fix:
        Raise `attempt_timeout` to the p99.9, or make the callee faster.

    False positives:
        Calls whose late answers are worthless: suppress the rule with that reason.

    References:
        AWS, Summary of the Amazon DynamoDB Service Disruption, September 2015
        AWS Builders' Library, Timeouts, retries, and backoff with jitter
    """

    code: ClassVar[str] = "TB005"
    name: ClassVar[str] = "timeout-below-tail"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.latency.p99",
        "operation facts.latency.p50",
    )

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        timeout, latency = policy.attempt_timeout, policy.facts.latency
        if timeout is None or timeout.total is None or _hedged(policy):
            return
        if latency is None or (latency.p99 is None and latency.p50 is None):
            yield from missing([site.place.join("facts.latency.p99")])
            return
        if latency.p99 is None:
            yield from missing([site.place.join("facts.latency.p99")])
        attempt = timeout.total
        if latency.p50 is not None and attempt < latency.p50:
            measure, value, share = "p50", latency.p50, "more than half"
        elif latency.p99 is not None and attempt < latency.p99:
            measure, value, share = "p99", latency.p99, "more than 1%"
        else:
            return
        if latency.p50 is None:
            yield from missing([site.place.join("facts.latency.p50")])
        again = " and are tried again" if _retried(policy) else ""
        better = latency.p999 or (3 * latency.p99 if latency.p99 else 3 * value)
        text, budget = room.advised(policy, better)
        yield self.finding(
            site.place,
            "attempt_timeout.total",
            f"attempt_timeout {show.duration(attempt)} < {measure} "
            f"{show.duration(value)}: {share} of healthy calls time out{again}",
            severity=Severity.ERROR if measure == "p50" else None,
            help=f"set attempt_timeout: {text}{budget}",
            fix=(
                None
                if budget
                else mend.set_value(
                    site.place, "attempt_timeout.total", text, safe=False
                )
            ),
            also=((f"facts.latency.{measure}", f"measured {measure}"),),
        )


def _hedged(policy: Operation) -> bool:
    return policy.hedge is not None and policy.idempotent is True


def _retried(policy: Operation) -> bool:
    retry = policy.retry
    if retry is None or retry.max_attempts == 1:
        return False
    listed = any(map(outcomes.matches_timeout, retry.retry_on))
    return listed and outcomes.retries_timeouts(retry)
