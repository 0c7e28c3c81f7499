"""A whole call that does not succeed at once: when to go on, and how to end.

``Call`` holds what the sync and the async loop share: the decision after each attempt,
the note on the error that comes out, and the budget scope.
"""

from __future__ import annotations

from math import inf

from policyctl.runtime.attempt import Attempt
from policyctl.runtime.budget import DEADLINE, NO_DEADLINE
from policyctl.runtime.classify import FAILURE as FAILED
from policyctl.runtime.classify import SUCCESS
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import BudgetExhaustedError, IdempotencyConflictError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.one_shot import begun
from policyctl.runtime.signatures import pass_limit
from policyctl.runtime.telemetry.meter import (
    CANCELLED,
    FAILURE,
    FALLBACK,
    REJECTED,
    retry_reason,
)
from policyctl.runtime.telemetry.meter import SUCCESS as SUCCEEDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from types import TracebackType
    from typing import Any

    from policyctl.runtime.errors import PolicyError
    from policyctl.runtime.idempotency import Ticket
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.strategies import RetryState
    from policyctl.runtime.telemetry.meter import Meter

_NOTE = "policyctl: "


class Call:
    """State of one guarded call with all its attempts.

    Attributes:
        attempts: how many have begun.
        attempt: the one that was begun last, None before.
        kind: what the last one was: success, failure or neutral.
        why: what ended the call before its attempts were used up.
        over: whether it came to its end, for better or worse.
        answered: whether a fallback gave the answer.
        error: the last real error, or our own rejection if nothing ran.
        rejection: our own rejection that ended the call, if one did.
        result: the last result.
    """

    __slots__ = (
        "_state",
        "_traceback",
        "answered",
        "args",
        "attempt",
        "attempts",
        "error",
        "fn",
        "is_awaitable",
        "kind",
        "kwargs",
        "out_of_budget",
        "over",
        "policy",
        "rejection",
        "result",
        "started",
        "why",
    )

    def __init__(
        self,
        policy: Policy,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        started: float | None,
    ) -> None:
        self.policy = policy
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.started = CLOCK.now() if started is None else started
        self.attempts = 1
        self.attempt: Attempt | None = None
        self.error: Exception | None = None
        self.rejection: PolicyError | None = None
        self.result: Any = None
        self.is_awaitable = False
        self.kind = SUCCESS
        self.why = ""
        self.out_of_budget = self.over = self.answered = False
        self._state: RetryState | None = None
        self._traceback: TracebackType | None = None

    def open_scope(self) -> Token[float] | None:
        """Publish the call's own budget if it is shorter than the caller's (C25)."""
        total = self.policy.budget_total
        if total is None:
            return None
        deadline = self.started + total
        if self.policy.inherits_budget and DEADLINE.get() <= deadline:
            return None
        return DEADLINE.set(deadline)

    def count_first_try(self) -> None:
        """Let the retry budget know of the call; a full one needs no telling."""
        tokens = self.policy.retry_budget
        if tokens is not None:
            tokens.first_try()

    def take_over(self, ticket: Ticket) -> bool:
        """Take an earlier call's outcome, if there is one; else prepare for our own."""
        if ticket.replayed:
            self.result, self.error = ticket.result, ticket.error
            return True
        self.args, self.kwargs = ticket.arguments(self.fn, self.args, self.kwargs)
        return False

    def new_attempt(self) -> Attempt:
        """An attempt with the breaker and bulkhead that this call belongs to."""
        self.attempt = attempt = Attempt(self.policy)
        scopes = self.policy.scopes
        if scopes is not None:
            breakers, bulkheads = scopes
            if breakers is not None:
                attempt.breaker = breakers.of_call(self.fn, self.args, self.kwargs)
            if bulkheads is not None:
                attempt.waiters = bulkheads.of_call(self.fn, self.args, self.kwargs)
        return attempt

    def arguments(self, attempt: Attempt) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What to call with; the attempt's limit is added where the policy says so."""
        name = self.policy.argument
        if name is None or attempt.limit == inf:
            return self.args, self.kwargs
        return pass_limit(self.fn, name, attempt.limit, self.args, self.kwargs)

    @property
    def yields(self) -> bool:
        """Whether a retry without delay still lets other tasks run."""
        return self.policy.retries_for_ever

    def next_delay(self, attempt: Attempt) -> float | None:
        """Seconds to sleep before the next attempt; None when the call is over.

        Then ``result`` or ``error`` says what comes out of it.
        """
        if attempt.rejection is not None:
            self._stop_by(attempt.rejection)
            return None
        previous, self.error = self.error, attempt.error
        self.result = attempt.result
        self.kind = attempt.kind
        self.is_awaitable = attempt.is_awaitable
        if attempt.error is None and not attempt.may_retry:
            return None
        if previous is not None and attempt.error is previous:
            BaseException.with_traceback(previous, self._traceback)
        delay, why = self._decide(attempt)
        attempt.error = None  # frames of its traceback hold the attempt
        if delay is None:
            self._note(why)
            return None
        if self.error is not None:
            self._traceback = self.error.__traceback__
        self.attempts += 1
        return delay

    def _stop_by(self, rejection: PolicyError) -> None:
        self.rejection = rejection
        if self.error is None:
            self.error = rejection
        else:
            self.attempts -= 1
            self._note(str(rejection))

    def _decide(self, attempt: Attempt) -> tuple[float | None, str]:
        policy, error = self.policy, attempt.error
        strategies = policy.strategies
        if strategies is None:
            return None, ""
        if not attempt.may_retry:
            return None, "not an error to retry" if self.attempts > 1 else ""
        if begun(self.args, self.kwargs):
            return None, "an argument can be read only once, and has been"
        state = self._state
        if state is None:
            state = self._state = strategies.begin(
                self.fn, self.args, self.kwargs, self.started
            )
        state.attempt_number = self.attempts
        state.error, state.result = error, attempt.result
        stop, wait, _ = strategies.made()
        if stop(state):
            return None, f"max_attempts is {self.attempts}"
        delay = wait(state)
        # A hint of zero, or an instant that is past, names no time to wait.
        if strategies.hints and (hint := strategies.hint(attempt)):
            delay = hint
            most = strategies.longest_hint
            if hint == inf:
                return None, "the server asks for no retry"
            if hint > most:
                return None, f"the server asks to wait {hint:.3f} s, over {most:g} s"
        deadline = DEADLINE.get()
        if deadline != NO_DEADLINE:
            left = deadline - CLOCK.now() - delay
            if left <= 0 or left < policy.minimum:
                self.out_of_budget = True
                return None, _budget_text(left + delay, delay, policy.minimum)
        if strategies.budget is not None and not strategies.budget.take():
            return None, "the retry budget has no token left"
        state.upcoming_sleep = delay
        state.idle_for += delay
        if policy.meter is not None:
            policy.meter.retry(retry_reason(policy, attempt))
        if EVENTS.listeners:
            EVENTS.emit(
                "retry",
                policy.service,
                policy.operation,
                attempt=self.attempts,
                delay=delay,
                error=error,
            )
        return delay, ""

    def _note(self, why: str) -> None:
        self.why = why
        if not why:
            return
        policy, error = self.policy, self.error
        if EVENTS.listeners:
            EVENTS.emit(
                "stopped",
                policy.service,
                policy.operation,
                attempts=self.attempts,
                duration=CLOCK.now() - self.started,
                reason=why,
                error=error,
            )
        if error is None:
            return
        noun = "attempt" if self.attempts == 1 else "attempts"
        duration = CLOCK.now() - self.started
        set_note(
            error,
            f"{_NOTE}{policy.service}.{policy.operation}: {self.attempts} {noun} "
            f"in {duration:.3f} s; stopped: {why}",
        )

    def end(self) -> None:
        """Count the call, tell of it if it failed, and let go of all that it holds."""
        policy, attempt, self.attempt = self.policy, self.attempt, None
        if not self.over and attempt is not None and policy.hedges is None:
            attempt.let_go()
        if not self.is_awaitable or self.error is not None:
            if policy.meter is not None:
                self._count(policy.meter)
            failed = self.over and not self.answered and self.error is not None
            if failed and EVENTS.listeners and self._outcome() == FAILURE:
                self._report()
        if policy.asleep:
            policy.wake()
        # No frame shall keep errors and arguments alive.
        self.error = self.rejection = self.result = self._state = None
        self._traceback = None
        self.args, self.kwargs = (), {}

    def _outcome(self) -> str:
        if self.answered:
            return FALLBACK
        if not self.over:
            return CANCELLED
        if self.error is None:
            return FAILURE if self.kind == FAILED else SUCCEEDED
        refused = self.error is self.rejection
        if refused or isinstance(self.error, IdempotencyConflictError):
            return REJECTED
        return FAILURE

    def _count(self, meter: Meter) -> None:
        outcome = self._outcome()
        exhausted = self.out_of_budget or isinstance(
            self.rejection or self.error, BudgetExhaustedError
        )
        attempts = 0 if self.error is self.rejection is not None else self.attempts
        meter.end(outcome, attempts, CLOCK.now() - self.started, exhausted)

    def _report(self) -> None:
        error, state = self.error, self._state
        assert error is not None
        waited = 0.0 if state is None else state.idle_for
        report_failure(
            self.policy, error, self.started, self.attempts, waited, self.why
        )


