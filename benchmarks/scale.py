"""Whether size costs anything: many services, policies, open breakers, calls in flight.

Run it with ``python -m benchmarks.scale``. ``python -m benchmarks.scale 10000000`` also
makes that many calls of all kinds and compares the memory of the process before and
after; without a number it makes 300,000.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks import policies
from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyError
from policyctl.runtime.policy import Policy
from policyctl.testing import no_sleep

SERVICES = 1_000
POLICIES = 10_000
FEW = 2_000
"""Policies that are used too."""
IN_FLIGHT = (1, 100, 1_000, 10_000)
CALLS = 300_000
SLACK = 1.25
"""How much dearer a call in company may be: the noise of the machine, no slope."""
GENERATE = "import sys; from policyctl.cli.main import run; sys.exit(run())"
IMPORT = """
import time
began = time.perf_counter()
import acme
loaded = time.perf_counter()
acme.service_7.operation_1
print(loaded - began, time.perf_counter() - loaded)
"""


def row(what: str, value: str, goal: str = "", met: bool = True) -> bool:
    """Print a line of the table; give back whether its goal was met."""
    line = f"{what:52}{value:>14}  {goal}{'' if met else '  MISSED'}"
    print(line.rstrip(), flush=True)
    return met


def package() -> bool:
    """Import a generated package of 1,000 services, and use one of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policies.write(folder / "policies", SERVICES)
        command = [sys.executable, "-c", GENERATE, "generate", "policies"]
        subprocess.run(
            [*command, "--output", "acme", "--package", "acme"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        runs: list[list[float]] = []
        for _ in range(5):
            done = subprocess.run(
                [sys.executable, "-c", IMPORT],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            )
            runs.append([float(part) for part in done.stdout.split()])
    loaded = min(run[0] for run in runs)
    used = min(run[1] for run in runs)
    met = row(
        "import a package of 1,000 services", f"{loaded:.3f} s", "0.5 s", loaded < 0.5
    )
    row("use one of them for the first time", f"{used:.3f} s")
    return met


def _blocks(number: int) -> dict[str, Any]:
    return {
        "attempt_timeout": settings.AttemptTimeout(total=1.0 + number % 5),
        "budget": settings.Budget(total=15.0, minimum=1.0),
        "retry": settings.Retry(
            max_attempts=2 + number % 3, retry_on=("not_sent", "connection_lost")
        ),
        "circuit_breaker": settings.CircuitBreaker(failure_threshold=5 + number % 5),
        "bulkhead": settings.Bulkhead(max_concurrent=10 + number % 50),
    }


def memory() -> bool:
    """Bytes of a policy with attempt timeout, budget, retry, breaker and bulkhead."""

    def make(count: int) -> list[Policy]:
        return [
            Policy(
                service=f"service_{n // 5}",
                operation=f"operation_{count}_{n}",
                **_blocks(n),
            )
            for n in range(count)
        ]

    make(500)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = make(POLICIES)
    gc.collect()
    size = (tracemalloc.get_traced_memory()[0] - before) / len(made)
    tracemalloc.stop()
    what = f"a policy at rest, of {POLICIES:,} with five patterns"
    met = row(what, f"{size:,.0f} bytes", "2,048 bytes", size < 2048)
    asyncio.run(_use(made[:FEW]))
    return met


async def _use(policies: list[Policy]) -> None:
    """Bytes that policies take more when they are used."""

    async def work(number: int) -> int:
        if number < 0:
            raise ConnectionResetError
        return number

    kept: list[Callable[[int], Awaitable[int]]] = []

    async def call(policy: Policy) -> None:
        await policy.call(work, 1)

    async def fail(policy: Policy) -> None:
        try:
            await policy.call(work, -1)
        except ConnectionResetError:
            return

    async def decorate(policy: Policy) -> None:
        kept.append(policy(work))
        await kept[-1](1)

    await fail(policies[0])
    with no_sleep():
        for what, use in (
            ("more after a call", call),
            ("more after a call that was retried", fail),
            ("more for a decorated function and its call", decorate),
        ):
            gc.collect()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            for policy in policies:
                await use(policy)
            gc.collect()
            size = (tracemalloc.get_traced_memory()[0] - before) / len(policies)
            tracemalloc.stop()
            row(f"  {what}", f"{size:,.0f} bytes")


def _best(function: Callable[[], object], calls: int = 2_000) -> float:
    best = float("inf")
    for _ in range(40):
        began = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, time.perf_counter() - began)
    return best / calls * 1e9


def company() -> bool:
    """A call alone, and beside policies whose breakers are open."""

    def guarded() -> tuple[Policy, Callable[[], object]]:
        policy = Policy(
            retry=settings.Retry(),
            circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
            bulkhead=settings.Bulkhead(max_concurrent=10),
        )
        return policy, policy(lambda: 1)

    _, call = guarded()
    alone = _best(call)
    others = [guarded() for _ in range(1_000)]
    for policy, _ in others:
        policy.circuit_breaker.force_open()
    beside = _best(call)
    row(f"a call beside {POLICIES:,} policies", f"{alone:.0f} ns")
    met = beside < SLACK * alone
    what = "a call beside 1,000 more with open breakers"
    return row(what, f"{beside:.0f} ns", f"{SLACK} x", met)


async def in_flight() -> bool:
    """A call while others of the same policy are in flight."""
    policy = Policy(
        retry=settings.Retry(),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=5),
        bulkhead=settings.Bulkhead(max_concurrent=20_000),
        attempt_timeout=settings.AttemptTimeout(total=600.0),
    )
    release = asyncio.Event()

    @policy
    async def wait() -> None:
        await release.wait()

    @policy
    async def call() -> int:
        return 1

    tasks: list[asyncio.Task[None]] = []
    costs: list[float] = []
    for number in IN_FLIGHT:
        tasks += [asyncio.create_task(wait()) for _ in range(number - len(tasks))]
        await asyncio.sleep(0)
        best = float("inf")
        for _ in range(40):
            began = time.perf_counter()
            for _ in range(1_000):
                await call()
            best = min(best, time.perf_counter() - began)
        costs.append(best * 1e6)
        met = costs[-1] < SLACK * costs[0]
        goal = "" if number == 1 else f"{SLACK} x"
        row(f"a call with {number:,} in flight", f"{costs[-1]:.0f} ns", goal, met)
    release.set()
    await asyncio.gather(*tasks)
    return max(costs) < SLACK * costs[0]


