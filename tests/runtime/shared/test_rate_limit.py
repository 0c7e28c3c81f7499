"""Shared rate limits (C23): one bucket for all, and a bucket of one's own without it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import PolicyConfigError, RateLimitedError
from policyctl.runtime.policy import Policy
from policyctl.runtime.shared.rate_limit import PREFIX, TAKE
from policyctl.runtime.stores.redis import RedisServer

Sides = Callable[..., Policy]
pytestmark = pytest.mark.timing


def limit(**changes: Any) -> settings.RateLimit:
    """A shared limit of ten a second, five at once."""
    block: dict[str, Any] = {"rate": 10.0, "burst": 5, "store": "redis", **changes}
    return settings.RateLimit(**block)


def admitted(policy: Policy, tries: int) -> int:
    """How many of so many calls pass."""
    count = 0
    for _ in range(tries):
        try:
            policy.call(lambda: None)
        except RateLimitedError:
            continue
        count += 1
    return count


def test_one_burst_for_all(valkey: Any, sides: Sides) -> None:
    """Two processes have together the tokens of one bucket."""
    one, two = (sides(n, rate_limit=limit(rate=0.001)) for n in (1, 2))
    assert admitted(one, 3) + admitted(two, 10) == 5
    assert admitted(one, 10) == 0


def test_the_refusal_says_when(valkey: Any, sides: Sides) -> None:
    """The error's retry_after is the time until the next token."""
    one = sides(1, rate_limit=limit(rate=0.01, burst=1))
    assert admitted(one, 1) == 1
    with pytest.raises(RateLimitedError) as caught:
        one.call(lambda: None)
    assert caught.value.retry_after == pytest.approx(100.0, abs=5.0)


async def test_tasks_wait_in_turn(valkey: Any, sides: Sides) -> None:
    """With max_wait, tokens are taken in advance: 25 of them take 20 tokens' time."""
    one = sides(1, rate_limit=limit(rate=100.0, max_wait=5.0))

    async def call() -> float:
        return time.monotonic()

    start = time.monotonic()
    times = await asyncio.gather(*(one.call(call) for _ in range(25)))
    assert 0.19 <= max(times) - start < 0.5


async def test_max_wait_is_the_most(valkey: Any, sides: Sides) -> None:
    """Who would wait longer is refused at once."""
    one = sides(1, rate_limit=limit(rate=10.0, burst=1, max_wait=0.25))

    async def call() -> None:
        """Works."""

    start = time.monotonic()
    results = await asyncio.gather(
        *(one.call(call) for _ in range(10)), return_exceptions=True
    )
    assert results.count(None) == 3  # at once, after 0.1 s, after 0.2 s
    assert time.monotonic() - start < 1.0


def test_the_budget_bounds_the_wait(valkey: Any, sides: Sides) -> None:
    """A caller with less time than the wait takes no token."""
    one = sides(1, rate_limit=limit(rate=0.01, burst=1, max_wait=3600.0))
    assert admitted(one, 1) == 1
    with budget(30.0), pytest.raises(RateLimitedError):
        one.call(lambda: None)


async def test_a_cancelled_wait_gives_its_token_back(valkey: Any, sides: Sides) -> None:
    """The next in line gets it."""
    one = sides(1, rate_limit=limit(rate=2.0, burst=1, max_wait=5.0))

    async def call() -> None:
        """Works."""

    await one.call(call)
    waiting = [asyncio.ensure_future(one.call(call)) for _ in range(8)]
    await asyncio.sleep(0.1)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.sleep(0.1)
    start = time.monotonic()
    await one.call(call)
    assert time.monotonic() - start < 0.6


def test_observe_lets_all_through(valkey: Any, sides: Sides) -> None:
    """Mode observe counts what it would have refused."""
    one = sides(1, rate_limit=limit(rate=0.001, mode="observe"))
    assert admitted(one, 9) == 9
    assert one.rate_limit.rejected == 4


