"""TB006: timeouts so long that they bind the caller's workers."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.hanging import hanging, sharing
from policyctl.lint.place import Place
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Latency


class TimeoutFarAboveTail(Rule):
    """The attempt timeout is far above what the callee ever needs.

    What:
        `attempt_timeout` is over 10 times the p99 or over 100 times the mean latency,
        and over three times the p99, and at the caller's rate a callee that hangs would
        bind over half of its workers: `lam_i x t > 0.5 x workers`.

    Why:
        With 100 ms calls and a deadline of 100 s, a fault of 5 % of the calls binds
        nearly all threads and turns into 80 % errors.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 200}
        operations:
          page:
            transport: local
            facts: {rate: 500/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {latency: {p99: 200ms}}
            attempt_timeout: 30s
            budget: 40s

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, workers: 500}
        operations:
          page:
            transport: local
            facts: {rate: 500/s}
            calls: [{to: price_api.get_price}]
        ---
        version: 1
        service: price_api
        owner: price-team
        operations:
          get_price:
            transport: http
            idempotent: true
            facts: {latency: {p99: 200ms}}
            attempt_timeout: 450ms
            budget: 2s

    Fix:
        Set `attempt_timeout` to three times the p99.

    False positives:
        Operations that mix quick and slow requests: split them, so that each has its
        own latency.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
    """

    code: ClassVar[str] = "TB006"
    name: ClassVar[str] = "timeout-far-above-tail"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.latency",
        "operation facts.rate",
        "caller's facts.workers and facts.instances",
    )

    p99_factor = setting.number(10.0, "how many times the p99 is far above it")
    mean_factor = setting.number(100.0, "how many times the mean is far above it")
    worker_share = setting.ratio(0.5, "the share of the workers that may be bound")

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        policy = edge.policy
        if policy is None or policy.attempt_timeout is None or edge.detached:
            return
        attempt, latency = policy.attempt_timeout.total, policy.facts.latency
        if attempt is None:
            return
        if latency is None or (latency.p99 is None and latency.mean is None):
            yield from missing([f"{policy.path}.facts.latency.p99"])
            return
        excess = self._excess(attempt, latency)
        better = 3 * (latency.p99 or 10 * (latency.mean or 0))
        if excess is None or reaches(better, attempt):
            return
        load, workers = context.traffic.of_edge(edge), edge.service.facts.workers
        if load.per_client is None or workers is None:
            lacking = [] if workers else [f"{edge.service.name}.facts.workers"]
            yield from missing([*load.missing, *lacking])
            return
        bound = hanging(policy, load.per_client, attempt, sharing(edge))
        if not over(bound.calls, self.worker_share * workers):
            return
        advice = show.ceil_duration(better) if better else "three times the p99"
        yield self.finding(
            context.place_of(edge),
            "attempt_timeout.total",
            f"attempt_timeout {show.duration(attempt)} is {excess}; if "
            f"{policy.id} hangs, {bound.text} bind "
            f"{show.ratio(bound.share(workers))} of the {show.count(workers, 'worker')} of "
            f"{edge.service.name}",
            help=f"set attempt_timeout: {advice}",
            fix=_fix(context.place_of(edge), better),
        )

    def _excess(self, attempt: float, latency: Latency) -> str | None:
        """How the timeout compares with the latency, where it is far above."""
        for name, value, factor in (
            ("p99", latency.p99, self.p99_factor),
            ("mean", latency.mean, self.mean_factor),
        ):
            if value is not None and over(attempt, factor * value):
                times = show.number(attempt / value) if value else "infinitely many"
                return f"{times} times the {name} of {show.duration(value)}"
        return None


def _fix(place: Place, better: float) -> Fix | None:
    if better == 0:
        return None
    text = show.ceil_duration(better)
    return mend.set_value(place, "attempt_timeout.total", text, safe=False)
