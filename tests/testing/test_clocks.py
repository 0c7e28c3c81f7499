"""The clocks for tests: what moves them, and that they clean up."""

from __future__ import annotations

import contextlib
import time

import pytest

from policyctl.runtime import wrappers
from policyctl.runtime.clock import CLOCK, CLOCK_ID
from policyctl.runtime.signatures import PREFIX
from policyctl.testing import FakeClock, fake_clock, no_sleep


def test_time_stands_still_until_it_is_moved() -> None:
    """Only advance() and sleeps move a fake clock, by exactly what they say."""
    with fake_clock() as clock:
        assert CLOCK.now() == clock.now() == 1000.0
        clock.advance(30.5)
        CLOCK.sleep(2.0)
        assert CLOCK.now() == 1032.5
        assert clock.slept == [2.0]
        assert CLOCK.real is False


async def test_an_async_sleep_takes_no_time() -> None:
    """Back-off in a coroutine moves the clock and returns."""
    with fake_clock(start=0.0) as clock:
        await CLOCK.async_sleep(3600.0)
        assert (clock.now(), clock.slept) == (3600.0, [3600.0])


def test_leaving_puts_back_what_was_there() -> None:
    """Nested clocks end in the order of their scopes, also after an error."""
    with fake_clock(start=5.0):
        with contextlib.suppress(KeyError), fake_clock(start=7.0):
            assert CLOCK.now() == 7.0
            raise KeyError
        assert CLOCK.now() == 5.0
    assert CLOCK.real is True
    assert CLOCK.now == time.monotonic
    assert CLOCK.sleep == time.sleep


def test_without_sleeping_real_time_goes_on() -> None:
    """no_sleep() counts a sleep as time that has passed."""
    with no_sleep() as clock:
        before = CLOCK.now()
        CLOCK.sleep(100.0)
        clock.advance(20.0)
        passed = CLOCK.now() - before
        assert 120.0 <= passed < 121.0
        assert clock.slept == [100.0]


def test_a_clock_refuses_to_go_back() -> None:
    """Negative and NaN steps are errors; a negative sleep is none at all."""
    clock = FakeClock()
    with pytest.raises(ValueError, match="only goes forward"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="only goes forward"):
        clock.advance(float("nan"))
    clock.sleep(-1)
    assert clock.now() == 1000.0


def test_a_clock_is_entered_once_at_a_time() -> None:
    """Entering twice or leaving without entering is an error; later reuse is fine."""
    clock = FakeClock()
    with pytest.raises(RuntimeError, match="not in force"):
        clock.__exit__(None, None, None)
    with clock:
        with pytest.raises(RuntimeError, match="in force already"):
            clock.__enter__()
    with clock:
        assert CLOCK.now() == 1000.0


def test_libraries_that_freeze_time_meet_one_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wrappers read the same clock as the rest when ``time.monotonic`` is replaced."""
    quick = wrappers._GLOBALS
    try:
        with monkeypatch.context() as frozen:
            frozen.setattr(time, "monotonic", lambda: 5.0)
            CLOCK.reset()
            assert (CLOCK.now(), quick[f"{PREFIX}now"](CLOCK_ID)) == (5.0, 5.0)
    finally:
        CLOCK.reset()
    assert CLOCK.now() <= quick[f"{PREFIX}now"](CLOCK_ID) <= time.monotonic()
