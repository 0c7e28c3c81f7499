"""C23: the token bucket for attempts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import PolicyConfigError, RateLimitedError
from policyctl.runtime.policy import Policy
from policyctl.runtime.rate_limit import TokenBucket
from policyctl.testing import fake_clock


def _policy(**changes: Any) -> Policy:
    defaults: dict[str, Any] = {"rate": 10.0, "burst": 2}
    return Policy(rate_limit=settings.RateLimit(**defaults | changes))


def test_burst_then_rate() -> None:
    """Two at once, then one each 100 ms; the error says when the next one is."""
    with fake_clock() as clock:
        policy = _policy()
        assert [policy.call(int), policy.call(int)] == [0, 0]
        with pytest.raises(RateLimitedError) as caught:
            policy.call(int)
        assert caught.value.retry_after == pytest.approx(0.1)
        assert caught.value.rate == 10.0
        clock.advance(0.1)
        policy.call(int)
        with pytest.raises(RateLimitedError):
            policy.call(int)
        assert policy.rate_limit.rejected == 2


def test_waits_up_to_max_wait() -> None:
    """With 250 ms to wait, the third and fourth come 100 and 200 ms later."""
    with fake_clock(start=1000.0) as clock:
        policy = _policy(max_wait=0.25)
        times = []
        for _ in range(4):
            policy.call(int)
            times.append(clock.now())
        assert times == pytest.approx([1000.0, 1000.0, 1000.1, 1000.2])


async def test_cancelled_wait_gives_the_token_back() -> None:
    """A cancelled waiter's place goes to the next."""
    policy = _policy(rate=1.0, burst=1, max_wait=60.0)

    async def work() -> None: ...

    await policy.call(work)
    task = asyncio.create_task(policy.call(work))
    await asyncio.sleep(0.001)
    assert policy.rate_limit.tokens < -0.9
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert policy.rate_limit.tokens > -0.1
    assert policy.gate.count == 0


def test_no_wait_past_the_budget() -> None:
    """A token that comes after the budget's end is refused at once."""
    with fake_clock() as clock:
        policy = _policy(rate=1.0, burst=1, max_wait=60.0)
        policy.call(int)
        with budget(0.5), pytest.raises(RateLimitedError):
            policy.call(int)
        assert clock.slept == []


def test_each_attempt_takes_a_token() -> None:
    """The limit counts attempts, and its rejection ends the retries."""
    policy = Policy(
        rate_limit=settings.RateLimit(rate=0.001, burst=2),
        retry=settings.Retry(
            max_attempts=5,
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("OSError",),
        ),
    )
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise OSError

    with pytest.raises(OSError) as caught:
        policy.call(fail)
    assert len(calls) == 2
    assert "rate limit of 0.001/s reached" in caught.value.__notes__[0]


def test_modes() -> None:
    """observe counts would-be rejections, disabled nothing; neither refuses."""
    for mode, rejected in (("observe", 3), ("disabled", 0)):
        with fake_clock():
            policy = _policy(mode=mode)
            for _ in range(5):
                policy.call(int)
            assert policy.rate_limit.rejected == rejected


def test_shared_store_is_refused() -> None:
    """store: redis has no engine here, so it is an error."""
    with pytest.raises(PolicyConfigError, match=r"rate_limit\.store"):
        _policy(store="redis")


@given(
    st.lists(st.floats(0.0, 0.5), max_size=60),
    st.floats(0.5, 50.0),
    st.integers(1, 5),
)
@hypothesis_settings(max_examples=60)
def test_bound(waits: list[float], rate: float, burst: int) -> None:
    """Over any span t at most burst + rate x t are let through."""
    with fake_clock() as clock:
        bucket = TokenBucket(settings.RateLimit(rate=rate, burst=burst))
        began, taken = clock.now(), 0
        for wait in waits:
            clock.advance(wait)
            taken += bucket.take(0.0)[0]
            assert taken <= burst + rate * (clock.now() - began) + 1e-6


def _blocked() -> Policy:
    """Ten tokens that do not come back by themselves, and no slot at once."""
    return Policy(
        rate_limit=settings.RateLimit(rate=0.001, burst=10),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_queue=5, max_wait=30.0),
    )


async def test_a_cancel_in_the_queue_for_a_slot_gives_the_token_back() -> None:
    """The callee never saw that attempt."""
    policy = _blocked()
    gate = asyncio.Event()
    holder = asyncio.create_task(policy.call(gate.wait))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(policy.call(gate.wait))
    await asyncio.sleep(0)
    assert policy.rate_limit.tokens == pytest.approx(8.0, abs=0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()
    await holder
    assert policy.rate_limit.tokens == pytest.approx(9.0, abs=0.01)


async def test_an_attempt_that_ran_keeps_its_token() -> None:
    """However it ended: the callee has seen it."""
    policy = _blocked()

    async def fail() -> None:
        raise ValueError

    async def hang() -> None:
        await asyncio.sleep(60)

    with pytest.raises(ValueError, match=r"^$"):
        await policy.call(fail)
    task = asyncio.create_task(policy.call(hang))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    policy.call(int)
    assert policy.rate_limit.tokens == pytest.approx(7.0, abs=0.01)


async def test_a_coroutine_behind_a_lambda_takes_one_token() -> None:
    """Making the coroutine is no attempt; running it is."""
    policy = _blocked()

    async def work() -> str:
        return "ok"

    assert await policy.call(lambda: work()) == "ok"
    assert policy.rate_limit.tokens == pytest.approx(9.0, abs=0.01)


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 2.0**31), st.floats(0.01, 1e5), st.integers(1, 20))
def test_who_waits_as_told_is_served(start: float, rate: float, burst: int) -> None:
    """After exactly retry_after there is a token, whatever the clock rounds."""
    with fake_clock(start=start) as clock:
        bucket = TokenBucket(settings.RateLimit(rate=rate, burst=burst))
        for _ in range(burst):
            assert bucket.take(0.0) == (True, 0.0)
        for _ in range(5):
            taken, wait = bucket.take(0.0)
            if not taken:
                clock.advance(wait)
                taken, wait = bucket.take(0.0)
            assert (taken, wait) == (True, 0.0)


def test_tokens_that_were_taken_early_are_owed() -> None:
    """A caller that always comes a microsecond early gains nothing by it."""
    with fake_clock(start=1000.0) as clock:
        bucket = TokenBucket(settings.RateLimit(rate=1000.0, burst=1))
        served = 0
        for _ in range(10_000):
            served += bucket.take(0.0)[0]
            clock.advance(0.000999)
        assert served <= 1 + 9.99 * 1000
