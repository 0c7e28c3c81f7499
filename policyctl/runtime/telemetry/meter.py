"""Counters of guarded calls: plain integers of ours, read when somebody asks.

An increment of a metrics library costs as much as a whole guarded call. Here a call
that works at once costs two statements in its compiled wrapper, ``fast[i] += 1`` and
``seconds += s``, each of which the interpreter cannot interrupt (see ``gate``); where the GIL
is absent, and for everything unusual, a lock guards the counts.
"""

from __future__ import annotations

from _bisect import bisect_left
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.attempt import Attempt
    from policyctl.runtime.errors import PolicyError
    from policyctl.runtime.policy import Policy

BOUNDS: tuple[float, ...] = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Upper bounds of the histogram's buckets in seconds; what is above has one of its own."""

BUCKETS: tuple[str, ...] = (*map(str, BOUNDS), "+Inf")
"""The same as Prometheus writes them, in the label ``le``."""

SUCCESS = "success"
FAILURE = "failure"
REJECTED = "rejected"
FALLBACK = "fallback"
CANCELLED = "cancelled"
OUTCOMES = (SUCCESS, FAILURE, REJECTED, FALLBACK, CANCELLED)
"""How a whole call ended."""

CIRCUIT_OPEN = "circuit_open"
REJECTIONS = {
    "CircuitOpenError": CIRCUIT_OPEN,
    "RateLimitedError": "rate_limited",
    "BulkheadFullError": "bulkhead_full",
    "NoThreadError": "no_thread",
    "BudgetExhaustedError": "budget_exhausted",
    "IdempotencyConflictError": "idempotency_conflict",
}
"""Our own refusals of attempts by class, with the names that ``fallback_on`` has for them."""
OTHER = "other"

RETRY_REASONS = ("not_sent", "connection_lost", "timeout", "status", "result", "error")
"""What an attempt was repeated for."""


class Reading:
    """The counts of one operation at one instant.

    Attributes:
        calls: ended calls by outcome.
        buckets: calls that were not rejected by duration, one more than ``BOUNDS``.
        seconds: their durations together.
        attempts: attempts that these calls made.
        retries: decisions to make another attempt by what it follows.
        rejected: attempts refused by reason.
        budget_exhausted: calls whose budget ran out.
    """

    __slots__ = (
        "attempts",
        "buckets",
        "budget_exhausted",
        "calls",
        "rejected",
        "retries",
        "seconds",
    )

    def __init__(self) -> None:
        self.calls: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.attempts = 0
        self.retries: dict[str, int] = {}
        self.rejected: dict[str, int] = {}
        self.budget_exhausted = 0

    def numbers(self) -> dict[str, object]:
        """What people ask for first, ready for JSON."""
        return {
            "calls": self.calls,
            "attempts": self.attempts,
            "retries": self.retries,
            "rejected": self.rejected,
            "budget_exhausted": self.budget_exhausted,
        }


class Meter:
    """Counts the calls of one operation.

    Attributes:
        fast: calls that worked at once, by bucket; the list never changes its identity,
            wrappers hold it.
        seconds: their durations together.
    """

    __slots__ = ("_lock", "_slow", "fast", "seconds")

    def __init__(self) -> None:
        self.fast = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self._slow: Reading | None = None
        self._lock = RLock()

    def _unusual(self) -> Reading:
        """The counts of everything but quick successes, made when there is any."""
        found = self._slow
        if found is None:
            found = self._slow = Reading()
        return found

    def success(self, seconds: float) -> None:
        """Count a call that worked at once, where there is no GIL to rely on."""
        with self._lock:
            self.fast[bisect_left(BOUNDS, seconds)] += 1
            self.seconds += seconds

    def end(
        self, outcome: str, attempts: int, seconds: float, exhausted: bool = False
    ) -> None:
        """Count any other call at its end."""
        with self._lock:
            slow = self._unusual()
            slow.calls[outcome] += 1
            slow.attempts += attempts
            slow.budget_exhausted += exhausted
            if outcome != REJECTED:
                slow.buckets[bisect_left(BOUNDS, seconds)] += 1
                slow.seconds += seconds

    def refuse(self) -> None:
        """Count a call that an open circuit breaker refused at once."""
        with self._lock:
            slow = self._unusual()
            slow.calls[REJECTED] += 1
            slow.rejected[CIRCUIT_OPEN] = slow.rejected.get(CIRCUIT_OPEN, 0) + 1

    def reject(self, error: PolicyError) -> None:
        """Count an attempt that the policy refused."""
        reason = REJECTIONS.get(type(error).__name__, OTHER)
        with self._lock:
            counts = self._unusual().rejected
            counts[reason] = counts.get(reason, 0) + 1

    def retry(self, reason: str) -> None:
        """Count a decision to try again."""
        with self._lock:
            counts = self._unusual().retries
            counts[reason] = counts.get(reason, 0) + 1

    def read(self) -> Reading:
        """All counts; none is ever lower than in an earlier reading."""
        found = Reading()
        with self._lock:
            slow, fast = self._unusual(), self.fast[:]
            found.seconds = self.seconds + slow.seconds
            found.calls.update(slow.calls)
            found.buckets = [a + b for a, b in zip(fast, slow.buckets, strict=True)]
            found.retries.update(slow.retries)
            found.rejected.update(slow.rejected)
            found.budget_exhausted = slow.budget_exhausted
            at_once = sum(fast)
            found.calls[SUCCESS] += at_once
            found.attempts = slow.attempts + at_once
        return found

    def after_fork(self) -> None:
        """In a child process: count what this process does, from zero."""
        self._lock = RLock()
        self.fast[:] = [0] * len(self.fast)
        self.seconds = 0.0
        self._slow = None


def retry_reason(policy: Policy, attempt: Attempt) -> str:
    """What another attempt follows for, one of ``RETRY_REASONS``."""
    from policyctl.runtime.conditions import CONDITIONS, conditions_of
    from policyctl.runtime.errors import AttemptTimeoutError
    from policyctl.runtime.status import status_of

    error = attempt.error
    if error is None:
        return "result" if status_of(attempt.result) is None else "status"
    if isinstance(error, AttemptTimeoutError):
        return "timeout"
    found = conditions_of(error, policy.transport)
    for condition in CONDITIONS:
        if condition in found:
            return condition
    return "error" if status_of(error) is None else "status"
