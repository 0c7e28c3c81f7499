"""HY002: numbers that look like the wrong unit."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import setting, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class MagnitudeSlip(Rule):
    """A number looks like the wrong unit.

    What:
        `attempt_timeout` of a call over the network is over 10 minutes or under 1 ms,
        or a retry budget's `floor` is over 1,000 retries/s. Services of class `batch`
        and operations with `transport: local` are not measured. Missing units and
        values outside their range are validation errors already.

    Why:
        Milliseconds read as seconds, or a percentage read as a share, give a policy
        that is valid and does nothing.

    Bad:
        version: 1
        service: fx_api
        owner: fx-team
        operations:
          convert:
            transport: http
            idempotent: true
            attempt_timeout: 500us
            budget: 2s

    Good:
        version: 1
        service: fx_api
        owner: fx-team
        operations:
          convert:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s

    Fix:
        Check the unit.

    False positives:
        Jobs that run for long: `class: batch`. Calls inside one host: `transport: local`.

    References:
        none
    """

    code: ClassVar[str] = "HY002"
    name: ClassVar[str] = "magnitude-slip"
    severity: ClassVar[Severity] = Severity.WARNING

    longest = setting.seconds(600.0, "the longest attempt that is not reported")
    shortest = setting.seconds(0.001, "the shortest attempt that is not reported")
    highest_floor = setting.number(1000.0, "the most retries/s that a floor may grant")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        if policy.transport == "local" or site.service.service_class == "batch":
            return
        attempt = (
            None if policy.attempt_timeout is None else policy.attempt_timeout.total
        )
        if attempt is not None and attempt > self.longest:
            yield self.finding(
                site.place,
                "attempt_timeout.total",
                f"attempt_timeout {show.duration(attempt)} > "
                f"{show.duration(self.longest)} for a call over the network",
                help="check the unit; long jobs belong to a service of class: batch",
            )
        if attempt is not None and attempt < self.shortest:
            yield self.finding(
                site.place,
                "attempt_timeout.total",
                f"attempt_timeout {show.duration(attempt)} < "
                f"{show.duration(self.shortest)} for a call over the network",
                help="check the unit; calls inside the process are transport: local",
            )
        budget = None if policy.retry is None else policy.retry.budget
        if budget is not None and budget.floor > self.highest_floor:
            yield self.finding(
                site.place,
                "retry.budget.floor",
                f"floor {show.rate(budget.floor)} > {show.rate(self.highest_floor)} "
                "retries of each process",
                help="check the unit; the floor is meant for clients with little traffic",
            )
