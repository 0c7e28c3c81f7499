"""What a policy shows of its parts, and what can be done to them by hand."""

from __future__ import annotations

from policyctl.runtime.breaker import (
    CLOSED,
    DISABLED,
    FORCED_CLOSED,
    FORCED_OPEN,
    HALF_OPEN,
    OPEN,
)
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime import settings as _settings
    from policyctl.runtime.breaker import Breaker
    from policyctl.runtime.bulkhead import Waiters
    from policyctl.runtime.rate_limit import TokenBucket
    from policyctl.runtime.scopes import Keyed
    from policyctl.runtime.strategies import Strategies


class CircuitBreakerView:
    """The circuit breaker of one policy."""

    __slots__ = ("_breaker",)

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    @property
    def settings(self) -> _settings.CircuitBreaker:
        """The block it was declared with."""
        return self._breaker.settings

    @property
    def state(self) -> str:
        """``closed``, ``open``, ``half_open``; by hand ``forced_open``,
        ``forced_closed`` or ``disabled``."""
        return self._breaker.state(CLOCK.now())

    @property
    def failures(self) -> int:
        """Consecutive failures while closed."""
        return self._breaker.failures

    @property
    def retry_after(self) -> float:
        """Seconds until a probe may pass: 0.0 unless open, infinity if forced open."""
        return self._breaker.retry_after(CLOCK.now())

    @property
    def rejected(self) -> int:
        """Attempts refused so far."""
        return self._breaker.rejected

    def statistics(self) -> dict[str, Any]:
        """State and counts at one instant."""
        return self._breaker.statistics(CLOCK.now())

    def force_open(self) -> None:
        """Refuse every attempt until ``reset``."""
        self._breaker.set_manual(FORCED_OPEN)

    def force_closed(self) -> None:
        """Admit every attempt until ``reset``, whatever the results."""
        self._breaker.set_manual(FORCED_CLOSED)

    def disable(self) -> None:
        """Admit every attempt and count nothing until ``reset``."""
        self._breaker.set_manual(DISABLED)

    def reset(self) -> None:
        """Closed, with all counts at zero, and back to its own judgement."""
        self._breaker.reset()

    def __repr__(self) -> str:
        return f"<circuit breaker {self.state}>"


