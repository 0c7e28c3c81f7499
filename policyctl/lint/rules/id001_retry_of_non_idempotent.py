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
        also = (("idempotent", "stated here"),) if stated else ()
        severity = Severity.WARNING if mild else None
        entries = _entries(policy)
        if entries:
            yield self.finding(
                site.place,
                _place(policy, entries),
                f"{policy.id} is {nature}, and is tried {_tries(policy)} after "
                f"{show.words(entries)}, when the first may have succeeded",
                severity=severity,
                help=_help(policy, entries),
                fix=_fix(site, entries),
                also=also,
            )
        if policy.hedge is not None:
            copies = policy.hedge.max_hedges + 1
            yield self.finding(
                site.place,
                "hedge",
                f"{policy.id} is {nature}, and is sent up to {copies} times at once by "
                "its hedge",
                severity=severity,
                help="remove the hedge, or state idempotent: true",
                also=also,
            )


_REPEATABLE = re.compile(
    r"(get|list|find|search|read|fetch|load|lookup|look_up|query|count|check|show|view|"
    r"describe|head|exists|is|has|ping|status|put|delete|replace|set)(_|$)"
)


def _forwards_key(policy: Operation) -> bool:
    return policy.idempotency is not None and policy.idempotency.forward is not None


def _entries(policy: Operation) -> list[str]:
    """What is retried although the callee may have done the work."""
    retry = policy.retry
    if retry is None or retry.max_attempts == 1:
        return []
    return outcomes.repeats_possible_successes(retry, policy.transport)


def _place(policy: Operation, entries: list[str]) -> str:
    """The list or the predicate that is the first to blame."""
    retry = policy.retry
    if retry is not None and set(entries) & set(retry.retry_on):
        return "retry.retry_on"
    predicate = entries[0].startswith("retry_if")
    return f"retry.{entries[0] if predicate else 'retry_on_status'}"


def _tries(policy: Operation) -> str:
    limit = None if policy.retry is None else policy.retry.max_attempts
    return "without limit" if limit is None else f"up to {limit} times"


def _values(policy: Operation, entries: list[str]) -> list[tuple[str, str]]:
    """The lists and predicates without ``entries``, by key."""
    retry = policy.retry
    if retry is None:
        return []
    values: list[tuple[str, str]] = []
    left = {*retry.retry_on, *retry.retry_on_status} - set(entries)
    if set(entries) & set(retry.retry_on) or not left:
        values.append(("retry_on", "[not_sent]"))
    if set(entries) & set(retry.retry_on_status):
        kept = [s if s.isdecimal() else f'"{s}"' for s in retry.retry_on_status]
        kept = [text for text in kept if text.strip('"') not in entries]
        values.append(("retry_on_status", f"[{', '.join(kept)}]" if kept else "off"))
    values += [(entry, "off") for entry in entries if entry.startswith("retry_if")]
    return values


def _fix(site: Site, entries: list[str]) -> Fix | None:
    """Retry only what the callee never saw, refused or undid."""
    values = [(f"retry.{key}", text) for key, text in _values(site.policy, entries)]
    message = f"retry only what was not done in {site.place.title}"
    return mend.set_values(site.place, values, safe=False, message=message)


def _help(policy: Operation, entries: list[str]) -> str:
    words = [f"{key}: {text}" for key, text in _values(policy, entries)]
    if policy.idempotency is not None:
        return (
            f"add idempotency.forward: {{header: Idempotency-Key}}, or {show.words(words)}: "
            "a key that the callee does not see stops duplicate calls, not attempts"
        )
    return (
        f"set {show.words(words)}, or add an idempotency key with forward, or state "
        "idempotent: true"
    )
