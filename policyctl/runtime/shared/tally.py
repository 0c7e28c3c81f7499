"""Windows that also keep what was not yet told to the store."""

from __future__ import annotations

from policyctl.runtime.window import Counts, CountWindow, TimeWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import Window


class _Tally(Counts):
    """What was recorded since ``tell``; stands before a window among the bases of a class.

    ``untold`` are total, failed and slow attempts. Its slot is each class's own, since two
    bases that both have slots do not go together.
    """

    __slots__ = ()

    untold: list[int]

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.untold[:] = (0, 0, 0)

    def tell(self) -> list[int]:
        """Total, failed and slow attempts since the last time."""
        self.settle()
        told = list(self.untold)
        self.untold[:] = (0, 0, 0)
        return told

    def _add(self, now: float, failed: bool, slow: bool) -> None:
        untold = self.untold
        untold[0] += 1
        untold[1] += failed
        untold[2] += slow
        super()._add(now, failed, slow)

    def _add_successes(self, count: int) -> None:
        self.untold[0] += count
        super()._add_successes(count)


class TalliedCountWindow(_Tally, CountWindow):
    """The last N attempts; ``untold`` are total, failed and slow ones since ``tell``."""

    __slots__ = ("untold",)

    def __init__(self, size: int) -> None:
        self.untold = [0, 0, 0]
        super().__init__(size)


class TalliedTimeWindow(_Tally, TimeWindow):
    """The last seconds; ``untold`` are total, failed and slow attempts since ``tell``."""

    __slots__ = ("untold",)

    def __init__(self, seconds: float) -> None:
        self.untold = [0, 0, 0]
        super().__init__(seconds)


def make_tallied(settings: Window) -> TalliedCountWindow | TalliedTimeWindow:
    """The window that the settings ask for."""
    if settings.calls is not None:
        return TalliedCountWindow(settings.calls)
    assert settings.seconds is not None
    return TalliedTimeWindow(settings.seconds)