def _check_count(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PolicyConfigError(
            f"{value!r} is not a count of at least 1", path="bulkhead.max_concurrent"
        )


_WORST = (FORCED_OPEN, OPEN, HALF_OPEN, CLOSED, FORCED_CLOSED, DISABLED)


class KeyedCircuitBreakerView(CircuitBreakerView):
    """The circuit breakers of a policy with scope ``argument:…``, all together.

    ``state`` is the worst there is, ``failures`` and ``retry_after`` are the largest,
    and what is done by hand is done to all, those to come included.
    """

    __slots__ = ("_keyed", "_settings")

    def __init__(
        self, keyed: Keyed[Breaker], settings: _settings.CircuitBreaker
    ) -> None:
        self._keyed = keyed
        self._settings = settings

    def of(self, value: object) -> CircuitBreakerView:
        """The circuit breaker for one value of the argument."""
        return CircuitBreakerView(self._keyed.get(value))

    def __len__(self) -> int:
        return len(self._keyed)

    def _views(self) -> list[CircuitBreakerView]:
        return [CircuitBreakerView(breaker) for breaker in self._keyed.values()]

    @property
    def settings(self) -> _settings.CircuitBreaker:
        """The block that all were declared with."""
        return self._settings

    @property
    def state(self) -> str:
        """The worst state of all; ``closed`` where there is none yet."""
        states = {view.state for view in self._views()} or {CLOSED}
        return min(states, key=_WORST.index)

    @property
    def failures(self) -> int:
        """The most consecutive failures of one."""
        return max((view.failures for view in self._views()), default=0)

    @property
    def retry_after(self) -> float:
        """The longest wait of one."""
        return max((view.retry_after for view in self._views()), default=0.0)

    @property
    def rejected(self) -> int:
        """Attempts refused so far by those that are kept."""
        return sum(view.rejected for view in self._views())

    def statistics(self) -> dict[str, Any]:
        """State, number of breakers and how many of them are in which state."""
        states = [view.state for view in self._views()]
        return {
            "state": self.state,
            "keys": len(self),
            "states": {state: states.count(state) for state in sorted(set(states))},
            "rejected": self.rejected,
        }

    def force_open(self) -> None:
        """Refuse every attempt until ``reset``."""
        self._keyed.for_all(lambda breaker: breaker.set_manual(FORCED_OPEN), True)

    def force_closed(self) -> None:
        """Admit every attempt until ``reset``, whatever the results."""
        self._keyed.for_all(lambda breaker: breaker.set_manual(FORCED_CLOSED), True)

    def disable(self) -> None:
        """Admit every attempt and count nothing until ``reset``."""
        self._keyed.for_all(lambda breaker: breaker.set_manual(DISABLED), True)

    def reset(self) -> None:
        """Closed, with all counts at zero, and back to their own judgement."""
        self._keyed.for_all(lambda breaker: breaker.reset(), False)


class BulkheadView:
    """The bulkhead of one policy."""

    __slots__ = ("_waiters",)

    def __init__(self, waiters: Waiters) -> None:
        self._waiters = waiters

    @property
    def settings(self) -> _settings.Bulkhead:
        """The block it was declared with."""
        return self._waiters.settings

    @property
    def in_use(self) -> int:
        """Slots in use, by abandoned calls too."""
        return self._waiters.gate.in_use

    @property
    def waiting(self) -> int:
        """Callers that wait for a slot."""
        return len(self._waiters.queue)

    @property
    def rejected(self) -> int:
        """Attempts refused so far."""
        return self._waiters.rejected

    @property
    def max_concurrent(self) -> int:
        """Slots in all; may be set while calls run."""
        return self._waiters.max_concurrent

    @max_concurrent.setter
    def max_concurrent(self, value: int) -> None:
        _check_count(value)
        self._waiters.resize(value)

    def statistics(self) -> dict[str, Any]:
        """Counts at one instant."""
        return {
            "in_use": self.in_use,
            "waiting": self.waiting,
            "max_concurrent": self.max_concurrent,
            "rejected": self.rejected,
        }

    def __repr__(self) -> str:
        return f"<bulkhead {self.in_use} of {self.max_concurrent}>"


class KeyedBulkheadView(BulkheadView):
    """The bulkheads of a policy with scope ``argument:…``, all together."""

    __slots__ = ("_keyed", "_settings")

    def __init__(self, keyed: Keyed[Waiters], settings: _settings.Bulkhead) -> None:
        self._keyed = keyed
        self._settings = settings

    def of(self, value: object) -> BulkheadView:
        """The bulkhead for one value of the argument."""
        return BulkheadView(self._keyed.get(value))

    def __len__(self) -> int:
        return len(self._keyed)

    def _views(self) -> list[BulkheadView]:
        return [BulkheadView(waiters) for waiters in self._keyed.values()]

    @property
    def settings(self) -> _settings.Bulkhead:
        """The block that all were declared with."""
        return self._settings

    @property
    def in_use(self) -> int:
        """Slots in use over all values."""
        return sum(view.in_use for view in self._views())

    @property
    def waiting(self) -> int:
        """Callers that wait, over all values."""
        return sum(view.waiting for view in self._views())

    @property
    def rejected(self) -> int:
        """Attempts refused so far by those that are kept."""
        return sum(view.rejected for view in self._views())

    @property
    def max_concurrent(self) -> int:
        """Slots for each value as declared; setting it resizes all, new ones too."""
        return self._settings.max_concurrent

    @max_concurrent.setter
    def max_concurrent(self, value: int) -> None:
        _check_count(value)
        self._keyed.for_all(lambda waiters: waiters.resize(value), True)


class RateLimitView:
    """The rate limit of one policy."""

    __slots__ = ("_bucket",)

    def __init__(self, bucket: TokenBucket) -> None:
        self._bucket = bucket

    @property
    def settings(self) -> _settings.RateLimit:
        """The block it was declared with."""
        return self._bucket.settings

    @property
    def tokens(self) -> float:
        """Tokens there are; negative when some are taken in advance."""
        return self._bucket.tokens

    @property
    def rejected(self) -> int:
        """Attempts refused so far."""
        return self._bucket.rejected

    def statistics(self) -> dict[str, Any]:
        """Counts at one instant."""
        return {"tokens": self.tokens, "rejected": self.rejected}


class RetryView:
    """The retry of one policy: its settings and the strategies made from them."""

    __slots__ = ("_settings", "_strategies")

    def __init__(self, settings: _settings.Retry, strategies: Strategies) -> None:
        self._settings = settings
        self._strategies = strategies

    @property
    def settings(self) -> _settings.Retry:
        """The block it was declared with."""
        return self._settings

    @property
    def stop(self) -> Any:
        """The tenacity strategy that says when to give up."""
        return self._strategies.stop

    @property
    def wait(self) -> Any:
        """The tenacity strategy that says how long to wait."""
        return self._strategies.wait

    @property
    def retry(self) -> Any:
        """The tenacity strategy that says which outcomes call for another attempt."""
        return self._strategies.retry
