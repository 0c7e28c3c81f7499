"""C4 to C8: the breaker's state machine, with time given by hand."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from policyctl.runtime.breaker import REFUSED, UNCOUNTED, Breaker
from policyctl.runtime.gate import UNUSUAL, Gate, later_if_mine
from policyctl.runtime.settings import CircuitBreaker, Recovery, SlowCall, Window


class Fixed:
    """Chance that always falls on one share of the range."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def uniform(self, a: float, b: float, /) -> float:
        """The chosen share of the way from a to b."""
        return a + (b - a) * self.share


class Rig:
    """A breaker with a gate and a record of its transitions."""

    def __init__(self, chance: Fixed | None = None, **changes: Any) -> None:
        defaults: dict[str, Any] = {
            "failure_threshold": 3,
            "recovery_timeout": Recovery(initial=30.0, jitter=0.0),
            "success_threshold": 2,
        }
        self.transitions: list[tuple[str, str]] = []
        self.breaker = Breaker(
            CircuitBreaker(**defaults | changes), self._notify, chance or Fixed()
        )
        self.gate = Gate()
        self.breaker.attach(self.gate)
        self.permits = 0

    def _notify(self, old: str, new: str) -> None:
        assert not later_if_mine(self.breaker.lock, id)
        self.transitions.append((old, new))

    def admit(self, now: float) -> tuple[int, int]:
        """Episode and permit of an attempt."""
        self.permits += 1
        return self.breaker.admit(now, self.permits), self.permits

    def fail(self, now: float, times: int = 1, duration: float = 0.0) -> None:
        """Admit and fail."""
        for _ in range(times):
            self.breaker.failure(*self.admit(now), now, duration)

    def succeed(self, now: float, times: int = 1, duration: float = 0.0) -> None:
        """Admit and succeed."""
        for _ in range(times):
            self.breaker.success(*self.admit(now), now, duration)


def test_opens_on_consecutive_failures() -> None:
    """C4: the third failure in a row opens it, and the gate is flagged."""
    rig = Rig()
    rig.fail(0.0, 2)
    assert rig.breaker.state(0.0) == "closed"
    rig.fail(1.0)
    assert rig.breaker.state(1.0) == "open"
    assert rig.gate.count == UNUSUAL
    assert rig.admit(1.0)[0] == REFUSED
    assert rig.breaker.retry_after(11.0) == 20.0


def test_success_resets_the_consecutive_count() -> None:
    """C4: two, one good, two do not open it; the gate is quiet after a success."""
    rig = Rig()
    rig.fail(0.0, 2)
    assert rig.gate.count == UNUSUAL
    rig.succeed(0.0)
    assert rig.gate.count == 0
    rig.fail(0.0, 2)
    assert rig.breaker.state(0.0) == "closed"


def test_half_open_is_derived_from_an_instant() -> None:
    """C5: reading the state after the break says half-open, without a call or timer."""
    rig = Rig()
    rig.fail(0.0, 3)
    assert rig.breaker.state(29.999) == "open"
    assert rig.breaker.state(30.0) == "half_open"
    assert rig.transitions == [("closed", "open"), ("open", "half_open")]


def test_more_failures_than_the_threshold_keep_the_instant() -> None:
    """CB-07: late failures of the closed episode neither reopen nor postpone."""
    rig = Rig()
    running = [rig.admit(0.0) for _ in range(6)]
    for second, attempt in enumerate(running):
        rig.breaker.failure(*attempt, float(second), 0.0)
    assert rig.breaker.state(31.9) == "open"
    assert rig.breaker.state(32.0) == "half_open"


def test_probes_are_bounded_and_neutral_gives_back() -> None:
    """C6: two permits, taken in one step with the transition; neutral returns one."""
    rig = Rig(half_open_max_calls=2)
    rig.fail(0.0, 3)
    first, second = rig.admit(30.0), rig.admit(30.0)
    assert REFUSED not in (first[0], second[0])
    assert rig.admit(30.0)[0] == REFUSED
    rig.breaker.neutral(*first)
    assert rig.admit(30.0)[0] != REFUSED
    assert rig.admit(30.0)[0] == REFUSED


