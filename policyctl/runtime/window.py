"""What a circuit breaker remembers of completed attempts: the last N, or the last S.

Both count attempts, failures and slow attempts in constant space. Compiled wrappers add
a plain success to ``fresh`` by themselves; ``settle`` takes those over. The rest is
called by the breaker under its lock.
"""

from __future__ import annotations

from math import inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import Window

_FAILED = 1
_SLOW = 2
_MOST_FRESH = 1 << 20
BUCKETS = 20
"""Parts of a rolling window; the oldest part is dropped as a whole."""


class Counts:
    """What both kinds of window have in common.

    Attributes:
        total: attempts in the window.
        failed: failures among them.
        slow: slow ones among them.
        fresh: plain successes that are not yet in these numbers.
        room: how many of those there may be before the breaker has to judge.
        until: the instant after which they belong to another part of the window.
    """

    __slots__ = ("failed", "fresh", "room", "slow", "total", "until")

    def __init__(self) -> None:
        self.total = self.failed = self.slow = self.fresh = 0
        self.room = _MOST_FRESH
        self.until = inf

    def add(self, now: float, failed: bool, slow: bool) -> None:
        """Count one attempt that completed at ``now``."""
        self.settle()
        self._add(now, failed, slow)

    def settle(self) -> None:
        """Take over the plain successes that wrappers have counted."""
        fresh, self.fresh = self.fresh, 0
        if fresh:
            self._add_successes(fresh)

    def expect_judgement(self, minimum: int) -> None:
        """Have the success that completes ``minimum`` attempts come to the breaker."""
        missing = minimum - self.total
        blemished = self.failed > 0 or self.slow > 0
        self.room = missing - 1 if blemished and missing > 0 else _MOST_FRESH

    def expire(self, now: float) -> None:
        """Forget what is too old at ``now``."""
        raise TypeError(f"{type(self).__name__} has no end")

    def clear(self) -> None:
        """Forget everything."""
        raise TypeError(f"{type(self).__name__} cannot be cleared")

    def _add(self, now: float, failed: bool, slow: bool) -> None:
        raise TypeError(f"{type(self).__name__} cannot count")

    def _add_successes(self, count: int) -> None:
        raise TypeError(f"{type(self).__name__} cannot count")


class CountWindow(Counts):
    """The last ``size`` completed attempts."""

    __slots__ = ("_next", "_ring", "_size")

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._ring = bytearray()
        self._next = 0
        self.total = self.failed = self.slow = self.fresh = 0

    def expire(self, now: float) -> None:
        """Nothing gets old here; only newer attempts push older ones out."""
        self.settle()

    def _add(self, now: float, failed: bool, slow: bool) -> None:
        self._push((_FAILED if failed else 0) | (_SLOW if slow else 0))

    def _add_successes(self, count: int) -> None:
        if count >= self._size:
            self._ring = bytearray(self._size)
            self._next = self.failed = self.slow = 0
            self.total = self._size
            return
        for _ in range(count):
            self._push(0)

    def _push(self, mark: int) -> None:
        ring = self._ring
        if len(ring) < self._size:
            ring.append(mark)
            self.total += 1
        else:
            old = ring[self._next]
            self.failed -= old & _FAILED
            self.slow -= old >> 1
            ring[self._next] = mark
            self._next = (self._next + 1) % self._size
        self.failed += mark & _FAILED
        self.slow += mark >> 1


class TimeWindow(Counts):
    """The attempts of the last ``seconds``, in ``BUCKETS`` parts.

    An attempt counts for at least ``seconds`` less one part and at most ``seconds``.
    """

    __slots__ = ("_buckets", "_length", "_newest")

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._length = seconds / BUCKETS
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._buckets: dict[int, list[int]] = {}
        self._newest = 0
        self.until = -inf
        self.total = self.failed = self.slow = self.fresh = 0

    def expire(self, now: float) -> None:
        """Drop the parts that are older than the window; later ones start a new part."""
        self.settle()
        self._newest = int(now / self._length)
        self.until = (self._newest + 1) * self._length
        oldest = self._newest - BUCKETS + 1
        for index in [index for index in self._buckets if index < oldest]:
            total, failed, slow = self._buckets.pop(index)
            self.total -= total
            self.failed -= failed
            self.slow -= slow

    def _add(self, now: float, failed: bool, slow: bool) -> None:
        if now >= self.until:
            self.expire(now)
        bucket = self._bucket()
        bucket[0] += 1
        bucket[1] += failed
        bucket[2] += slow
        self.total += 1
        self.failed += failed
        self.slow += slow

    def _add_successes(self, count: int) -> None:
        self._bucket()[0] += count
        self.total += count

    def _bucket(self) -> list[int]:
        bucket = self._buckets.get(self._newest)
        if bucket is None:
            bucket = self._buckets[self._newest] = [0, 0, 0]
        return bucket


def make_window(settings: Window) -> CountWindow | TimeWindow:
    """The window that the settings ask for."""
    if settings.calls is not None:
        return CountWindow(settings.calls)
    assert settings.seconds is not None
    return TimeWindow(settings.seconds)
