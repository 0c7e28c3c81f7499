"""Shared breakers through policies: two sides in one process, each with its own link."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError, PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.shared import link as links

Sides = Callable[..., Policy]
BreakerOf = Callable[..., settings.CircuitBreaker]
pytestmark = pytest.mark.timing


def fail(policy: Policy, times: int = 1) -> None:
    """Let calls fail."""

    def failing() -> None:
        raise ValueError

    for _ in range(times):
        with pytest.raises(ValueError):
            policy.call(failing)


def succeed(policy: Policy, times: int = 1) -> None:
    """Let calls work."""
    for _ in range(times):
        policy.call(lambda: None)


def state(policy: Policy) -> str:
    """The state as this side sees it."""
    return policy.circuit_breaker.state


def store(policy: Policy) -> Any:
    """What this side thinks of the store."""
    return policy.circuit_breaker.statistics()["store"]


def test_nothing_is_opened_before_first_use(valkey: Any, breaker_of: BreakerOf) -> None:
    """C41: making the policy connects to nothing and starts no thread."""
    client = valkey.client()
    before = set(threading.enumerate()), len(client.client_list())
    policy = Policy(service="quiet", operation="one", circuit_breaker=breaker_of())
    assert policy.circuit_breaker.statistics()["store"] == "unknown"
    policy.circuit_breaker.force_open()
    policy.circuit_breaker.reset()
    assert set(threading.enumerate()) <= before[0]
    assert len(client.client_list()) <= before[1]
    client.close()
    registry.forget("quiet.one")


def test_peers_see_an_opening(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C11: within 1 s the other side refuses too, with the rest of the same break."""
    long = settings.Recovery(initial=30.0, jitter=0.2)
    one, two = (
        sides(n, circuit_breaker=breaker_of(recovery_timeout=long)) for n in (1, 2)
    )
    succeed(one)
    succeed(two)
    times: list[float] = []
    for _ in range(3):
        one.circuit_breaker.reset()
        wait_until(lambda: (state(one), state(two)) == ("closed", "closed"))
        fail(one, 3)
        start = time.monotonic()
        assert state(one) == "open"
        wait_until(lambda: state(two) == "open")
        times.append(time.monotonic() - start)
    assert min(times) < 1.0  # the fastest: machines that run tests are busy
    first, second = one.circuit_breaker.retry_after, two.circuit_breaker.retry_after
    assert first == pytest.approx(second, abs=0.05)
    with pytest.raises(CircuitOpenError) as caught:
        succeed(two)
    assert caught.value.retry_after == pytest.approx(first, abs=0.05)


