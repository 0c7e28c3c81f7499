"""The shared side of a breaker alone: what its script makes of each step."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.shared.breaker_config import CONFIRM, config_of
from policyctl.runtime.shared.breaker_script import PEEK, SYNC
from policyctl.runtime.stores.redis import RedisServer

KEY = "policyctl:breaker:t.t"
pytestmark = pytest.mark.timing


class Shared:
    """The script with one breaker's settings."""

    def __init__(self, **changes: Any) -> None:
        block: dict[str, Any] = {
            "store": "redis",
            "recovery_timeout": settings.Recovery(initial=0.1, jitter=0.0),
            "half_open_max_calls": 2,
            "half_open_max_wait": 5.0,
            "success_threshold": 2,
            **changes,
        }
        self.config = config_of(settings.CircuitBreaker(**block))
        self.server = RedisServer("POLICY_REDIS_URL")

    def run(self, *steps: list[Any], chance: float = 0.5) -> tuple[Any, ...]:
        """State, version, seconds of the break left, reopenings, granted leases."""
        args = (json.dumps(self.config), json.dumps(steps), chance)
        state, version, rest, reopenings, _, given = self.server.run(SYNC, [KEY], args)
        leases = tuple(lease.decode() for lease in given)
        return state.decode(), int(version), rest / 1e6, reopenings, leases

    def open(self, seconds: float = 0.03) -> int:
        """Open the circuit for ``seconds``; the version of the break."""
        known = self.run()[1]
        state, version, *_ = self.run(["o", known, round(seconds * 1e6), 0])
        assert state == "open"
        return int(version)

    def half_open(self) -> int:
        """Let a short break pass; the version of the break."""
        version = self.open()
        time.sleep(0.035)
        return version


@pytest.fixture(autouse=True)
def _server(valkey: Any) -> None:
    """An empty server."""


def test_nothing_is_stored_while_nothing_happens() -> None:
    """A look at a closed circuit writes nothing."""
    shared = Shared()
    assert shared.run() == ("closed", 0, 0.0, 0, ())
    assert shared.server.client().dbsize() == 0
    assert shared.server.run(PEEK, [KEY], ()) is None


def test_an_opening_is_the_same_for_all() -> None:
    """The first who opens decides how long; a second opening changes nothing."""
    shared = Shared()
    state, version, rest, *_ = shared.run(["o", 0, 500_000_000, 0])
    assert (state, version > 0, rest) == ("open", True, 500.0)
    again = shared.run(["o", 0, 9_000_000_000, 3])
    assert again[:2] == ("open", version)
    assert 400.0 < again[2] <= 500.0
    assert again[3] == 0


def test_the_break_ends_by_the_servers_clock() -> None:
    """C5: open becomes half-open when its time is over, under the same version."""
    shared = Shared()
    version = shared.half_open()
    assert shared.run()[:2] == ("half_open", version)


def test_permits_are_counted_over_all() -> None:
    """C6: of any number of wanted leases, exactly half_open_max_calls are granted."""
    shared = Shared()
    version = shared.half_open()
    assert shared.run(["p", "l:a", "l:b", "l:c"])[4] == ("l:a", "l:b")
    assert shared.run(["p", "l:d"])[4] == ()
    assert shared.run(["n", version, "l:a"], ["p", "l:e", "l:f"])[4] == ("l:e",)


def test_a_lease_that_was_granted_is_granted_again() -> None:
    """RQ-13: asking again after a lost reply gives the same lease, not another."""
    shared = Shared(half_open_max_calls=1)
    shared.half_open()
    assert shared.run(["p", "l:a"])[4] == ("l:a",)
    assert shared.run(["p", "l:a"])[4] == ("l:a",)
    assert shared.run(["p", "l:b"])[4] == ()


def test_no_permits_unless_half_open() -> None:
    """Neither a closed nor an open circuit gives leases."""
    shared = Shared()
    assert shared.run(["p", "l:a"])[4] == ()
    shared.open(5.0)
    assert shared.run(["p", "l:a"])[4] == ()


def test_leases_expire_without_a_verdict() -> None:
    """The lease of a process that is gone comes free, and reopens nothing."""
    shared = Shared(half_open_max_calls=1)
    shared.config["lease"] = 30_000
    version = shared.half_open()
    assert shared.run(["p", "l:a"])[4] == ("l:a",)
    assert shared.run(["p", "l:b"])[4] == ()
    time.sleep(0.035)
    assert shared.run(["p", "l:b"]) == ("half_open", version, 0.0, 0, ("l:b",))


def test_enough_good_probes_close_it() -> None:
    """C7: success_threshold good probes, from whatever process, close the circuit."""
    shared = Shared()
    version = shared.half_open()
    shared.run(["p", "l:a", "l:b"])
    assert shared.run(["s", version, "l:a"])[:2] == ("half_open", version)
    state, closed, rest, reopenings, _ = shared.run(["s", version, "l:b"])
    assert (state, rest, reopenings) == ("closed", 0.0, 0)
    assert closed > version


def test_one_bad_probe_reopens_it_for_longer() -> None:
    """C7: growth by the multiplier for each reopening, up to the maximum."""
    recovery = settings.Recovery(initial=0.1, multiplier=3.0, max=0.5, jitter=0.0)
    shared = Shared(recovery_timeout=recovery)
    lengths = []
    version = shared.half_open()
    for _ in range(3):
        state, version, rest, reopenings, _ = shared.run(["f", version])
        assert state == "open"
        lengths.append((round(rest, 3), reopenings))
        # The break is over at once, for the next probe.
        shared.server.client().hset(KEY, "until", 1)
    assert lengths == [(0.3, 1), (0.5, 2), (0.5, 3)]


