"""ID001: attempts that may do the work twice."""

from __future__ import annotations

import re
from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, outcomes, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation


class RetryOfNonIdempotent(Rule):
    """A retry may do the work a second time.

    What:
        The operation is retried after outcomes that may have succeeded (`timeout`,
        `connection_lost`, a 5xx status, a predicate), or hedged, and it is not
        `idempotent: true` and no idempotency key is forwarded to the callee. Where
        `idempotent` is not stated, operations whose names begin like reads and full
        replacements (get, list, find, put, delete …) are warnings. What the callee refused
        (429, 425, RESOURCE_EXHAUSTED) was not done, and what an SQL server rolled back
        (40001, a serialization failure, and 40P01, a deadlock) was undone.

    Why:
        A timeout says nothing about whether the callee did the work. Cards have been
        charged twice this way. A key that only this process keeps prevents duplicate
        calls, not duplicate attempts: the callee must see it.

    Bad:
        version: 1
        service: payment_api
        owner: payments-team
        operations:
          charge:
            transport: http
            idempotent: false
            attempt_timeout: 2s
            budget: 10s
            retry: {max_attempts: 3, retry_on: [not_sent, timeout]}

    Good:
        version: 1
        service: payment_api
        owner: payments-team
        operations:
          charge:
            transport: http
            idempotent: false
            attempt_timeout: 2s
            budget: 10s
            retry: {max_attempts: 3, retry_on: [not_sent, timeout]}
            idempotency:
              key: [order_id]
              forward: {header: Idempotency-Key}

    Fix:
        Retry `not_sent` alone, which keeps most of the benefit; or forward an
        idempotency key; or state `idempotent: true` if the callee makes it so.

    False positives:
        Operations whose nature is not stated: say `idempotent: true`.

    References:
        RFC 9110, section 9.2.2, Idempotent Methods
        PostgreSQL documentation, Concurrency Control: serialization failure handling
        Stripe API reference, Idempotent requests
    """

    code: ClassVar[str] = "ID001"
    name: ClassVar[str] = "retry-of-non-idempotent"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        if policy.idempotent or _forwards_key(policy):
            return
        stated = policy.idempotent is False
        nature = "not idempotent" if stated else "not stated to be idempotent"
        mild = not stated and bool(_REPEATABLE.match(policy.name))
        for at, cause in _causes(policy):
            yield self.finding(
                site.place,
                at,
                f"{policy.id} is {nature}, and {cause}",
                severity=Severity.WARNING if mild else None,
                help=_help(policy),
                fix=_fix(site, at),
                also=(("idempotent", "stated here"),) if stated else (),
            )


_REPEATABLE = re.compile(
    r"(get|list|find|search|read|fetch|load|lookup|look_up|query|count|check|show|view|"
    r"describe|head|exists|is|has|ping|status|put|delete|replace|set)(_|$)"
)


def _forwards_key(policy: Operation) -> bool:
    return policy.idempotency is not None and policy.idempotency.forward is not None


def _causes(policy: Operation) -> list[tuple[str, str]]:
    """Where and how attempts may repeat work."""
    found: list[tuple[str, str]] = []
    retry = policy.retry
    if retry is not None and retry.max_attempts != 1:
        entries = outcomes.repeats_possible_successes(retry, policy.transport)
        if entries:
            at = "retry_on"
            if not set(entries) & set(retry.retry_on):
                at = (
                    entries[0]
                    if entries[0].startswith("retry_if")
                    else "retry_on_status"
                )
            tries = "without limit"
            if retry.max_attempts is not None:
                tries = f"up to {retry.max_attempts} times"
            text = f"is tried {tries} after {show.words(entries)}"
            found.append((f"retry.{at}", f"{text}, when the first may have succeeded"))
    if policy.hedge is not None:
        copies = policy.hedge.max_hedges + 1
        found.append(("hedge", f"is sent up to {copies} times at once by its hedge"))
    return found


def _fix(site: Site, at: str) -> Fix | None:
    """Retry only what the callee never saw."""
    if at != "retry.retry_on":
        return None
    return mend.set_value(site.place, at, "[not_sent]", safe=False)


def _help(policy: Operation) -> str:
    if policy.idempotency is not None:
        return (
            "add idempotency.forward: {header: Idempotency-Key}, or retry_on: [not_sent] "
            "alone: a key that the callee does not see stops duplicate calls, not attempts"
        )
    return (
        "set retry_on: [not_sent], or add an idempotency key with forward, or state "
        "idempotent: true"
    )
