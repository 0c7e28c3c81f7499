"""A process with one shared breaker, told by lines what to do.

Run as ``python worker.py SHIFT``: its wall clock is SHIFT seconds off, and its monotonic
clock began as long ago. Commands: ``fail N``, ``ok N``, ``state``, ``probe N``
(N tasks call at once; those admitted hang), ``admitted``, ``release``, ``quit``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import CircuitOpenError
from policyctl.runtime.policy import Policy
from policyctl.runtime.shared import link

# A busy machine may take its time.
link.TIMEOUT, link.PATIENCE = 60.0, 120.0
SHIFT = float(sys.argv[1])
_time, _monotonic = time.time, time.monotonic
time.time = lambda: _time() + SHIFT
CLOCK.now = lambda: _monotonic() + SHIFT

POLICY = Policy(
    service="worker",
    operation="call",
    circuit_breaker=settings.CircuitBreaker(
        store="redis",
        failure_threshold=3,
        recovery_timeout=settings.Recovery(initial=float(sys.argv[2]), jitter=0.0),
        half_open_max_calls=3,
        half_open_max_wait=float(sys.argv[3]),
        success_threshold=3,
    ),
)
admitted: list[int] = []
refused: list[int] = []
released = asyncio.Event()


@POLICY
async def call(works: bool) -> None:
    """Works or fails."""
    if not works:
        raise ValueError


@POLICY
async def hang() -> None:
    """A probe that lasts until it is released."""
    admitted.append(1)
    await released.wait()


async def probe() -> None:
    """One task that calls."""
    try:
        await hang()
    except CircuitOpenError:
        refused.append(1)


async def outcome(works: bool) -> str:
    """What one call comes to."""
    try:
        await call(works)
    except ValueError:
        return "failed"
    except CircuitOpenError:
        return "refused"
    return "ok"


async def obey(words: list[str], tasks: list[Any]) -> str:
    """Carry out one command."""
    if words[0] in ("fail", "ok"):
        found = [await outcome(words[0] == "ok") for _ in range(int(words[1]))]
        return ",".join(found)
    if words[0] == "state":
        breaker = POLICY.circuit_breaker
        return f"{breaker.state} {breaker.retry_after:.3f}"
    if words[0] == "probe":
        tasks += [asyncio.create_task(probe()) for _ in range(int(words[1]))]
        return "started"
    if words[0] == "admitted":
        return f"{len(admitted)} {len(refused)}"
    released.set()
    await asyncio.gather(*tasks)
    return "released"


async def main() -> None:
    """Read commands, print answers."""
    loop, tasks = asyncio.get_running_loop(), list[Any]()
    print("ready", flush=True)
    while True:
        line = await loop.run_in_executor(None, sys.stdin.readline)
        if not line or line.strip() == "quit":
            return
        print(await obey(line.split(), tasks), flush=True)


asyncio.run(main())
