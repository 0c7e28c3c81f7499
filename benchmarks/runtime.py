"""What a guarded call costs, as a multiple of the bare call, in one process.

Run it with ``python -m benchmarks.runtime``. All cases take turns in short rounds, so
that a slow phase of the machine hits them alike. A case's figure is its fastest round,
the ratio compares it with the fastest round of its floor, and the spread is how much
slower the median round was.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.runtime.telemetry import enable
from policyctl.runtime.telemetry.switch import SWITCH

ROUNDS = 120
CALLS = 1_000

NOW = settings.Backoff(initial=0.0, max=0.0)
RETRY = settings.Retry(max_attempts=3, backoff=NOW, retry_on=("ConnectionError",))
BREAKER = settings.CircuitBreaker(failure_threshold=5)
RATIO_BREAKER = settings.CircuitBreaker(
    failure_ratio=0.5, window=settings.Window(seconds=30.0)
)
BULKHEAD = settings.Bulkhead(max_concurrent=100)
TIMEOUT = settings.AttemptTimeout(total=5.0)
METERED = "metered"


@dataclass
class Case:
    """One measured way to call; ``goal`` is a ratio, or nanoseconds if over 100.

    ``base`` names the case without metrics whose cost may at most be doubled.
    """

    name: str
    run: Callable[[int], Awaitable[None]]
    floor: str
    goal: float | None = None
    calls: int = CALLS
    base: str | None = None
    rounds: list[float] = field(default_factory=list[float])

    @property
    def best(self) -> float:
        """Nanoseconds a call in the fastest round."""
        return min(self.rounds)


def full_stack(**more: object) -> Policy:
    """Retry, breaker and bulkhead, and what else is asked for."""
    return Policy(
        retry=RETRY, circuit_breaker=BREAKER, bulkhead=BULKHEAD, **more  # type: ignore[arg-type]
    )


def metered(operation: str, **more: object) -> Policy:
    """The same with metrics on, as after its first call."""
    enable(METERED, metrics="prometheus")
    SWITCH.wake(METERED)
    return full_stack(service=METERED, operation=operation, **more)


async def coroutine(value: int) -> int:
    """What is guarded, async."""
    return value


def plain(value: int) -> int:
    """What is guarded, sync."""
    return value


async def passing_coroutine(value: int) -> int:
    """The least that any async wrapper costs."""
    return await coroutine(value)


def passing_plain(value: int) -> int:
    """The least that any sync wrapper costs."""
    return plain(value)


async def timed_coroutine(value: int) -> int:
    """The standard library's timeout."""
    async with asyncio.timeout(5.0):
        return await coroutine(value)


class FailsTwice:
    """Two failures, then a success, over and over."""

    def __init__(self) -> None:
        self.calls = 0

    def plain(self) -> int:
        """Sync."""
        self.calls += 1
        if self.calls % 3:
            raise ConnectionError
        return self.calls

    async def coroutine(self) -> int:
        """Async."""
        return self.plain()


def awaiting(
    function: Callable[[int], Awaitable[int]],
) -> Callable[[int], Awaitable[None]]:
    """A round that awaits ``function`` again and again."""

    async def run(calls: int) -> None:
        for _ in range(calls):
            await function(1)

    return run


def calling(function: Callable[[int], object]) -> Callable[[int], Awaitable[None]]:
    """A round that calls ``function`` again and again."""

    async def run(calls: int) -> None:
        for _ in range(calls):
            function(1)

    return run


def by_call(policy: Policy, asynchronous: bool) -> Callable[[int], Awaitable[None]]:
    """A round of ``policy.call``."""

    async def run_async(calls: int) -> None:
        for _ in range(calls):
            await policy.call(coroutine, 1)

    async def run_sync(calls: int) -> None:
        for _ in range(calls):
            policy.call(plain, 1)

    return run_async if asynchronous else run_sync


def in_scope(
    run: Callable[[int], Awaitable[None]],
) -> Callable[[int], Awaitable[None]]:
    """The same with a budget open that is shorter than the policy's own."""

    async def scoped(calls: int) -> None:
        with budget(9.0):
            await run(calls)

    return scoped


def rejected(asynchronous: bool) -> Callable[[int], Awaitable[None]]:
    """A round of calls that an open breaker refuses."""
    policy = full_stack()
    guarded_async, guarded = policy(coroutine), policy(plain)
    with_error = policy.call
    for _ in range(5):
        try:
            with_error(FailsTwice().plain)
        except (ConnectionError, CircuitOpenError):
            continue

    async def run_async(calls: int) -> None:
        for _ in range(calls):
            try:
                await guarded_async(1)
            except CircuitOpenError:
                continue

    async def run_sync(calls: int) -> None:
        for _ in range(calls):
            try:
                guarded(1)
            except CircuitOpenError:
                continue

    _open(policy)
    return run_async if asynchronous else run_sync