def test_probe_that_takes_too_long_is_a_failure() -> None:
    """C6: after half_open_max_wait the break starts again from that instant."""
    rig = Rig(half_open_max_wait=10.0)
    rig.fail(0.0, 3)
    probe = rig.admit(30.0)
    assert rig.breaker.state(39.9) == "half_open"
    assert rig.breaker.state(40.0) == "open"
    assert rig.breaker.retry_after(50.0) == 20.0
    rig.breaker.success(*probe, 51.0, 0.0)
    assert rig.breaker.state(51.0) == "open"
    assert rig.breaker.state(70.0) == "half_open"


def test_closes_after_enough_successes_of_one_episode() -> None:
    """C7, CB-09: successes of an earlier half-open episode do not count."""
    rig = Rig(success_threshold=3)
    rig.fail(0.0, 3)
    rig.succeed(30.0, 2)
    rig.fail(30.0)
    assert rig.breaker.state(30.0) == "open"
    rig.succeed(60.0)
    rig.succeed(60.0)
    assert rig.breaker.state(60.0) == "half_open"
    rig.succeed(60.0)
    assert rig.breaker.state(60.0) == "closed"
    assert rig.gate.count == 0


def test_break_grows_with_reopenings_and_closing_resets_it() -> None:
    """C7: 10, 20, 40, capped at 50; after closing it is 10 again."""
    recovery = Recovery(initial=10.0, multiplier=2.0, max=50.0, jitter=0.0)
    rig = Rig(recovery_timeout=recovery, success_threshold=1)
    now, lengths = 0.0, []
    rig.fail(now, 3)
    for _ in range(4):
        lengths.append(rig.breaker.until - now)
        now = rig.breaker.until
        rig.fail(now)
    assert lengths == [10.0, 20.0, 40.0, 50.0]
    now = rig.breaker.until
    rig.succeed(now)
    rig.fail(now, 3)
    assert rig.breaker.until - now == 10.0


@pytest.mark.parametrize(("share", "length"), [(0.0, 24.0), (0.5, 30.0), (1.0, 36.0)])
def test_break_is_jittered(share: float, length: float) -> None:
    """C7: 20 % jitter spreads 30 s evenly over 24 to 36 s."""
    rig = Rig(Fixed(share), recovery_timeout=Recovery(initial=30.0, jitter=0.2))
    rig.fail(0.0, 3)
    assert rig.breaker.until == pytest.approx(length)


def test_results_of_earlier_episodes_are_void() -> None:
    """C8: neither a late success nor a late failure moves a later episode."""
    rig = Rig(success_threshold=1)
    old = [rig.admit(0.0) for _ in range(4)]
    rig.fail(0.0, 3)
    rig.breaker.success(*old[0], 30.0, 0.0)
    assert rig.breaker.state(30.0) == "half_open"
    rig.breaker.failure(*old[1], 30.0, 0.0)
    assert rig.breaker.state(30.0) == "half_open"
    rig.succeed(30.0)
    rig.fail(31.0, 2)
    rig.breaker.failure(*old[2], 31.0, 0.0)
    rig.breaker.success(*old[3], 31.0, 0.0)
    assert rig.breaker.failures == 2


def test_failure_ratio_over_a_count_window() -> None:
    """C4, CB-20: 50 % of the last 10 once 4 have completed."""
    rig = Rig(
        failure_threshold=None,
        failure_ratio=0.5,
        window=Window(calls=10),
        minimum_calls=4,
    )
    rig.fail(0.0, 2)
    rig.succeed(0.0)
    assert rig.breaker.state(0.0) == "closed"
    rig.fail(0.0)
    assert rig.breaker.state(0.0) == "open"


def test_ratio_is_judged_by_the_success_that_completes_the_minimum() -> None:
    """C4: three failures and a success are 75 % of four."""
    rig = Rig(
        failure_threshold=None,
        failure_ratio=0.5,
        window=Window(calls=10),
        minimum_calls=4,
    )
    rig.fail(0.0, 3)
    rig.succeed(0.0)
    assert rig.breaker.state(0.0) == "open"


