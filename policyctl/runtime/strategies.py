"""Stop, wait and retry as tenacity strategies; the loop that asks them is ours.

They take tenacity's ``RetryCallState`` or anything with the same attributes, and can be
combined with tenacity's own by ``|``, ``&`` and ``+``.
"""

from __future__ import annotations

from math import inf
from typing import Any

from tenacity.retry import retry_base
from tenacity.stop import stop_after_attempt, stop_never
from tenacity.wait import wait_base

from policyctl.runtime.classify import RETRY
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.hints import retry_hint
from policyctl.runtime.retry_budget import TokenBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.attempt import Attempt
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.classify import Classifier
    from policyctl.runtime.gate import Gate
    from policyctl.runtime.settings import Backoff, Retry


def exponential(settings: Backoff, retry: int) -> float:
    """Seconds before retry ``retry`` without jitter (C14).

    ``min(max, initial x multiplier^(retry-1))``; no retry number overflows.
    """
    initial, most = settings.initial, settings.max
    if not initial:
        return 0.0
    try:
        delay = initial * settings.multiplier ** (retry - 1)
    except OverflowError:
        delay = inf
    if most is not None and delay > most:
        delay = most
    return delay if delay < 2_592_000.0 else 2_592_000.0


class wait_backoff(wait_base):
    """The delay before the next attempt, with jitter (C14)."""

    def __init__(self, settings: Backoff, random: Chance) -> None:
        self.settings = settings
        self.random = random

    def __call__(self, retry_state: Any) -> float:
        """Seconds to wait after attempt ``retry_state.attempt_number``."""
        settings = self.settings
        jitter = settings.jitter
        if jitter == "decorrelated":
            return self._decorrelated(retry_state.upcoming_sleep)
        delay = exponential(settings, retry_state.attempt_number)
        if jitter == "none" or not delay:
            return delay
        if jitter == "full":
            return self.random.uniform(0.0, delay)
        if jitter == "equal":
            return delay / 2 + self.random.uniform(0.0, delay / 2)
        ratio = float(jitter)
        most = inf if settings.max is None else settings.max
        return min(most, delay * self.random.uniform(1 - ratio, 1 + ratio))

    def _decorrelated(self, previous: float) -> float:
        settings = self.settings
        most = inf if settings.max is None else settings.max
        top = max(settings.initial, previous * 3)
        return min(most, self.random.uniform(settings.initial, top))


class retry_by_rules(retry_base):
    """Whether the outcome calls for another attempt."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def __call__(self, retry_state: Any) -> bool:
        """Whether ``retry_state.outcome`` may be retried."""
        outcome = retry_state.outcome
        if outcome.failed:
            return bool(self.classifier.of_error(outcome.exception()) & RETRY)
        return bool(self.classifier.of_result(outcome.result()) & RETRY)


class RetryState:
    """What strategies may ask about a call; tenacity's ``RetryCallState`` by shape.

    Attributes:
        attempt_number: attempts made so far.
        start_time: when the first began, on the runtime's clock.
        idle_for: seconds slept so far.
        upcoming_sleep: the previous delay, 0.0 before the first.
    """

    next_action: object = None
    outcome_timestamp: float | None = None

    __slots__ = (
        "args",
        "attempt_number",
        "error",
        "fn",
        "idle_for",
        "kwargs",
        "result",
        "start_time",
        "upcoming_sleep",
    )

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        start_time: float,
    ) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.attempt_number = 1
        self.start_time = start_time
        self.idle_for = self.upcoming_sleep = 0.0
        self.error: BaseException | None = None
        self.result: Any = None

    @property
    def seconds_since_start(self) -> float:
        """Seconds since the first attempt began."""
        return CLOCK.now() - self.start_time

    @property
    def outcome(self) -> Any:
        """The last outcome as tenacity's future, made when it is asked for."""
        from tenacity import Future

        future = Future(self.attempt_number)
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.result)
        return future


class Strategies:
    """The strategies of one policy.

    Attributes:
        budget: the tokens that retries take, None where there is no such limit.
        hints: whether the server is asked.
        random: spreads the delays.
        longest_hint: seconds that a server may ask to wait; more ends the call.
    """

    __slots__ = (
        "_classifier",
        "_made",
        "_settings",
        "budget",
        "hints",
        "longest_hint",
        "random",
    )

    def __init__(
        self,
        settings: Retry,
        random: Chance,
        classifier: Classifier,
        gate: Gate,
    ) -> None:
        hints = settings.retry_after
        self.hints = hints is not None
        self._made: tuple[Any, Any, Any] | None = None
        self._settings = settings
        self._classifier = classifier
        self.random = random
        self.longest_hint = inf if hints is None or hints.max is None else hints.max
        self.budget = (
            None if settings.budget is None else TokenBudget(settings.budget, gate)
        )

    def made(self) -> tuple[Any, Any, Any]:
        """Stop, wait and retry; made when they are first asked for."""
        if self._made is not None:
            return self._made
        settings, random, classifier = self._settings, self.random, self._classifier
        stop: Any = stop_never
        if settings.max_attempts is not None:
            stop = stop_after_attempt(settings.max_attempts)
        made = stop, wait_backoff(settings.backoff, random), retry_by_rules(classifier)
        self._made = made
        return made

    @property
    def stop(self) -> Any:
        """When to give up."""
        return self.made()[0]

    @property
    def wait(self) -> Any:
        """How long to wait before the next attempt."""
        return self.made()[1]

    @property
    def retry(self) -> Any:
        """Which outcomes call for another attempt."""
        return self.made()[2]

    def hint(self, attempt: Attempt) -> float | None:
        """Seconds that the server asks to wait, where that is honoured (C17)."""
        if not self.hints:
            return None
        return retry_hint(attempt.result if attempt.error is None else attempt.error)

    def begin(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        started: float,
    ) -> RetryState:
        """The state of a call whose first attempt has ended."""
        return RetryState(fn, args, kwargs, started)
