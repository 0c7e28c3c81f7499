"""RT002: retries of outcomes that a second try cannot change."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, outcomes, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation, Retry


class RetryOfPermanentFailures(Rule):
    """Failures are retried that a second try cannot change.

    What:
        `retry_on` names `Exception` or another class that covers everything, a programming
        error or a denied permission; or `retry_on_status` covers 400,
        401, 403, 404, 405, 409, 410, 413 or 422, the gRPC codes INVALID_ARGUMENT,
        NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED,
        FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED or CANCELLED, or an SQLSTATE
        of class 22, 23, 28 or 42. What `never_retry_on` and `never_retry_on_status`
        exclude does not count, nor does 409 where an idempotency key is forwarded: it
        says that the first request with that key still runs. `ValueError` and `LookupError` are warnings.

    Why:
        The same request gets the same answer, only later, and each retry is load that
        cannot succeed. A class that covers everything also repeats bugs.

    Bad:
        version: 1
        service: stock_api
        owner: stock-team
        operations:
          get_level:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 3s
            retry: {retry_on: [Exception]}

    Good:
        version: 1
        service: stock_api
        owner: stock-team
        operations:
          get_level:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 3s
            retry:
              retry_on: [not_sent, connection_lost, timeout]
              retry_on_status: ["502-504"]

    Fix:
        Name what passes by itself: `not_sent`, `connection_lost`, `timeout`, 429 and
        502 to 504.

    False positives:
        404 while a write has not reached every replica, 409 under optimistic locking:
        suppress the rule with that reason.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
        AWS Well-Architected, REL05-BP03: control and limit retry calls
    """

    code: ClassVar[str] = "RT002"
    name: ClassVar[str] = "retry-of-permanent-failures"
    severity: ClassVar[Severity] = Severity.ERROR

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        if retry is None or retry.max_attempts == 1:
            return
        everything = _everything(retry)
        cause = "a second try cannot change that"
        if everything:
            cause = "every failure is retried, bugs too"
        for key, names, reason in (
            ("retry_on", everything or _permanent(retry), cause),
            (
                "retry_on_status",
                _statuses(site.policy, retry),
                "a second try gets the same answer",
            ),
        ):
            if names:
                yield self.finding(
                    site.place,
                    f"retry.{key}",
                    f"{key} takes {show.words(names)}: {reason}",
                    severity=_severity(names),
                    help=_help(key, names, retry),
                    fix=_fix(site, key, names, retry),
                )


_DOUBTFUL = (ValueError, LookupError)
_PERMANENT = (
    AssertionError,
    AttributeError,
    ImportError,
    NameError,
    NotImplementedError,
    PermissionError,
    SyntaxError,
    TypeError,
    ZeroDivisionError,
    *_DOUBTFUL,
)


def _everything(retry: Retry) -> list[str]:
    return [n for n in retry.retry_on if outcomes.plain(n) in outcomes.ANYTHING]


def _permanent(retry: Retry) -> list[str]:
    found: list[str] = []
    for name in retry.retry_on:
        known = outcomes.builtin(name)
        if outcomes.is_never(name, retry.never_retry_on):
            continue
        if known and issubclass(known, _PERMANENT):
            found.append(outcomes.plain(name))
    return found


def _statuses(policy: Operation, retry: Retry) -> list[str]:
    """Permanent statuses; 409 passes where it says that the same key is in work."""
    found = outcomes.covered(
        outcomes.PERMANENT_STATUSES, retry.retry_on_status, retry.never_retry_on_status
    )
    idempotency = policy.idempotency
    keyed = idempotency is not None and idempotency.forward is not None
    return [status for status in found if not keyed or status not in _IN_WORK]


def _severity(names: list[str]) -> Severity | None:
    classes = [outcomes.builtin(name) for name in names]
    doubtful = all(known and issubclass(known, _DOUBTFUL) for known in classes)
    return Severity.WARNING if doubtful else None


_IN_WORK = ("409",)
"""What servers answer while the first request with an idempotency key still runs."""

_NEVER_RIGHT = frozenset({"400", "401", "403", "404", "413", "422"})
"""Statuses that may be taken out without a thought."""


def _fix(site: Site, key: str, names: list[str], retry: Retry) -> Fix | None:
    """Take out what is listed by itself; ranges are left to people."""
    at = f"retry.{key}"
    if names == _everything(retry):
        text = "[not_sent, connection_lost, timeout]"
        return mend.set_value(site.place, at, text, safe=False)
    present = retry.retry_on if key == "retry_on" else retry.retry_on_status
    if not set(names) <= set(present):
        return None
    safe = set(names) <= _NEVER_RIGHT
    return mend.take_out(site.place, at, names, present, safe=safe)


def _help(key: str, names: list[str], retry: Retry) -> str:
    if names == _everything(retry):
        return (
            "set retry_on: [not_sent, connection_lost, timeout], or list the classes "
            "of your client that pass by themselves"
        )
    if key == "retry_on_status" and not set(names) <= set(retry.retry_on_status):
        return f"add never_retry_on_status: [{', '.join(names)}], or list single codes"
    return f"take {show.words(names)} out of {key}"
