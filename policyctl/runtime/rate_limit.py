"""The rate limit: a token bucket for attempts (C23).

Those who may wait take their token in advance, so that they are served in the order in
which they came and never more than ``max_wait`` late.
"""

from __future__ import annotations

from _thread import allocate_lock

from policyctl.runtime.clock import CLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import RateLimit


EARLY = 1e-6
"""Seconds by which a token may be taken early: the rounding of the clock.

Who waits exactly as long as was asked sees a clock that is off by one rounding of a
double: up to 2**-22 s while the clock is below 2**31 s, which is under 2.4e-7 s, and as
much again for the reading that the wait began with. Nothing is given away: the bucket
owes what was taken early.
"""


class TokenBucket:
    """Tokens of one operation, shared by its threads, tasks and event loops.

    Attributes:
        settings: the ``rate_limit`` block.
        rejected: attempts that found no token in time.
    """

    __slots__ = ("_at", "_lock", "_tokens", "rejected", "settings")

    def __init__(self, settings: RateLimit) -> None:
        self.settings = settings
        self.rejected = 0
        self._lock = allocate_lock()
        self._tokens = float(settings.burst)
        self._at = CLOCK.now()

    shared = False
    """Whether tokens are taken from a store (``SharedBucket``)."""

    async def take_async(self, longest_wait: float) -> tuple[bool, float]:
        """``take`` where asking a store must not block the event loop."""
        return self.take(longest_wait)

    def take(self, longest_wait: float) -> tuple[bool, float]:
        """Take a token, in advance if it will be there within ``longest_wait`` seconds.

        Returns:
            Whether it was taken, and the seconds until it is there.
        """
        with self._lock:
            self._refill()
            wait = (1.0 - self._tokens) / self.settings.rate
            if wait <= EARLY:
                wait = 0.0
            if wait > 0.0 and self.settings.mode != "enforce":
                self.rejected += self.settings.mode == "observe"
                return True, 0.0
            if wait > longest_wait:
                self.rejected += 1
                return False, wait
            self._tokens -= 1.0
            return True, wait

    def give_back(self) -> None:
        """Return a token that was taken in advance and not used."""
        with self._lock:
            self._tokens += 1.0

    def refill(self) -> None:
        """Fill the bucket, as it is when a process starts."""
        with self._lock:
            self._tokens = float(self.settings.burst)
            self._at = CLOCK.now()

    def _refill(self) -> None:
        now = CLOCK.now()
        settings = self.settings
        earned = max(0.0, now - self._at) * settings.rate
        self._tokens = min(float(settings.burst), self._tokens + earned)
        self._at = now

    @property
    def tokens(self) -> float:
        """Tokens there are; negative when some are taken in advance."""
        with self._lock:
            self._refill()
            return self._tokens

    def after_fork(self) -> None:
        """In a child process: a fresh lock."""
        self._lock = allocate_lock()
