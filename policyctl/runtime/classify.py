"""What an outcome means: one classification for breaker, retry and fallback (C2, C15).

An outcome is a success, a failure or neutral for the circuit breaker, and retryable or
not, which is another question: a ``ValueError`` is a success of the callee that no
retry mends.
"""

from __future__ import annotations

from policyctl.runtime.conditions import condition_table
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    PolicyConfigError,
    PolicyError,
)
from policyctl.runtime.matching import error_matcher
from policyctl.runtime.predicate import holds, predicate
from policyctl.runtime.status import status_matcher, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime.settings import CircuitBreaker, Retry

SUCCESS = 0
FAILURE = 1
NEUTRAL = 2
OUTCOME = 3
"""Mask: ``flags & OUTCOME`` is SUCCESS, FAILURE or NEUTRAL."""
RETRY = 4
"""Flag: another attempt may follow."""


_MOST_KNOWN = 512
_NOTHING_KNOWN: dict[type[BaseException], int] = {}


class Classifier:
    """Answers for one operation, from its ``retry`` and ``circuit_breaker`` settings.

    Without a breaker every exception is a failure, so that statistics have a meaning.
    Ignoring wins over recording, ``never_retry_on`` over ``retry_on``.

    Attributes:
        checks_results: False when every returned value is a plain success, so that
            nobody needs to ask ``of_result``.
        has_result_rules: whether a predicate judges results, so that plain values such
            as dictionaries, which carry no status, have to be asked about too.

    Raises:
        PolicyConfigError: an exception named in the settings does not exist.
    """

    __slots__ = (
        "_conditions",
        "_ignore",
        "_ignore_status",
        "_known",
        "_never",
        "_never_status",
        "_operation",
        "_record",
        "_record_result",
        "_record_status",
        "_retry",
        "_retry_error",
        "_retry_result",
        "_retry_status",
        "_service",
        "_statuses",
        "checks_results",
        "has_result_rules",
    )

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        *,
        transport: str | None = None,
        retry: Retry | None = None,
        circuit_breaker: CircuitBreaker | None = None,
    ) -> None:
        self._service = service
        self._operation = operation
        self._known = _NOTHING_KNOWN
        self._conditions = condition_table(transport)
        self._set_breaker(circuit_breaker)
        self._set_retry(retry)
        self._statuses = any(
            (
                self._ignore_status,
                self._record_status,
                self._never_status,
                self._retry_status,
            )
        )
        predicates = (self._record_result, self._retry_result)
        self.has_result_rules = predicates != (None, None)
        self.checks_results = self._statuses or self.has_result_rules

    def _set_breaker(self, settings: CircuitBreaker | None) -> None:
        block = "circuit_breaker"
        if settings is None:
            self._record = error_matcher(("Exception",))
            self._ignore = error_matcher()
            self._record_status = self._ignore_status = status_matcher()
            self._record_result = None
            return
        self._record = error_matcher(settings.record_on, f"{block}.record_on")
        self._ignore = error_matcher(settings.ignore_on, f"{block}.ignore_on")
        self._record_status = status_matcher(settings.record_on_status)
        self._ignore_status = status_matcher(settings.ignore_on_status)
        self._record_result = predicate(
            settings.record_if_result, f"{block}.record_if_result"
        )

    def _set_retry(self, settings: Retry | None) -> None:
        if settings is None:
            self._retry = self._never = error_matcher()
            self._retry_status = self._never_status = status_matcher()
            self._retry_error = self._retry_result = None
            return
        self._retry = error_matcher(settings.retry_on, "retry.retry_on")
        self._never = error_matcher(settings.never_retry_on, "retry.never_retry_on")
        self._retry_status = status_matcher(settings.retry_on_status)
        self._never_status = status_matcher(settings.never_retry_on_status)
        self._retry_error = predicate(settings.retry_if, "retry.retry_if")
        self._retry_result = predicate(
            settings.retry_if_result, "retry.retry_if_result"
        )

    def of_error(self, error: BaseException) -> int:
        """Classify what an attempt raised: an outcome, with RETRY added if it may."""
        kind = type(error)
        known = self._known.get(kind)
        if known is not None:
            return known
        if not isinstance(error, Exception):
            return NEUTRAL
        if isinstance(error, PolicyError):
            return self._of_policy_error(error)
        leaves = members(error)
        if leaves:
            return self._of_group(error, leaves)
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            return SUCCESS
        flags = self._of_plain_error(error)
        if self._knows_by_class(kind):
            if len(self._known) >= _MOST_KNOWN or self._known is _NOTHING_KNOWN:
                self._known = {}
            self._known[kind] = flags
        return flags

    def _knows_by_class(self, kind: type[BaseException]) -> bool:
        """Whether all errors of a class are classified alike, today and later."""
        matchers = self._ignore, self._record, self._never, self._retry
        return not (
            self._statuses
            or self._retry_error is not None
            or any(matcher.waits for matcher in matchers)
        ) and self._conditions.knows_by_class(kind)

    def _of_plain_error(self, error: Exception) -> int:
        conditions = self._conditions.of(error)
        status = status_of(error) if self._statuses else None
        if self._ignore.matches(error, conditions) or status in self._ignore_status:
            flags = NEUTRAL
        elif self._record.matches(error, conditions) or status in self._record_status:
            flags = FAILURE
        else:
            flags = SUCCESS
        if self._may_retry(error, conditions, status):
            flags |= RETRY
        return flags

    def of_result(self, result: object) -> int:
        """Classify what an attempt returned; ask only if ``checks_results``."""
        flags, may_retry = SUCCESS, True
        status = status_of(result) if self._statuses else None
        if status is not None:
            if status in self._ignore_status:
                flags = NEUTRAL
            elif status in self._record_status:
                flags = FAILURE
            may_retry = status not in self._never_status
            if may_retry and status in self._retry_status:
                flags |= RETRY
        if not flags & OUTCOME and holds(self._record_result, result):
            flags |= FAILURE
        if may_retry and holds(self._retry_result, result):
            flags |= RETRY
        return flags

    def never_retries(self, error: BaseException) -> bool:
        """Whether ``never_retry_on`` or ``never_retry_on_status`` names ``error``."""
        conditions = self._conditions.of(error)
        if self._never.matches(error, conditions):
            return True
        return bool(self._never_status) and status_of(error) in self._never_status

    def _may_retry(
        self, error: Exception, conditions: frozenset[str], status: int | str | None
    ) -> bool:
        if self._never.matches(error, conditions) or status in self._never_status:
            return False
        return (
            self._retry.matches(error, conditions)
            or status in self._retry_status
            or holds(self._retry_error, error)
        )

    def _of_policy_error(self, error: PolicyError) -> int:
        conditions = self._conditions.of(error)
        if isinstance(error, PolicyConfigError):
            return FAILURE if self._record.matches(error) else SUCCESS
        same = error.operation == self._operation and error.service == self._service
        own = same and bool(self._service or self._operation)
        timeout = same and isinstance(error, AttemptTimeoutError)
        if (own and not timeout) or self._ignore.matches(error, conditions):
            flags = NEUTRAL
        else:
            flags = FAILURE
        if timeout:
            may = self._may_retry(error, conditions, None)
        else:
            may = self._retry.names_policy_error(error) and not self._never.matches(
                error, conditions
            )
        return flags | RETRY if may and not (own and not timeout) else flags

    def _of_group(self, group: Exception, leaves: list[Exception]) -> int:
        answers = [self.of_error(leaf) for leaf in leaves]
        outcomes = {flags & OUTCOME for flags in answers}
        if self._ignore.matches(group) or outcomes == {NEUTRAL}:
            outcome = NEUTRAL
        else:
            outcome = FAILURE if FAILURE in outcomes else SUCCESS
        may = all(flags & RETRY for flags in answers) and not self._never.matches(group)
        return outcome | RETRY if may else outcome


def members(error: BaseException) -> list[Exception]:
    """The leaves of an exception group, however deep; empty for anything else."""
    if not isinstance(error, ExceptionGroup):
        return []
    leaves: list[Exception] = []
    waiting: list[Any] = [error]
    while waiting:
        found = waiting.pop()
        if issubclass(type(found), ExceptionGroup):
            waiting.extend(found.exceptions)
        else:
            leaves.append(found)
    return leaves
