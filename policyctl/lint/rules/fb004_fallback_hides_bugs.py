"""FB004: fallbacks that hide bugs."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import outcomes, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class FallbackHidesBugs(Rule):
    """The fallback answers for bugs and bad requests too.

    What:
        A stated `fallback_on` takes `Exception` or a programming error (`TypeError`,
        `AttributeError`, `NameError`, `AssertionError`, `NotImplementedError`,
        `ImportError`).

    Why:
        A fallback for everything turns a bug into a wrong answer that nobody notices:
        the caller gets a value, the error rate stays at zero, and the failure is for ever.

    Bad:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            fallback: {value: null, fallback_on: [Exception]}

    Good:
        version: 1
        service: quotes_api
        owner: quotes-team
        operations:
          get_quote:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            fallback: {value: null, fallback_on: [timeout, connection_lost, circuit_open]}

    Fix:
        Leave `fallback_on` out: recorded failures, rejections and timeouts are the
        default.

    False positives:
        Answers that must never fail, such as a health page: suppress the rule with that
        reason.

    References:
        AWS Builders' Library, Avoiding fallback in distributed systems
    """

    code: ClassVar[str] = "FB004"
    name: ClassVar[str] = "fallback-hides-bugs"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        fallback = site.policy.fallback
        if fallback is None or not site.place.stated("fallback.fallback_on"):
            return
        hidden = [name for name in fallback.fallback_on if _is_bug(name)]
        if not hidden:
            return
        yield self.finding(
            site.place,
            "fallback.fallback_on",
            f"fallback_on takes {show.words(hidden)}: bugs of {site.policy.id} come back "
            "as an answer",
            help="leave fallback_on out, or list conditions such as timeout and "
            "circuit_open",
        )


_BUGS = (
    TypeError,
    AttributeError,
    NameError,
    AssertionError,
    NotImplementedError,
    ImportError,
)


def _is_bug(name: str) -> bool:
    if outcomes.plain(name) in outcomes.ANYTHING:
        return True
    known = outcomes.builtin(name)
    return known is not None and issubclass(known, _BUGS)
