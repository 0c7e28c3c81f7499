"""C4: what a breaker remembers of completed attempts."""

from __future__ import annotations

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.runtime.settings import Window
from policyctl.runtime.window import BUCKETS, CountWindow, TimeWindow, make_window

OUTCOMES = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


@given(st.integers(1, 9), OUTCOMES)
@settings(max_examples=60)
def test_count_window_is_the_last_n(
    size: int, outcomes: list[tuple[bool, bool]]
) -> None:
    """Counts equal those of a list cut to the last N."""
    window = CountWindow(size)
    model: deque[tuple[bool, bool]] = deque(maxlen=size)
    for failed, slow in outcomes:
        window.add(0.0, failed, slow)
        model.append((failed, slow))
    assert window.total == len(model)
    assert window.failed == sum(failed for failed, _ in model)
    assert window.slow == sum(slow for _, slow in model)


@given(
    st.lists(st.tuples(st.floats(0.0, 3.0), st.booleans(), st.booleans()), max_size=40)
)
@settings(max_examples=60)
def test_time_window_counts_whole_parts(
    steps: list[tuple[float, bool, bool]],
) -> None:
    """An attempt counts while its part is one of the newest parts."""
    window, now = TimeWindow(10.0), 100.0
    model: list[tuple[int, bool, bool]] = []
    length = 10.0 / BUCKETS
    for step, failed, slow in steps:
        now += step
        window.add(now, failed, slow)
        model.append((int(now / length), failed, slow))
        kept = [m for m in model if m[0] > int(now / length) - BUCKETS]
        assert window.total == len(kept)
        assert window.failed == sum(m[1] for m in kept)
        assert window.slow == sum(m[2] for m in kept)


def test_time_window_forgets_when_asked_later() -> None:
    """Nothing is left once the window has passed without attempts."""
    window = TimeWindow(10.0)
    window.add(100.0, True, True)
    window.expire(109.4)
    assert (window.total, window.failed, window.slow) == (1, 1, 1)
    window.expire(110.0)
    assert (window.total, window.failed, window.slow) == (0, 0, 0)


def test_settings_choose_the_kind() -> None:
    """`100 calls` and `30s` make the two kinds."""
    assert isinstance(make_window(Window(calls=100)), CountWindow)
    assert isinstance(make_window(Window(seconds=30.0)), TimeWindow)
