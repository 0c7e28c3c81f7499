"""One attempt: what it must pass on the way in, and what its end means.

This is the slow side, taken whenever a compiled wrapper finds anything unusual. Own
rejections are values here, not exceptions: an attempt that was refused has a
``rejection``, one that ran and failed has an ``error``.
"""

from __future__ import annotations

from itertools import count
from math import inf

from policyctl.runtime.breaker import FORCED_OPEN, REFUSED, UNCOUNTED
from policyctl.runtime.budget import DEADLINE, NO_DEADLINE
from policyctl.runtime.bulkhead import GRANTED, QUEUE_FULL, STALE, TURNED_AWAY
from policyctl.runtime.classify import FAILURE, NEUTRAL, OUTCOME, RETRY, SUCCESS
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyError,
    RateLimitedError,
)
from policyctl.runtime.events import EVENTS
from policyctl.runtime.gate import HAS_GIL, UNUSUAL
from policyctl.runtime.signatures import is_awaitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.threads import Job, Workers

_next_permit = count(1).__next__


class Attempt:
    """State of one attempt of a guarded call.

    Attributes:
        breaker: the circuit breaker that it passes, None without one.
        waiters: the bulkhead that it passes, None without one.
        episode: the breaker's episode that it was admitted in, ``REFUSED`` before.
        permit: its own number, for a permit in half-open.
        started: when the call itself began.
        deadline: when it must have ended; infinity without a limit.
        limit: seconds from start to deadline.
        cut: whether the budget made the limit shorter than attempt_timeout.
        holds_slot: whether ending it gives a slot back.
        holds_token: whether it has a token of the rate limit.
        is_awaitable: whether a plain function returned an awaitable.
        kind: what its end was: success, failure or neutral.
        rejection: our own error if it was refused, else None.
        error: what the call raised, or what its time limit makes of it.
        result: what the call returned.
        may_retry: whether error or result may be tried again for.
    """

    __slots__ = (
        "breaker",
        "cut",
        "deadline",
        "episode",
        "error",
        "holds_slot",
        "holds_token",
        "is_awaitable",
        "kind",
        "limit",
        "may_retry",
        "permit",
        "policy",
        "rejection",
        "result",
        "started",
        "waiters",
    )

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.breaker = policy.breaker
        self.waiters = policy.waiters
        self.episode = REFUSED
        self.permit = 0
        self.started = 0.0
        self.deadline = self.limit = inf
        self.cut = self.holds_slot = self.holds_token = False
        self.is_awaitable = self.may_retry = False
        self.kind = NEUTRAL
        self.rejection: PolicyError | None = None
        self.error: Exception | None = None
        self.result: Any = None

    def renew(self) -> None:
        """Be the next attempt of the same call."""
        self.episode = REFUSED
        self.permit = 0
        self.deadline = self.limit = inf
        self.cut = self.holds_token = self.is_awaitable = self.may_retry = False
        self.error = self.result = None

    # -- the way in --------------------------------------------------------------

    def enter_at_once(self, now: float) -> bool | None:
        """The whole way in; None if on it something has to be asked or waited for.

        Then the runner goes on from here: an attempt whose ``episode`` is not
        ``REFUSED`` has passed the breaker already.
        """
        policy, breaker = self.policy, self.breaker
        if policy.bucket is not None or (breaker is not None and breaker.shared):
            return None
        deadline = DEADLINE.get()
        if deadline != NO_DEADLINE and not 0.0 < deadline - now >= policy.minimum:
            return None
        try:
            if breaker is not None:
                self.episode = breaker.admit_closed()
                if self.episode == REFUSED and not self.pass_breaker(now):
                    return False
            if not self.take_slot():
                return None
        except BaseException:
            self.turn_back()
            raise
        if deadline == NO_DEADLINE and policy.attempt_limit is None:
            self.started = now
            return True
        return self.set_limit(now)

    def admit(self, now: float) -> bool:
        """Pass budget and breaker; False with ``rejection`` set if refused."""
        policy = self.policy
        deadline = DEADLINE.get()
        if deadline != NO_DEADLINE:
            remaining = deadline - now
            if remaining <= 0 or remaining < policy.minimum:
                return self.reject(
                    BudgetExhaustedError(
                        policy.service, policy.operation, remaining, policy.minimum
                    )
                )
        return self.pass_breaker(now)

    def asks(self, now: float) -> bool:
        """Whether a shared breaker has to be asked first, for this ``permit``."""
        breaker = self.breaker
        if breaker is None or not breaker.shared or not breaker.wants_to_ask(now):
            return False
        self.permit = _next_permit()
        return True

    def pass_breaker(self, now: float) -> bool:
        """Ask the breaker; False with ``rejection`` set if it refuses."""
        breaker = self.breaker
        if breaker is None:
            return True
        if not self.permit:
            self.permit = _next_permit()
        self.episode = breaker.admit(now, self.permit)
        if self.episode == REFUSED:
            return self.reject(self._circuit_open(now))
        return True

    def token_wait(self, now: float) -> float:
        """How long this attempt may wait for a token of the rate limit."""
        bucket = self.policy.bucket
        longest = 0.0 if bucket is None else bucket.settings.max_wait
        return min(longest, DEADLINE.get() - now)

    def take_token(self, now: float, found: tuple[bool, float] | None = None) -> float:
        """Pass the rate limit; seconds to wait for the token, negative if refused.

        ``found`` is the bucket's answer where it has been asked already.
        """
        bucket = self.policy.bucket
        if bucket is None:
            return 0.0
        taken, wait = found or bucket.take(self.token_wait(now))
        if taken:
            self.holds_token = bucket.settings.mode == "enforce"
            return wait
        policy = self.policy
        self.reject(
            RateLimitedError(
                policy.service, policy.operation, wait, bucket.settings.rate
            )
        )
        return -1.0

    def got_token(self) -> bool:
        """The token is there; whether the breaker still lets this attempt through."""
        return self._still_admitted(CLOCK.now())

    def return_token(self) -> None:
        """Give back a token for which the callee saw no attempt."""
        if self.holds_token and self.policy.bucket is not None:
            self.holds_token = False
            self.policy.bucket.give_back()

    def turn_back(self) -> None:
        """The way in was broken off; whatever was taken on it is returned."""
        self.return_token()
        self.give_up()

    def take_slot(self) -> bool:
        """Take a free slot; False if there is none to be had at once."""
        waiters = self.waiters
        if not HAS_GIL or (waiters is not None and waiters.settings.mode != "enforce"):
            if waiters is None:
                self.policy.gate.one_in()
            elif not waiters.try_enter():
                return False
            self.holds_slot = True
            return True
        # One statement each, so that Ctrl-C finds both done or none.
        if waiters is None:
            c = self.policy.gate.cell
            c.cell_contents, self.holds_slot = c.cell_contents + 1, True
            return True
        c, q, most = waiters.gate.cell, waiters.queue, waiters.max_concurrent
        # fmt: off
        c.cell_contents, self.holds_slot = (k := (n := c.cell_contents) % UNUSUAL < most and not q) + n, k
        # fmt: on
        return k

    def wait_limit(self, now: float) -> float:
        """Until when to wait for a slot; ``now`` where waiting is not wanted."""
        waiters = self.waiters
        assert waiters is not None
        return min(now + waiters.settings.max_wait, DEADLINE.get())

    def full_at_once(self) -> None:
        """No slot was free and ``max_wait`` is zero."""
        waiters = self.waiters
        assert waiters is not None
        with waiters.gate.lock:
            waiters.rejected += 1
        self._bulkhead_full(0.0)

    def waited(self, state: int, since: float) -> bool:
        """What the end of a wait means: True to go on, False if refused."""
        now = CLOCK.now()
        if state == GRANTED:
            self.holds_slot = True
            return self._still_admitted(now)
        if state == STALE:
            return self._still_admitted(now)
        if state == TURNED_AWAY:
            return self.reject(self._circuit_open(now))
        if state == QUEUE_FULL:
            self._bulkhead_full(None)
        elif (deadline := DEADLINE.get()) <= now:
            policy = self.policy
            remaining = deadline - now
            self.reject(
                BudgetExhaustedError(
                    policy.service, policy.operation, remaining, policy.minimum
                )
            )
        else:
            self._bulkhead_full(now - since)
        return False

    def _still_admitted(self, now: float) -> bool:
        """Ask the breaker again if it moved while this attempt waited."""
        breaker = self.breaker
        if breaker is None or self.episode in (breaker.episode, UNCOUNTED):
            return True
        breaker.neutral(self.episode, self.permit)
        return self.pass_breaker(now)

    def _bulkhead_full(self, waited: float | None) -> None:
        policy, waiters = self.policy, self.waiters
        assert waiters is not None
        self.reject(
            BulkheadFullError(
                policy.service,
                policy.operation,
                waiters.max_concurrent,
                waiters.settings.max_queue,
                waited,
            )
        )

    def reject(self, error: PolicyError) -> bool:
        """Keep our own rejection and give back what was taken; always False."""
        self.rejection = error
        self.return_token()
        self.settle(NEUTRAL, CLOCK.now())
        if self.policy.meter is not None:
            self.policy.meter.reject(error)
        if EVENTS.listeners:
            policy = self.policy
            EVENTS.emit("rejected", policy.service, policy.operation, error=error)
        return False

    @property
    def has_waited(self) -> bool:
        """Whether time may have passed since this attempt was admitted."""
        return self.waiters is not None or self.policy.bucket is not None

    def set_limit(self, now: float) -> bool:
        """Fix the attempt's limit (C22); False if the budget ran out on the way in."""
        policy = self.policy
        deadline = DEADLINE.get()
        self.started = now
        total = policy.attempt_limit
        if deadline == NO_DEADLINE and total is None:
            return True
        remaining = deadline - now
        if remaining <= 0 or remaining < policy.minimum:
            return self.reject(
                BudgetExhaustedError(
                    policy.service, policy.operation, remaining, policy.minimum
                )
            )
        self.cut = total is None or remaining < total
        self.limit = remaining if self.cut or total is None else total
        self.deadline = now + self.limit
        return True

    # -- the way out -------------------------------------------------------------

    def give_up(self) -> None:
        """The attempt ends by an exception that is none of its own outcomes."""
        self.settle(NEUTRAL, CLOCK.now())

    def returned(self, result: Any, overran: bool) -> None:
        """A plain function returned; an awaitable is no outcome yet (RT-01)."""
        if is_awaitable(result):
            self.result = result
            self.is_awaitable = True
            self.turn_back()
        else:
            self.succeeded(result, overran)

    def leave_behind(self, job: Job, workers: Workers) -> bool:
        """Stop waiting for a thread; True if the call has ended in this instant."""
        running = job.abandon()
        if running is None:
            return True
        if not running:
            workers.drop(job)
            return False
        # The thread gives the slot back when it is done with the call (C21).
        self.holds_slot = False
        workers.count_abandoned(1)
        if EVENTS.listeners:
            policy = self.policy
            EVENTS.emit("abandoned", policy.service, policy.operation)
        return False

    def succeeded(self, result: Any, overran: bool) -> None:
        """The call returned; ``overran`` if only after its limit."""
        now = CLOCK.now()
        self.result = result
        policy = self.policy
        kind = SUCCESS
        if policy.classifier.checks_results:
            try:
                flags = policy.classifier.of_result(result)
            except BaseException:  # Ctrl-C in a predicate
                self.give_up()
                raise
            kind, self.may_retry = flags & OUTCOME, bool(flags & RETRY)
        if overran and kind == SUCCESS:
            kind = self._overrun_kind(now)
        self.settle(kind, now)

    def failed(self, caught: BaseException, timed_out: bool) -> bool:
        """The call raised; False if ``caught`` is to pass through untouched."""
        now = CLOCK.now()
        if timed_out:
            error: Exception = self.timeout_error(now)
            error.__cause__ = caught
        elif isinstance(caught, Exception):
            error = caught
        else:
            self.settle(NEUTRAL, now)
            return False
        self.error = error
        try:
            flags = self.policy.classifier.of_error(error)
        except BaseException:  # Ctrl-C in a predicate
            self.give_up()
            raise
        kind = flags & OUTCOME
        if flags & RETRY:
            self.may_retry = True
        if timed_out and self.cut:
            kind = self._overrun_kind(now)
        self.settle(kind, now)
        if EVENTS.listeners:
            policy = self.policy
            EVENTS.emit(
                "attempt_failed",
                policy.service,
                policy.operation,
                error=self.error,
                recorded=kind == FAILURE,
                duration=now - self.started,
            )
        return True

    def timeout_error(self, now: float) -> PolicyError:
        """The error for an attempt that its limit ended."""
        policy = self.policy
        if not self.cut:
            return AttemptTimeoutError(policy.service, policy.operation, self.limit)
        return BudgetExhaustedError(
            policy.service,
            policy.operation,
            DEADLINE.get() - now,
            policy.minimum,
            after=now - self.started,
        )

    def _overrun_kind(self, now: float) -> int:
        """A cut by the budget blames the callee only after half its own limit (C22)."""
        total = self.policy.attempt_limit
        if not self.cut:
            return FAILURE
        if total is None or now - self.started < total / 2:
            return NEUTRAL
        return FAILURE

    def settle(self, kind: int, now: float) -> None:
        """Tell the breaker, then give the slot back."""
        breaker = self.breaker
        self.kind = kind
        if kind == SUCCESS:
            strategies = self.policy.strategies
            if strategies is not None and strategies.budget is not None:
                strategies.budget.success()
        try:
            if breaker is not None:
                if kind == FAILURE:
                    breaker.failure(self.episode, self.permit, now, now - self.started)
                elif kind == SUCCESS:
                    breaker.success(self.episode, self.permit, now, now - self.started)
                else:
                    breaker.neutral(self.episode, self.permit)
        finally:  # Ctrl-C in a listener
            if self.holds_slot:
                self._leave_slot()

    def _leave_slot(self) -> None:
        waiters = self.waiters
        gate = self.policy.gate if waiters is None else waiters.gate
        if not HAS_GIL or gate.stale:
            self.holds_slot = False
            self.release()
            return
        c = gate.cell
        c.cell_contents, self.holds_slot = c.cell_contents - 1, False
        if waiters is not None and waiters.queue:
            waiters.serve_all()

    def let_go(self) -> None:
        """An exception broke the call off, maybe Ctrl-C between two steps of its own."""
        if self.holds_slot:
            self.turn_back()
        elif self.permit and self.breaker is not None:
            self.breaker.take_back(self.permit)

    def release(self) -> None:
        """Give the slot back."""
        if self.waiters is not None:
            self.waiters.release()
        else:
            self.policy.gate.one_out()

    def _circuit_open(self, now: float) -> CircuitOpenError:
        """The error for an attempt that the breaker refused."""
        policy, breaker = self.policy, self.breaker
        assert breaker is not None
        state = breaker.refusing_as()
        return CircuitOpenError(
            policy.service,
            policy.operation,
            inf if state == FORCED_OPEN else max(0.0, breaker.until - now),
            state,
            breaker.settings.half_open_max_calls,
        )