def test_threads_never_exceed_it(valkey: Any, sides: Sides) -> None:
    """Twenty threads on two sides for half a second: burst and the time's tokens."""
    both = [sides(n, rate_limit=limit(rate=40.0, burst=10)) for n in (1, 2)]
    counts: list[int] = []
    start = time.monotonic()

    def hammer(policy: Policy) -> None:
        while time.monotonic() - start < 0.5:
            counts.append(admitted(policy, 1))
            time.sleep(0.001)

    threads = [
        threading.Thread(target=hammer, args=(p,), daemon=True) for p in both * 10
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    most = 10 + 40 * (time.monotonic() - start)
    assert 10 <= sum(counts) <= most


def test_two_processes(valkey: Any) -> None:
    """What two processes take together is one bucket."""
    code = (
        "import sys\n"
        "from policyctl.runtime import settings\n"
        "from policyctl.runtime.policy import Policy\n"
        "from policyctl.runtime.errors import RateLimitedError\n"
        "block = settings.RateLimit(rate=0.01, burst=30, store='redis')\n"
        "call = Policy(service='p', operation='q', rate_limit=block)(lambda: 1)\n"
        "count = 0\n"
        "for _ in range(40):\n"
        "    try:\n"
        "        count += call()\n"
        "    except RateLimitedError:\n"
        "        pass\n"
        "print(count)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    counts = [int(process.communicate()[0]) for process in started]
    assert sum(counts) == 30


def test_alone_without_the_store(
    own_valkey: Any,
    sides: Sides,
    wait_until: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The store goes: a bucket of one's own, said once, and the shared one after."""
    caplog.set_level(logging.WARNING, "policyctl")
    one = sides(1, rate_limit=limit(rate=0.01))
    assert admitted(one, 10) == 5
    own_valkey.stop()
    wait_until(lambda: admitted(one, 1) == 1)
    assert admitted(one, 10) == 4
    assert caplog.text.count("is away (") == 1
    own_valkey.start()
    wait_until(lambda: "is back;" in caplog.text)
    assert admitted(one, 10) == 5


def test_a_hanging_store_delays_one_call(
    own_valkey: Any, sides: Sides, impatience: float
) -> None:
    """A server that answers nothing costs one bounded wait."""
    one = sides(1, rate_limit=limit(rate=1000.0, burst=100))
    assert admitted(one, 1) == 1
    own_valkey.freeze(True)
    try:
        start = time.monotonic()
        assert admitted(one, 1) == 1
        assert time.monotonic() - start < impatience + 0.3
        start = time.monotonic()
        assert admitted(one, 20) == 20
        assert time.monotonic() - start < 0.2
    finally:
        own_valkey.freeze(False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_takes_from_the_same_bucket(valkey: Any, sides: Sides) -> None:
    """C41: child and parent share the tokens."""
    one = sides(1, rate_limit=limit(rate=0.01))
    assert admitted(one, 2) == 2
    pid = os.fork()
    if pid == 0:
        os._exit(admitted(one, 2))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert admitted(one, 9) == 1


def test_without_a_name_nothing_can_be_shared() -> None:
    """A policy that other processes cannot know is refused."""
    with pytest.raises(PolicyConfigError, match="a policy without a name"):
        Policy(rate_limit=limit())


@hypothesis_settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    rate=st.floats(0.5, 5000.0),
    burst=st.integers(1, 50),
    asks=st.lists(st.floats(0.0, 2.0), max_size=80),
)
def test_a_script_against_the_formula(
    valkey_server: RedisServer, rate: float, burst: int, asks: list[float]
) -> None:
    """All asked in one instant: the n-th token over the burst is n / rate away."""
    key = f"{PREFIX}h.h"
    valkey_server.client().delete(key)
    longest = [round(seconds * 1e6) for seconds in asks]
    args = (repr(rate), burst, json.dumps(longest), 0)
    tokens, answers = valkey_server.run(TAKE, [key], args)
    taken = 0
    for seconds, answer in zip(longest, answers, strict=True):
        wait = max(0, taken + 1 - burst) / rate * 1e6
        if abs(wait - seconds) > 1:  # not on the edge, to the microsecond
            assert (answer >= 0) == (wait <= seconds)
        found = answer if answer >= 0 else -answer - 1
        assert found == pytest.approx(wait, abs=1.5)
        taken += answer >= 0
    assert float(tokens) == pytest.approx(burst - taken, abs=1e-6)


@pytest.fixture
def valkey_server(valkey: Any) -> RedisServer:
    """The server, for scripts."""
    return RedisServer("POLICY_REDIS_URL")