@pytest.mark.parametrize(("chance", "rest"), [(0.0, 0.08), (0.5, 0.1), (1.0, 0.12)])
def test_jitter_spreads_the_break(chance: float, rest: float) -> None:
    """A ratio of 0.2 gives lengths from 80 % to 120 %."""
    shared = Shared(recovery_timeout=settings.Recovery(initial=0.1, jitter=0.2))
    version = shared.half_open()
    assert shared.run(["f", version], chance=chance)[2] == pytest.approx(rest)


def test_what_is_past_changes_nothing() -> None:
    """C8: verdicts, openings and counts of an earlier version are void."""
    shared = Shared(failure_ratio=0.5, minimum_calls=2)
    version = shared.half_open()
    shared.run(["p", "l:a", "l:b"])
    shared.run(["s", version, "l:a"])
    closed = shared.run(["s", version, "l:b"])
    for step in (
        ["f", version],
        ["s", version, "l:a"],
        ["o", version, 1_000_000, 0],
        ["c", version, 50, 50, 0, 50],
    ):
        assert shared.run(step)[:2] == closed[:2]


def test_a_reset_closes_it() -> None:
    """By hand: closed under a new version, and what was under way is void."""
    shared = Shared()
    version = shared.open(5.0)
    state, closed, *_ = shared.run(["x"])
    assert state == "closed"
    assert closed > version
    assert shared.run(["f", version])[0] == "closed"


def test_what_follows_a_reset_is_current() -> None:
    """An opening that was noted after a reset, and told together with it, counts."""
    shared = Shared()
    version = shared.open(5.0)
    state, opened, *_ = shared.run(["x"], ["o", -1, 3_000_000, 0])
    assert state == "open"
    assert opened > version


def test_a_ratio_is_of_all_processes() -> None:
    """Failures and successes of several reports are put together."""
    shared = Shared(failure_ratio=0.5, minimum_calls=10)
    assert shared.run(["c", 0, 4, 4, 0, 4])[0] == "closed"
    assert shared.run(["c", 0, 5, 0, 0, 0])[0] == "closed"
    assert shared.run(["c", 0, 1, 1, 0, 1])[0] == "open"


def test_slow_calls_are_of_all_processes() -> None:
    """The share of slow calls opens it, whoever made them."""
    slow = settings.SlowCall(after=1.0, ratio=0.5)
    shared = Shared(slow_call=slow, minimum_calls=4)
    assert shared.run(["c", 0, 2, 0, 1, 0])[0] == "closed"
    assert shared.run(["c", 0, 2, 0, 1, 0])[0] == "open"


def test_a_time_window_forgets() -> None:
    """What is older than the window does not count."""
    window = settings.Window(seconds=0.1)
    shared = Shared(failure_ratio=0.5, minimum_calls=10, window=window)
    shared.run(["c", 0, 9, 9, 0, 9])
    time.sleep(0.12)
    assert shared.run(["c", 0, 9, 9, 0, 9])[0] == "closed"
    assert shared.run(["c", 0, 1, 0, 0, 0])[0] == "open"


@hypothesis_settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=20),
    st.integers(20, 60),
)
def test_a_window_of_calls_holds_about_that_many(
    reports: list[tuple[int, int]], calls: int
) -> None:
    """It never has under N calls once there were N, and at most N plus two parts."""
    shared = Shared(
        failure_ratio=1.0, window=settings.Window(calls=calls), minimum_calls=1
    )
    shared.server.client().delete(KEY)
    seen = 0
    for total, failed in reports:
        shared.run(["c", 0, total, min(failed, total - 1), 0, 0])
        seen += total
        parts = shared.server.client().hget(KEY, "window").decode().split(";")
        kept = sum(int(part.split(",")[1]) for part in parts if part)
        assert kept >= min(seen, calls)
        assert kept <= calls + calls // 20 + max(t for t, _ in reports)


def test_failures_in_a_row_need_that_nobody_succeeds() -> None:
    """Threshold reached: it opens when for CONFIRM no success was reported."""
    shared = Shared(failure_threshold=4)
    assert shared.run(["c", 0, 2, 2, 0, 2])[0] == "closed"
    assert shared.run(["c", 0, 2, 2, 0, 2])[0] == "closed"
    time.sleep(CONFIRM + 0.01)
    assert shared.run()[0] == "open"


def test_a_success_anywhere_breaks_the_row() -> None:
    """Failures of busy processes are not failures in a row."""
    shared = Shared(failure_threshold=4)
    shared.run(["c", 0, 3, 3, 0, 3])
    shared.run(["c", 0, 7, 0, 0, 0])
    shared.run(["c", 0, 3, 3, 0, 3])
    time.sleep(CONFIRM + 0.01)
    assert shared.run()[0] == "closed"
    assert shared.run(["c", 0, 1, 1, 0, 1])[0] == "open"


def test_only_the_last_failures_of_a_report_count() -> None:
    """A report with successes says how many failures came after the last of them."""
    shared = Shared(failure_threshold=4)
    shared.run(["c", 0, 9, 8, 0, 3])
    time.sleep(CONFIRM + 0.01)
    assert shared.run()[0] == "closed"


def test_a_circuit_nobody_uses_is_forgotten() -> None:
    """The key ends by itself, long after the break."""
    shared = Shared()
    shared.open(5.0)
    left = shared.server.client().pttl(KEY)
    assert 3_500_000 < left < 3_700_000 + 60_000