def report_failure(
    policy: Policy,
    error: BaseException,
    started: float,
    attempts: int = 1,
    waited: float = 0.0,
    why: str = "",
) -> None:
    """Emit the event of a call whose error goes to the caller."""
    state = None
    if policy.settings.get("circuit_breaker") is not None:
        state = policy.circuit_breaker.state
    EVENTS.emit(
        "failed",
        policy.service,
        policy.operation,
        error=error,
        attempts=attempts,
        waited=waited,
        duration=CLOCK.now() - started,
        reason=why,
        circuit_breaker=state,
    )


def _budget_text(left: float, delay: float, minimum: float) -> str:
    text = f"{left:.3f} s of the budget left, the next attempt would wait {delay:.3f} s"
    return f"{text} and needs {minimum:.3f} s" if minimum else text


def set_note(error: BaseException, note: str) -> None:
    """Put the note on ``error`` in place of an older one of ours.

    The attribute is set past what a class makes of assignments and look-ups: a frozen
    dataclass would raise an error in place of the real one.
    """
    found: Any
    try:
        found = BaseException.__getattribute__(error, "__notes__")
    except Exception:
        found = ()
    held = issubclass(type(found), (list, tuple))
    notes = tuple(found) if held else (found,)
    kept = [n for n in notes if not (isinstance(n, str) and n.startswith(_NOTE))]
    BaseException.__setattr__(error, "__notes__", [*kept, note])