class Mixed:
    """Work that succeeds, fails, is retried, refused and cancelled in turn."""

    def __init__(self) -> None:
        self.calls = 0
        self.policy = Policy(
            attempt_timeout=settings.AttemptTimeout(total=5.0),
            budget=settings.Budget(total=9.0),
            retry=settings.Retry(
                backoff=settings.Backoff(initial=0.0, max=0.0),
                retry_on=("ConnectionError",),
            ),
            circuit_breaker=settings.CircuitBreaker(
                failure_threshold=50,
                failure_ratio=0.9,
                window=settings.Window(seconds=0.05),
            ),
            bulkhead=settings.Bulkhead(max_concurrent=4, max_wait=1.0),
        )
        self.guarded = self.policy(self.work)

    async def work(self) -> int:
        """One attempt."""
        self.calls += 1
        if self.calls % 7 == 0:
            raise ConnectionError
        if self.calls % 13 == 0:
            raise ValueError(self.calls)
        if self.calls % 11 == 0:
            await asyncio.sleep(0)
        return self.calls

    async def run(self, calls: int) -> None:
        """Make ``calls`` attempts, alone and at once, some of them cancelled."""
        until = self.calls + calls
        while self.calls < until:
            for _ in range(500):
                try:
                    await self.guarded()
                except (ValueError, ConnectionError, PolicyError):
                    continue
            tasks = [asyncio.create_task(self.guarded()) for _ in range(12)]
            await asyncio.sleep(0)
            for task in tasks[::4]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def growth(calls: int) -> bool:
    """Allocated blocks that calls leave behind, after a tenth of them to warm up."""
    mixed = Mixed()
    await mixed.run(min(calls // 10, 100_000))
    gc.collect()
    before = sys.getallocatedblocks()
    await mixed.run(calls)
    gc.collect()
    left = sys.getallocatedblocks() - before
    what = f"objects left behind by {calls:,} calls"
    return row(what, f"{left:,}", "1,000", left < 1_000)


def main(arguments: list[str]) -> int:
    """Measure and print; 1 if a goal was missed."""
    calls = int(arguments[0]) if arguments else CALLS
    print(f"Python {sys.version.split()[0]}")
    met = [package(), memory(), company(), asyncio.run(in_flight())]
    met.append(asyncio.run(growth(calls)))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