def test_ratio_over_time_forgets() -> None:
    """C4: failures older than the window do not open it."""
    rig = Rig(
        failure_threshold=None,
        failure_ratio=0.5,
        window=Window(seconds=10.0),
        minimum_calls=4,
    )
    rig.fail(0.0, 3)
    rig.fail(20.0)
    assert rig.breaker.state(20.0) == "closed"
    rig.fail(21.0, 3)
    assert rig.breaker.state(21.0) == "open"


def test_slow_calls_open_it() -> None:
    """C4: 80 % of five over 2 s open it although all worked; exactly 2 s is not slow."""
    rig = Rig(
        failure_threshold=None,
        slow_call=SlowCall(after=2.0, ratio=0.8),
        window=Window(calls=10),
        minimum_calls=5,
    )
    rig.succeed(0.0, 3, duration=2.1)
    rig.succeed(0.0, 2, duration=2.0)
    assert rig.breaker.state(0.0) == "closed"
    rig.succeed(0.0, 5, duration=2.1)
    assert rig.breaker.state(0.0) == "open"


def test_slow_probe_reopens() -> None:
    """C7: a probe that is slow is no sign of recovery where slow calls open."""
    rig = Rig(
        slow_call=SlowCall(after=2.0, ratio=0.8), success_threshold=1, minimum_calls=50
    )
    rig.fail(0.0, 3)
    rig.succeed(30.0, duration=3.0)
    assert rig.breaker.state(30.0) == "open"


def test_closing_forgets_the_window() -> None:
    """C7: failures from before the break do not count after it."""
    rig = Rig(
        failure_threshold=None,
        failure_ratio=0.5,
        window=Window(calls=10),
        minimum_calls=4,
        success_threshold=1,
    )
    rig.fail(0.0, 4)
    rig.succeed(30.0)
    rig.fail(30.0, 3)
    assert rig.breaker.state(30.0) == "closed"


def test_by_hand() -> None:
    """C12: forced open refuses, forced closed admits, disabled counts nothing."""
    rig = Rig()
    rig.breaker.set_manual("forced_open")
    assert rig.admit(0.0)[0] == REFUSED
    assert rig.breaker.retry_after(0.0) == inf
    assert rig.gate.count == UNUSUAL
    rig.breaker.set_manual("forced_closed")
    assert rig.gate.count == 0
    rig.fail(0.0, 9)
    assert rig.breaker.state(0.0) == "forced_closed"
    rig.breaker.set_manual("disabled")
    rig.fail(0.0, 9)
    rig.breaker.reset()
    assert rig.breaker.state(0.0) == "closed"
    assert rig.breaker.failures == 0
    assert rig.transitions == [
        ("closed", "forced_open"),
        ("forced_open", "forced_closed"),
        ("forced_closed", "disabled"),
        ("disabled", "closed"),
    ]


def test_observe_moves_and_refuses_nobody() -> None:
    """C12: would-be rejections run, are counted, and their results change nothing."""
    rig = Rig(mode="observe")
    rig.fail(0.0, 3)
    assert rig.breaker.state(0.0) == "open"
    episode, permit = rig.admit(1.0)
    assert episode == UNCOUNTED
    assert rig.breaker.rejected == 1
    rig.breaker.success(episode, permit, 1.0, 0.0)
    assert rig.breaker.state(1.0) == "open"
    rig.succeed(30.0, 2)
    assert rig.breaker.state(30.0) == "closed"


def test_forced_open_by_mode() -> None:
    """C12: mode forced_open refuses from the start, and its gate is flagged."""
    rig = Rig(mode="forced_open")
    assert rig.admit(0.0)[0] == REFUSED
    assert rig.gate.count == UNUSUAL


def test_fork_releases_the_parents_probes() -> None:
    """BH-12: a permit held by the parent's probe is free in the child."""
    rig = Rig()
    rig.fail(0.0, 3)
    rig.admit(30.0)
    rig.breaker.after_fork()
    assert rig.admit(30.0)[0] != REFUSED
