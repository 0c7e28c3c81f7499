"""C18: retries are a share of first tries, whoever makes them."""

from __future__ import annotations

import threading
from math import floor
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.gate import UNUSUAL, Gate
from policyctl.runtime.policy import Policy
from policyctl.runtime.retry_budget import TokenBudget
from policyctl.testing import fake_clock


def _bucket(
    burst: int = 2,
    ratio: float = 0.5,
    floor: float = 0.0,
    refill: Literal["success", "request"] = "success",
) -> TokenBudget:
    block = settings.RetryBudget(burst=burst, ratio=ratio, floor=floor, refill=refill)
    return TokenBudget(block, Gate())


def test_burst_then_ratio() -> None:
    """Two retries at once; then two successes pay for one more."""
    bucket = _bucket()
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    assert bucket.refused == 1
    bucket.success()
    assert not bucket.take()
    bucket.success()
    assert bucket.take()


def test_floor_refills_with_time() -> None:
    """0.1 retries/s give one after 10 s, never more than the burst."""
    with fake_clock() as clock:
        bucket = _bucket(burst=1, ratio=0.0, floor=0.1)
        assert bucket.take()
        clock.advance(9.0)
        assert not bucket.take()
        clock.advance(1.5)
        assert bucket.take()
        clock.advance(1000.0)
        assert bucket.tokens == 1.0


def test_only_the_chosen_event_refills() -> None:
    """refill: request counts first tries and no successes."""
    bucket = _bucket(burst=1, ratio=1.0, refill="request")
    bucket.take()
    bucket.success()
    assert not bucket.take()
    bucket.first_try()
    assert bucket.take()


def test_no_burst_earns_every_retry() -> None:
    """With burst 0 the first retry needs successes before it."""
    bucket = _bucket(burst=0, ratio=0.5)
    assert not bucket.take()
    bucket.success()
    bucket.success()
    assert bucket.take()
    assert not bucket.take()


def test_gate_is_flagged_only_while_tokens_are_missing() -> None:
    """A full bucket costs success nothing."""
    gate = Gate()
    block = settings.RetryBudget(burst=1, ratio=0.5, floor=0.0)
    bucket = TokenBudget(block, gate)
    assert gate.count == 0
    bucket.take()
    assert gate.count == UNUSUAL
    bucket.success()
    assert gate.count == UNUSUAL
    bucket.success()
    assert gate.count == 0


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 5))
@hypothesis_settings(max_examples=50)
def test_bound_holds_for_any_script(results: list[bool], burst: int) -> None:
    """Retries never exceed ratio x successes + burst (+ the one being earned)."""
    bucket = _bucket(burst=burst, ratio=0.25)
    taken = successes = 0
    for success in results:
        if success:
            successes += 1
            bucket.success()
        elif bucket.take():
            taken += 1
        assert taken <= 0.25 * successes + burst


def test_policy_stops_when_tokens_are_out() -> None:
    """The call ends with the real error and the reason, for all threads together."""
    policy = Policy(
        retry=settings.Retry(
            max_attempts=9,
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("ConnectionError",),
            budget=settings.RetryBudget(ratio=0.5, floor=0.0, burst=10),
        )
    )
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ConnectionError

    def work() -> None:
        for _ in range(5):
            with pytest.raises(ConnectionError):
                policy.call(fail)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 40 + 10
    with pytest.raises(ConnectionError) as caught:
        policy.call(fail)
    assert "no token left" in caught.value.__notes__[0]
    for _ in range(20):
        policy.call(lambda: None)
    assert policy.statistics()["retry_budget"]["tokens"] == 10.0
    assert policy.gate.count == 0


@pytest.mark.parametrize("ratio", [0.1, 0.01, 0.3, 0.07, 1 / 3])
def test_parts_add_up_to_whole_tokens(ratio: float) -> None:
    """After n successes there were exactly floor(n x ratio) retries, rounding aside."""
    share = settings.RetryBudget(ratio=ratio, floor=0.0, burst=2)
    tokens = TokenBudget(share, Gate())
    assert (tokens.take(), tokens.take()) == (True, True)
    taken = 0
    for number in range(1, 2000):
        tokens.success()
        taken += tokens.take()
        assert taken == floor(number * ratio + 1e-7)


def test_time_from_zero_and_time_that_goes_back() -> None:
    """The floor counts from any instant, and another clock takes no tokens away."""
    gate = Gate()
    with fake_clock(0.0) as clock:
        block = settings.RetryBudget(ratio=0.0, floor=0.5, burst=4)
        tokens = TokenBudget(block, gate)
        for _ in range(4):
            assert tokens.take()
        clock.advance(2.0)
        assert tokens.tokens == 1.0
    with fake_clock(-1e6):
        assert tokens.tokens == 1.0
    assert gate.count == UNUSUAL
