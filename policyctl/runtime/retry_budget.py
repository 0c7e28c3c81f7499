"""The retry budget: one token bucket for all callers of an operation (C18).

A retry takes a token. Tokens come back with first tries or successes (``ratio`` each)
and with time (``floor`` per second), up to ``burst``. While the bucket is full nothing
needs counting, so it flags the gate only while it is not, and success pays nothing.
"""

from __future__ import annotations

from _thread import allocate_lock

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.gate import UNUSUAL, Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import RetryBudget


ROUNDING = 1e-9
"""By how much a token may fall short of one, since ten tenths add up to less than one.

An addition to at most 16 tokens is rounded by at most 2**-50, or 8.9e-16: over a million
additions make 8.9e-10. What is missing is owed, so that no retry is given away.
"""


class TokenBudget:
    """Tokens for retries.

    Attributes:
        settings: the ``retry.budget`` block.
        refused: retries that found no token.
    """

    __slots__ = (
        "_flagged",
        "_gate",
        "_lock",
        "_seen",
        "_tokens",
        "refused",
        "settings",
    )

    def __init__(self, settings: RetryBudget, gate: Gate) -> None:
        self.settings = settings
        self._gate = gate
        self._lock = allocate_lock()
        self._tokens = float(settings.burst)
        self._seen = 0.0
        self._flagged = False
        self.refused = 0
        if settings.burst == 0:
            self._flag(True)

    @property
    def tokens(self) -> float:
        """Retries that could be made now."""
        with self._lock:
            self._add(0.0)
            return self._tokens

    def take(self) -> bool:
        """Take the token for one retry; False if there is none."""
        with self._lock:
            self._add(0.0)
            if self._tokens < 1.0 - ROUNDING:
                self.refused += 1
                return False
            self._tokens -= 1.0
            if not self._flagged:
                self._flag(True)
            return True

    def first_try(self) -> None:
        """Count a call."""
        if self._flagged and self.settings.refill == "request":
            with self._lock:
                self._add(self.settings.ratio)

    def success(self) -> None:
        """Count an attempt that worked."""
        if self._flagged and self.settings.refill == "success":
            with self._lock:
                self._add(self.settings.ratio)

    def _add(self, tokens: float) -> None:
        if not self._flagged:
            return
        now = CLOCK.now()
        tokens += max(0.0, now - self._seen) * self.settings.floor
        self._seen = now
        most = self._most()
        self._tokens = min(self._tokens + tokens, most)
        if self._tokens >= most and self.settings.burst:
            self._flag(False)

    def _most(self) -> float:
        """A bucket without burst still collects the one token that a retry takes."""
        return float(max(self.settings.burst, 1))

    def _flag(self, flagged: bool) -> None:
        self._flagged = flagged
        self._seen = CLOCK.now()
        with self._gate.lock:
            self._gate.add(UNUSUAL if flagged else -UNUSUAL)

    def refill(self) -> None:
        """Fill the bucket, as it is when a process starts."""
        with self._lock:
            self._tokens = float(self.settings.burst)
            if self._flagged and self.settings.burst:
                self._flag(False)

    def change(self, settings: RetryBudget) -> None:
        """Go on with other settings and the tokens that there are; full stays full."""
        with self._lock:
            self._add(0.0)
            self.settings = settings
            if not self._flagged:
                self._tokens = float(settings.burst)
                if settings.burst == 0:
                    self._flag(True)
                return
            self._tokens = min(self._tokens, self._most())
            self._add(0.0)

    def retire(self) -> None:
        """Flag the gate no more: nobody takes tokens from here again."""
        with self._lock:
            if self._flagged:
                self._flag(False)

    def after_fork(self) -> None:
        """In a child process: a fresh lock."""
        self._lock = allocate_lock()
