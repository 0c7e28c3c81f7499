"""CB010: circuit breakers that count the wrong outcomes."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, outcomes, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import CircuitBreaker

_REMOTE = ("http", "grpc", "sql", "redis")


class BreakerCountsWrongFailures(Rule):
    """The circuit breaker counts the wrong failures.

    What:
        For a remote transport, `record_on` takes `Exception`, or `record_on_status`
        covers business answers (400, 401, 403, 404, 405, 409, 410, 413, 422, their gRPC
        names, SQLSTATE classes 22, 23, 28 and 42), and `ignore_on` does not take them
        out; or nothing in `record_on` takes timeouts.

    Why:
        A bad request says nothing about the callee's health; one client with bad input
        then opens the circuit for all. A breaker that does not count timeouts never
        opens when the callee hangs, which is when it is needed.

    Bad:
        version: 1
        service: order_api
        owner: order-team
        operations:
          get_order:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker: {record_on: [Exception]}

    Good:
        version: 1
        service: order_api
        owner: order-team
        operations:
          get_order:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker:
              record_on: [not_sent, connection_lost, timeout]
              record_on_status: ["500-599"]

    Fix:
        Record `not_sent`, `connection_lost`, `timeout` and 5xx, which is the default.

    False positives:
        429 may count where it speaks of the callee's own load; it is not reported.

    References:
        Azure Architecture Center, Circuit Breaker pattern
        dapr issue 5862: result predicates decide, not exceptions alone
    """

    code: ClassVar[str] = "CB010"
    name: ClassVar[str] = "breaker-counts-wrong-failures"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        breaker = policy.circuit_breaker
        if breaker is None or breaker.mode == "disabled":
            return
        if policy.transport not in _REMOTE:
            return
        everything = [
            n for n in breaker.record_on if outcomes.plain(n) in outcomes.ANYTHING
        ]
        if everything:
            yield self.finding(
                site.place,
                "circuit_breaker.record_on",
                f"record_on takes {show.words(everything)}: bad input and bugs of one "
                f"caller open the circuit of {policy.id} for all",
                help="set record_on: [not_sent, connection_lost, timeout]",
                fix=mend.set_value(
                    site.place,
                    "circuit_breaker.record_on",
                    "[not_sent, connection_lost, timeout]",
                    safe=False,
                ),
            )
        statuses = outcomes.covered(
            outcomes.PERMANENT_STATUSES,
            breaker.record_on_status,
            breaker.ignore_on_status,
        )
        if statuses:
            yield self.finding(
                site.place,
                "circuit_breaker.record_on_status",
                f"record_on_status takes {show.words(statuses)}, which "
                f"{'says' if len(statuses) == 1 else 'say'} nothing about the health of {policy.service}",
                help=_without(statuses, breaker.record_on_status),
                fix=(
                    mend.take_out(
                        site.place,
                        "circuit_breaker.record_on_status",
                        statuses,
                        breaker.record_on_status,
                        safe=False,
                    )
                    if set(statuses) <= set(breaker.record_on_status)
                    else None
                ),
            )
        if not everything and not _counts_timeouts(breaker):
            yield self.finding(
                site.place,
                "circuit_breaker.record_on",
                f"timeouts are not recorded: a hanging {policy.service} never opens the "
                "circuit",
                help="add timeout to record_on",
                fix=mend.put_in(
                    site.place,
                    "circuit_breaker.record_on",
                    ["timeout"],
                    breaker.record_on,
                    safe=False,
                ),
            )


def _without(statuses: tuple[str, ...], listed: tuple[str, ...]) -> str:
    """How to leave statuses out: of a list by name, of a range by an exception."""
    if set(statuses) <= set(listed):
        return f"take {show.words(statuses)} out of record_on_status"
    return (
        f"add ignore_on_status: [{', '.join(statuses)}], or list ranges such as "
        '"500-599" alone in record_on_status'
    )


def _counts_timeouts(breaker: CircuitBreaker) -> bool:
    if any(outcomes.matches_timeout(name) for name in breaker.ignore_on):
        return False
    if breaker.slow_call is not None:
        return True
    return any(outcomes.matches_timeout(name) for name in breaker.record_on)
