"""C4, C8: successes that wrappers count by themselves against a list of everything."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.window import BUCKETS
from policyctl.testing import fake_clock

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ok", "ok", "ok", "fail", "slow"]),
        st.sampled_from([0.0, 0.0, 0.2, 1.0, 7.0]),
    ),
    max_size=60,
)


def _policy(window: settings.Window, minimum: int) -> Policy:
    return Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_ratio=0.4,
            slow_call=settings.SlowCall(after=2.0, ratio=0.5),
            window=window,
            minimum_calls=minimum,
            recovery_timeout=settings.Recovery(initial=1e6, jitter=0.0),
        )
    )


def _is_bad(kept: list[str], minimum: int) -> bool:
    if len(kept) < minimum:
        return False
    failed, slow = kept.count("fail"), kept.count("slow")
    return failed >= 0.4 * len(kept) or slow >= 0.5 * len(kept)


@given(STEPS, st.integers(1, 8), st.integers(1, 8), st.booleans())
@hypothesis_settings(max_examples=80, deadline=None)
def test_count_window(
    steps: list[tuple[str, float]], size: int, minimum: int, asynchronous: bool
) -> None:
    """The breaker opens at exactly the attempt at which the model's last N are bad."""
    minimum = min(minimum, size)
    _compare(settings.Window(calls=size), minimum, steps, asynchronous)


@example([("slow", 0.0), ("slow", 0.0), ("ok", 0.0), ("ok", 0.0)], 4, False)
@given(STEPS, st.integers(1, 8), st.booleans())
@hypothesis_settings(max_examples=80, deadline=None)
def test_time_window(
    steps: list[tuple[str, float]], minimum: int, asynchronous: bool
) -> None:
    """The same with a rolling window of 10 s in parts."""
    _compare(settings.Window(seconds=10.0), minimum, steps, asynchronous)


def _compare(
    window: settings.Window,
    minimum: int,
    steps: list[tuple[str, float]],
    asynchronous: bool,
) -> None:
    policy = _policy(window, minimum)
    done: list[tuple[float, str]] = []
    with fake_clock() as clock:

        def work(kind: str) -> None:
            if kind == "slow":
                clock.advance(2.5)
            if kind == "fail":
                raise OSError

        async def coroutine(kind: str) -> None:
            work(kind)

        guarded, guarded_async = policy(work), policy(coroutine)
        for kind, wait in steps:
            clock.advance(wait)
            try:
                if asynchronous:
                    asyncio.run(guarded_async(kind))
                else:
                    guarded(kind)
            except OSError:
                assert kind == "fail"
            done.append((clock.now(), kind))
            kept = _kept(done, window, clock.now())
            expected = "open" if _is_bad(kept, minimum) else "closed"
            assert policy.circuit_breaker.state == expected
            if expected == "open":
                return
            counted: Any = policy.circuit_breaker.statistics()["window"]
            assert counted == {
                "calls": len(kept),
                "failures": kept.count("fail"),
                "slow": kept.count("slow"),
            }


def _kept(
    done: list[tuple[float, str]], window: settings.Window, now: float
) -> list[str]:
    if window.calls is not None:
        return [kind for _, kind in done[-window.calls :]]
    assert window.seconds is not None
    length = window.seconds / BUCKETS
    oldest = int(now / length) - BUCKETS
    return [kind for when, kind in done if int(when / length) > oldest]


def test_success_of_an_earlier_episode_is_not_counted() -> None:
    """C8: an attempt that began before the break adds nothing to the window after it."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_ratio=0.5,
            window=settings.Window(calls=10),
            minimum_calls=1,
            success_threshold=1,
        )
    )

    def fail() -> None:
        raise OSError

    def long_running() -> None:
        with pytest.raises(OSError):
            policy.call(fail)
        clock.advance(60.0)
        policy.call(int)
        assert policy.circuit_breaker.state == "closed"

    with fake_clock() as clock:
        policy.call(long_running)
        counted: Any = policy.circuit_breaker.statistics()["window"]
    assert counted["calls"] == 0


def test_threads_lose_no_success() -> None:
    """C10: 16 threads x 1,000 successes are all in the window."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_ratio=0.5, window=settings.Window(calls=100_000)
        )
    )
    guarded = policy(len)

    def work() -> None:
        for _ in range(1000):
            guarded(())

    threads = [threading.Thread(target=work, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted: Any = policy.circuit_breaker.statistics()["window"]
    assert counted["calls"] == 16_000