def test_a_new_process_knows_before_its_first_call(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """Who starts while the circuit is open is refused from the first call on."""
    long = breaker_of(recovery_timeout=settings.Recovery(initial=30.0))
    one = sides(1, circuit_breaker=long)
    fail(one, 3)
    wait_until(lambda: valkey.client().exists("policyctl:breaker:pay.charge"))
    two = sides(2, circuit_breaker=long)
    with pytest.raises(CircuitOpenError):
        succeed(two)


async def test_a_new_async_process_knows_too(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """The same for coroutine functions, without blocking the loop."""
    long = breaker_of(recovery_timeout=settings.Recovery(initial=30.0))
    one = sides(1, circuit_breaker=long)
    fail(one, 3)
    wait_until(lambda: valkey.client().exists("policyctl:breaker:pay.charge"))
    two = sides(2, circuit_breaker=long)

    @two
    async def call() -> None:
        """Never runs."""

    with pytest.raises(CircuitOpenError):
        await call()


def test_failures_of_several_processes_add_up(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """Two failures here and two there are four in a row, seen within 1 s."""
    block = breaker_of(failure_threshold=4)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    fail(one, 2)
    fail(two, 2)
    wait_until(lambda: (state(one), state(two)) == ("open", "open"))


def test_a_ratio_adds_up(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """Neither side has enough calls to judge; both together have."""
    block = breaker_of(failure_threshold=None, failure_ratio=0.5, minimum_calls=12)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    for policy in (one, two):
        succeed(policy, 2)
        fail(policy, 5)
    wait_until(lambda: (state(one), state(two)) == ("open", "open"))


def test_a_busy_healthy_peer_keeps_it_closed(
    valkey: Any, sides: Sides, breaker_of: BreakerOf
) -> None:
    """Successes that only the fast path counted break the row of the others' failures."""
    block = breaker_of(failure_threshold=4)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    end = time.monotonic() + 1.2
    sent = 0
    while time.monotonic() < end:
        succeed(two, 50)
        if sent < 3:
            fail(one)
            sent += 1
        time.sleep(0.01)
    assert (state(one), state(two)) == ("closed", "closed")


def test_probes_are_shared_and_close_it_for_all(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """A probe here and a probe there are the two that close the circuit."""
    one, two = (sides(n, circuit_breaker=breaker_of()) for n in (1, 2))
    fail(one, 3)
    wait_until(lambda: (state(one), state(two)) == ("half_open", "half_open"))
    succeed(one)
    assert state(one) == "half_open"
    wait_until(lambda: probed(two))
    wait_until(lambda: (state(one), state(two)) == ("closed", "closed"))


def probed(policy: Policy) -> bool:
    """Try a probe."""
    try:
        succeed(policy)
    except CircuitOpenError:
        return False
    return True


def test_one_process_closes_it_by_calls_in_a_row(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """Each verdict reaches the store before the next permit is asked for."""
    one = sides(1, circuit_breaker=breaker_of(success_threshold=5))
    fail(one, 3)
    wait_until(lambda: state(one) == "half_open")
    succeed(one, 5)
    succeed(one, 5)
    assert state(one) == "closed"


def test_a_bad_probe_reopens_it_for_all(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """One failed probe anywhere, and everybody waits for a longer break."""
    recovery = settings.Recovery(initial=0.2, multiplier=5000.0, jitter=0.0)
    block = breaker_of(recovery_timeout=recovery)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    fail(one, 3)
    wait_until(lambda: state(two) == "half_open")
    fail(one)
    assert state(one) == "open"
    wait_until(lambda: state(two) == "open")
    assert two.circuit_breaker.retry_after == pytest.approx(1000.0, abs=60.0)


@pytest.mark.parametrize("permits", [1, 3])
async def test_tasks_and_threads_share_the_permits(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_async: Any, permits: int
) -> None:
    """C6: of 100 tasks and 20 threads on two sides, exactly so many probes run."""
    block = breaker_of(half_open_max_calls=permits, success_threshold=permits)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    fail(one, 3)
    await wait_async(lambda: (state(one), state(two)) == ("half_open", "half_open"))
    release, admitted, refusals = threading.Event(), [], list[int]()
    loop = asyncio.get_running_loop()
    freed = asyncio.Event()

    async def probe() -> None:
        admitted.append(1)
        await freed.wait()

    def probe_sync() -> None:
        admitted.append(1)
        release.wait(60)

    def in_thread(policy: Policy) -> None:
        try:
            policy.call(probe_sync)
        except CircuitOpenError:
            refusals.append(1)

    tasks = [loop.create_task(p.call(probe)) for p in (one, two) for _ in range(50)]
    threads = [
        threading.Thread(target=in_thread, args=(policy,), daemon=True)
        for policy in (one, two)
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    await wait_async(
        lambda: len(refusals) + sum(t.done() for t in tasks) >= 120 - permits
    )
    await asyncio.sleep(0.2)
    assert len(admitted) == permits
    freed.set()
    release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for thread in threads:
        thread.join()
    refused = [r for r in results if isinstance(r, CircuitOpenError)]
    assert len(results) - len(refused) <= permits
    await wait_async(lambda: (state(one), state(two)) == ("closed", "closed"))


async def test_a_cancelled_probe_gives_its_lease_back(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_async: Any
) -> None:
    """CB-04: after a cancellation the permit is there for others at once."""
    one, two = (sides(n, circuit_breaker=breaker_of()) for n in (1, 2))
    fail(one, 3)
    await wait_async(lambda: (state(one), state(two)) == ("half_open", "half_open"))

    async def hang() -> None:
        await asyncio.sleep(60)

    for policy in (one, two, one):
        task = asyncio.ensure_future(policy.call(hang))
        await asyncio.sleep(0.1)
        assert not task.done()
        task.cancel()
        await asyncio.sleep(0.05)
    assert state(two) == "half_open"


async def test_cancelled_while_asking(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_async: Any
) -> None:
    """A caller that goes away between question and answer leaves no lease behind."""
    one = sides(1, circuit_breaker=breaker_of())
    fail(one, 3)
    await wait_async(lambda: state(one) == "half_open")

    async def call() -> None:
        """Works."""

    for _ in range(20):
        task = asyncio.ensure_future(one.call(call))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0.002)
    await asyncio.sleep(0.1)
    await one.call(call)


def test_a_hanging_probe_is_a_failure(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C6: in flight longer than half_open_max_wait reopens it, without any activity."""
    recovery = settings.Recovery(initial=0.2, multiplier=5000.0, jitter=0.0)
    block = breaker_of(half_open_max_wait=0.3, recovery_timeout=recovery)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    fail(one, 3)
    wait_until(lambda: state(one) == "half_open")
    end = threading.Event()
    thread = threading.Thread(target=lambda: one.call(end.wait, 60), daemon=True)
    thread.start()
    wait_until(lambda: state(two) == "open" and reopened(two))
    end.set()
    thread.join()


def reopened(policy: Policy) -> bool:
    """Whether the break is the longer one."""
    return policy.circuit_breaker.retry_after > 10


def test_the_closed_path_costs_no_round_trip(
    valkey: Any, sides: Sides, breaker_of: BreakerOf
) -> None:
    """C11: ten thousand calls need no more commands than the time that they take."""
    one = sides(1, circuit_breaker=breaker_of(failure_ratio=0.5))
    succeed(one)
    client = valkey.client()
    time.sleep(0.2)

    def commands() -> int:
        return int(client.info("stats")["total_commands_processed"])

    before, start = commands(), time.monotonic()
    succeed(one, 10_000)
    ticks = (time.monotonic() - start) / links.TICK
    assert commands() - before <= 3 * (ticks + 2)


def test_without_a_store_each_goes_on_alone(
    own_valkey: Any,
    sides: Sides,
    breaker_of: BreakerOf,
    wait_until: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C11: local while it is away, said once; shared again when it is back."""
    caplog.set_level(logging.WARNING, "policyctl")
    long = settings.Recovery(initial=30.0, jitter=0.0)
    one, two = (
        sides(n, circuit_breaker=breaker_of(recovery_timeout=long)) for n in (1, 2)
    )
    succeed(one)
    succeed(two)
    own_valkey.stop()
    start = time.monotonic()
    fail(one, 3)
    assert state(one) == "open"
    succeed(two, 10)
    assert time.monotonic() - start < 0.5
    wait_until(lambda: (store(one), store(two)) == ("away", "away"))
    time.sleep(0.7)
    lines = [r.message for r in caplog.records if "is away" in r.message]
    assert len(lines) == 2  # one for each side
    own_valkey.start()
    wait_until(lambda: state(two) == "open")
    assert two.circuit_breaker.retry_after < 29.5
    lines = [r.message for r in caplog.records if "is back;" in r.message]
    assert len(lines) == 2


def test_alone_from_the_start(
    own_valkey: Any,
    sides: Sides,
    breaker_of: BreakerOf,
    wait_until: Any,
    impatience: float,
) -> None:
    """A store that was never there delays the first call a little, and no other."""
    own_valkey.stop()
    one = sides(1, circuit_breaker=breaker_of())
    start = time.monotonic()
    succeed(one)
    assert time.monotonic() - start < impatience + 0.2
    start = time.monotonic()
    fail(one, 3)
    assert state(one) == "open"
    wait_until(lambda: state(one) == "half_open")
    succeed(one, 2)
    assert state(one) == "closed"
    assert time.monotonic() - start < 1.0


def test_a_store_that_hangs(
    own_valkey: Any,
    sides: Sides,
    breaker_of: BreakerOf,
    wait_until: Any,
    impatience: float,
) -> None:
    """A server that takes questions and never answers: bounded, then alone."""
    one = sides(1, circuit_breaker=breaker_of())
    succeed(one)
    fail(one, 3)
    wait_until(lambda: state(one) == "half_open")
    own_valkey.freeze(True)
    try:
        start = time.monotonic()
        succeed(one)
        assert time.monotonic() - start < impatience + 0.3
        start = time.monotonic()
        succeed(one)
        assert time.monotonic() - start < 0.1
        assert state(one) == "closed"
    finally:
        own_valkey.freeze(False)


def test_a_probe_whose_verdict_cannot_be_told(
    own_valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """The store goes while a probe runs: its success counts here, once."""
    one = sides(1, circuit_breaker=breaker_of())
    fail(one, 3)
    wait_until(lambda: state(one) == "half_open")
    one.call(own_valkey.stop)
    wait_until(lambda: store(one) == "away")
    assert state(one) == "half_open"
    succeed(one)
    assert state(one) == "closed"


def test_what_the_store_forgot_is_told_again(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """A server that lost its data while circuits are open learns of them anew."""
    long = settings.Recovery(initial=30.0, jitter=0.0)
    one = sides(1, circuit_breaker=breaker_of(recovery_timeout=long))
    fail(one, 3)
    key = "policyctl:breaker:pay.charge"
    wait_until(lambda: valkey.client().exists(key))
    valkey.client().flushall()
    valkey.client().script_flush()
    wait_until(lambda: valkey.client().hget(key, "state") == b"open")
    assert state(one) == "open"


def test_reset_is_for_all_and_force_is_not(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C12: reset closes it everywhere; a forced state is this process's own."""
    long = settings.Recovery(initial=30.0, jitter=0.0)
    one, two = (
        sides(n, circuit_breaker=breaker_of(recovery_timeout=long)) for n in (1, 2)
    )
    fail(one, 3)
    wait_until(lambda: state(two) == "open")
    two.circuit_breaker.reset()
    wait_until(lambda: (state(one), state(two)) == ("closed", "closed"))
    one.circuit_breaker.force_open()
    time.sleep(0.4)
    assert (state(one), state(two)) == ("forced_open", "closed")
    succeed(two)


def test_observe_moves_as_enforce_does(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C12: a side that only observes opens for all, and still lets calls run."""
    long = settings.Recovery(initial=30.0, jitter=0.0)
    one = sides(1, circuit_breaker=breaker_of(mode="observe", recovery_timeout=long))
    two = sides(2, circuit_breaker=breaker_of(recovery_timeout=long))
    succeed(two)
    fail(one, 5)
    wait_until(lambda: state(two) == "open")
    succeed(one)
    assert state(one) == "open"


def test_listeners_are_told_once_and_may_be_slow(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C9: one event for each transition, and a slow listener delays no news."""
    block = breaker_of(recovery_timeout=settings.Recovery(initial=30.0, jitter=0.0))
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))
    succeed(two)
    seen: list[tuple[str, str]] = []

    def listener(event: Any) -> None:
        if event.kind == "transition":
            seen.append((event.data["old"], event.data["new"]))
            time.sleep(0.2)

    stop = EVENTS.listen(listener)
    try:
        fail(one, 3)
        wait_until(lambda: two.circuit_breaker._breaker._state == "open")
    finally:
        stop()
    assert seen.count(("closed", "open")) <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_asks_for_itself(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """C41: the child has its own thread and connection, and shares the state."""
    long = settings.Recovery(initial=30.0, jitter=0.0)
    one = sides(1, circuit_breaker=breaker_of(recovery_timeout=long))
    succeed(one)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            fail(one, 3)
            wait_until(
                lambda: valkey.client().hget("policyctl:breaker:pay.charge", "state")
            )
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    wait_until(lambda: state(one) == "open")


def test_keys_of_arguments_are_shared_by_value(
    valkey: Any, sides: Sides, breaker_of: BreakerOf, wait_until: Any
) -> None:
    """Scope argument: each value has its own circuit, the same on both sides."""
    long = settings.Recovery(initial=30.0, jitter=0.0)
    block = breaker_of(scope="argument:tenant", recovery_timeout=long)
    one, two = (sides(n, circuit_breaker=block) for n in (1, 2))

    def call(tenant: str, works: bool) -> None:
        if not works:
            raise ValueError

    for _ in range(3):
        with pytest.raises(ValueError):
            one.call(call, "a", False)

    def refused(tenant: str) -> bool:
        try:
            two.call(call, tenant, True)
        except CircuitOpenError:
            return True
        return False

    wait_until(lambda: refused("a"))
    assert not refused("b")


def test_without_a_name_nothing_can_be_shared(breaker_of: BreakerOf) -> None:
    """A policy that other processes cannot know is refused."""
    with pytest.raises(PolicyConfigError, match="a policy without a name"):
        Policy(circuit_breaker=breaker_of())


def test_a_missing_address_is_said(
    monkeypatch: pytest.MonkeyPatch,
    breaker_of: BreakerOf,
    caplog: pytest.LogCaptureFixture,
    wait_until: Any,
) -> None:
    """Without the variable each process goes on alone, and the log names it."""
    monkeypatch.delenv("NO_SUCH_URL", raising=False)
    policy = Policy(
        service="lone",
        operation="one",
        circuit_breaker=breaker_of(url_env="NO_SUCH_URL"),
    )
    succeed(policy)
    wait_until(lambda: "the environment variable NO_SUCH_URL is not set" in caplog.text)
    registry.forget("lone.one")