def _open(policy: Policy) -> None:
    def fail() -> None:
        raise OSError

    while policy.circuit_breaker.state != "open":
        try:
            policy.call(fail)
        except OSError:
            continue


def failing_twice(
    asynchronous: bool, **more: object
) -> Callable[[int], Awaitable[None]]:
    """A round of calls that need three attempts."""
    policy, target = full_stack(**more), FailsTwice()
    guarded_async, guarded = policy(target.coroutine), policy(target.plain)

    async def run_async(calls: int) -> None:
        for _ in range(calls):
            await guarded_async()

    async def run_sync(calls: int) -> None:
        for _ in range(calls):
            guarded()

    return run_async if asynchronous else run_sync


def cases() -> list[Case]:
    """Everything that is measured, floors first."""
    timed = full_stack(attempt_timeout=TIMEOUT)
    own = full_stack(attempt_timeout=TIMEOUT, budget=settings.Budget(total=15.0))
    ratio = Policy(retry=RETRY, circuit_breaker=RATIO_BREAKER, bulkhead=BULKHEAD)
    counted = metered("async", attempt_timeout=TIMEOUT)
    counted_sync = metered("sync")
    sync = full_stack()
    return [
        Case("bare await", awaiting(coroutine), "bare await"),
        Case("await, pass-through wrapper", awaiting(passing_coroutine), "bare await"),
        Case("await, asyncio.timeout", awaiting(timed_coroutine), "bare await"),
        Case("await, full stack", awaiting(timed(coroutine)), "bare await", 6),
        Case(
            "await, full stack, shorter scope open",
            in_scope(awaiting(own(coroutine))),
            "bare await",
            6,
        ),
        Case(
            "await, full stack, own budget", awaiting(own(coroutine)), "bare await", 10
        ),
        Case("await, full stack, .call", by_call(timed, True), "bare await", 10),
        Case("await, failure ratio", awaiting(ratio(coroutine)), "bare await"),
        Case(
            "await, full stack, metrics",
            awaiting(counted(coroutine)),
            "bare await",
            base="await, full stack",
        ),
        Case("await, open reject", rejected(True), "bare await", 1000),
        Case(
            "await, full stack, fail, fail, ok",
            failing_twice(True, attempt_timeout=TIMEOUT),
            "bare await",
            25_000,
            100,
        ),
        Case("await, fail, fail, ok", failing_twice(True), "bare await", 25_000, 100),
        Case("bare call", calling(plain), "bare call"),
        Case("call, pass-through wrapper", calling(passing_plain), "bare call"),
        Case("call, full stack", calling(sync(plain)), "bare call", 12),
        Case("call, full stack, .call", by_call(sync, False), "bare call"),
        Case("call, failure ratio", calling(ratio(plain)), "bare call"),
        Case(
            "call, full stack, metrics",
            calling(counted_sync(plain)),
            "bare call",
            base="call, full stack",
        ),
        Case("call, open reject", rejected(False), "bare call", 1000),
        Case("call, fail, fail, ok", failing_twice(False), "bare call", 25_000, 100),
    ]


async def measure(measured: list[Case], rounds: int = ROUNDS) -> None:
    """Fill in the rounds of all cases, taking turns."""
    for _ in range(rounds):
        for case in measured:
            began = time.perf_counter()
            await case.run(case.calls)
            elapsed = time.perf_counter() - began
            case.rounds.append(elapsed / case.calls * 1e9)
            await asyncio.sleep(0)  # the loop drops timers that are cancelled


def report(measured: list[Case]) -> bool:
    """Print the table; False if a goal was missed."""
    floors = {case.name: case.best for case in measured}
    print(f"Python {sys.version.split()[0]}, {ROUNDS} rounds")
    print(f"{'':40}{'ns':>9}{'ratio':>8}{'spread':>8}  goal")
    met = True
    for case in measured:
        ratio = case.best / floors[case.floor]
        spread = statistics.median(case.rounds) / case.best - 1
        goal = ""
        if case.goal is not None:
            reached = case.goal >= (case.best if case.goal > 100 else ratio)
            unit = "ns" if case.goal > 100 else "x"
            goal = f"{case.goal:g} {unit}{'' if reached else '  MISSED'}"
            met = met and reached
        if case.base is not None:
            times = case.best / floors[case.base]
            goal = f"2 x of off ({times:.2f}){'' if times <= 2 else '  MISSED'}"
            met = met and times <= 2
        line = f"{case.name:40}{case.best:9.0f}{ratio:8.2f}{spread:8.0%}"
        print(f"{line}  {goal}".rstrip())
    return met


def main() -> int:
    """Measure and print; 1 if a goal was missed."""
    measured = cases()
    asyncio.run(measure(measured))
    met = report(measured)
    print("every goal is met" if met else "goals are missed: see the lines MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
