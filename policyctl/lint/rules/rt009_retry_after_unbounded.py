"""RT009: the server's Retry-After hint ignored, or honoured without bound."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, outcomes, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.worst_case import longest_hint


class RetryAfterUnbounded(Rule):
    """The server's Retry-After hint is ignored, or honoured without a bound.

    What:
        429, 503 or RESOURCE_EXHAUSTED is retried and `retry_after` is off (a warning). A
        hint is honoured without `max`, or with a `max` over the budget, in a service of
        class `online` (an error). A retry of what came without an answer alone gets no
        hint. The default is sound: 10 s or half the budget.

    Why:
        Retry-After is the only brake that a server has. But a server may also say an
        hour, and one popular client library waits up to six.

    Bad:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            retry: {retry_on_status: [429, 503], retry_after: off}

    Good:
        version: 1
        service: geo_api
        owner: geo-team
        operations:
          locate:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 5s
            retry: {retry_on_status: [429, 503], retry_after: {max: 2s}}

    Fix:
        Set `retry_after: {max: ...}` to at most half of the budget.

    False positives:
        Servers known not to send the hint: honouring it costs nothing.

    References:
        RFC 9110, section 10.2.3, Retry-After
        gRPC proposal A6, client retries: server pushback
        urllib3 documentation, Retry.retry_after_max
    """

    code: ClassVar[str] = "RT009"
    name: ClassVar[str] = "retry-after-unbounded"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        retry = policy.retry
        if retry is None or retry.max_attempts == 1:
            return
        total = None if policy.budget is None else policy.budget.total
        if retry.retry_after is None:
            signals = outcomes.covered(
                (429, 503, "RESOURCE_EXHAUSTED"),
                retry.retry_on_status,
                retry.never_retry_on_status,
            )
            signals = tuple(s for s in signals if s in _SIGNALS)
            if signals and policy.transport in ("http", "grpc"):
                yield self.finding(
                    site.place,
                    "retry.retry_after",
                    f"{show.words(signals)}: retried without the wait that the server "
                    "asks for",
                    severity=Severity.WARNING,
                    help=f"set retry_after: {{max: {_suggested(total)}}}",
                    also=(("retry.retry_on_status", "retried here"),),
                    fix=_fix(site, total),
                )
            return
        longest = retry.retry_after.max
        if site.service.service_class != "online" or longest_hint(retry) == 0:
            return
        if longest is None:
            yield self.finding(
                site.place,
                "retry.retry_after",
                "a wait of any length that the server asks for is honoured",
                help=f"set retry_after: {{max: {_suggested(total)}}}",
                fix=_fix(site, total),
            )
        elif total is not None and over(longest, total):
            yield self.finding(
                site.place,
                "retry.retry_after.max",
                f"retry_after.max {show.duration(longest)} > budget "
                f"{show.duration(total)}: no wait can be that long",
                help=f"set retry_after: {{max: {_suggested(total)}}}",
                also=(("budget.total", "the whole call"),),
                fix=_fix(site, total),
            )


_SIGNALS = ("429", "503", "RESOURCE_EXHAUSTED")


def _fix(site: Site, total: float | None) -> Fix | None:
    """Bound the wait; where the block is written, its one key."""
    most = _suggested(total)
    return mend.set_value(
        site.place, "retry.retry_after.max", most, safe=True
    ) or mend.set_value(site.place, "retry.retry_after", f"{{max: {most}}}", safe=True)


def _suggested(total: float | None) -> str:
    return "10s" if total is None else show.floor_duration(min(10.0, total / 2))
