"""What a circuit breaker remembers of completed attempts: the last N, or the last S.

Both count attempts, failures and slow attempts in constant time and space. Neither is
thread-safe; the breaker calls them under its lock.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import Window

_FAILED = 1
_SLOW = 2
BUCKETS = 20
"""Parts of a rolling window; the oldest part is dropped as a whole."""


class CountWindow:
    """The last ``size`` completed attempts."""

    __slots__ = ("_next", "_ring", "_size", "failed", "slow", "total")

    def __init__(self, size: int) -> None:
        self._size = size
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._ring = bytearray()
        self._next = 0
        self.total = self.failed = self.slow = 0

    def add(self, now: float, failed: bool, slow: bool) -> None:
        """Count one attempt that completed."""
        mark = (_FAILED if failed else 0) | (_SLOW if slow else 0)
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
        self.failed += failed
        self.slow += slow

    def expire(self, now: float) -> None:
        """Nothing gets old here; only newer attempts push older ones out."""


class TimeWindow:
    """The attempts of the last ``seconds``, in ``BUCKETS`` parts.

    An attempt counts for at least ``seconds`` less one part and at most ``seconds``.
    """

    __slots__ = ("_buckets", "_length", "_newest", "failed", "slow", "total")

    def __init__(self, seconds: float) -> None:
        self._length = seconds / BUCKETS
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._buckets: dict[int, list[int]] = {}
        self._newest = -1
        self.total = self.failed = self.slow = 0

    def add(self, now: float, failed: bool, slow: bool) -> None:
        """Count one attempt that completed at ``now``."""
        index = int(now / self._length)
        if index != self._newest:
            self.expire(now)
            self._newest = index
        bucket = self._buckets.get(index)
        if bucket is None:
            bucket = self._buckets[index] = [0, 0, 0]
        bucket[0] += 1
        bucket[1] += failed
        bucket[2] += slow
        self.total += 1
        self.failed += failed
        self.slow += slow

    def expire(self, now: float) -> None:
        """Drop the parts that are older than the window."""
        oldest = int(now / self._length) - BUCKETS + 1
        for index in [index for index in self._buckets if index < oldest]:
            total, failed, slow = self._buckets.pop(index)
            self.total -= total
            self.failed -= failed
            self.slow -= slow


def make_window(settings: Window) -> CountWindow | TimeWindow:
    """The window that the settings ask for."""
    if settings.calls is not None:
        return CountWindow(settings.calls)
    assert settings.seconds is not None
    return TimeWindow(settings.seconds)
