"""What other libraries cost, and what they get right, in one process.

Run it with ``python -m benchmarks.comparison`` where ``benchmarks/requirements.txt`` is
installed. Each library stacks as much of retry, circuit breaker, bulkhead and attempt
timeout as it has. All take turns in short rounds; a figure is the best round, its ratio
is to the bare call. Libraries that are not installed, and patterns that one lacks, are
named with the reason.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from benchmarks.libraries import _probes as probes
from benchmarks.libraries._adapter import FAILURES, Function, Library

NAMES = (
    *("policyctl", "resilix", "nopanic", "pyresilience", "hyx", "stamina"),
    *("tenacity", "purgatory", "pybreaker", "aiobreaker", "circuitbreaker"),
)
ROUNDS = 40
CALLS = 300
GOAL = 10.0
"""How much cheaper than the cheapest correct full stack ours has to be."""
FULL = 4

Run = Callable[[int], Awaitable[None]]


async def coroutine(value: int) -> int:
    """What is guarded, async."""
    return value


def plain(value: int) -> int:
    """What is guarded, sync."""
    return value


def load() -> tuple[list[Library], list[str]]:
    """The libraries that are here, and why others are not."""
    found: list[Library] = []
    missing: list[str] = []
    for name in NAMES:
        module = importlib.import_module(f"benchmarks.libraries.{name}")
        try:
            found.append(module.adapter())
        except ImportError as error:
            missing.append(f"{name}: cannot be imported: {error}")
    return found, missing


def awaiting(function: Function) -> Run:
    """Rounds that await ``function``."""

    async def run(calls: int) -> None:
        for _ in range(calls):
            await function(1)

    return run


def calling(function: Function) -> Run:
    """Rounds that call ``function``."""

    async def run(calls: int) -> None:
        for _ in range(calls):
            function(1)

    return run


def failing(times: int) -> tuple[Function, Function]:
    """Functions that fail ``times`` times and then succeed, over and over."""
    made = [0]

    def fail(value: int) -> int:
        made[0] += 1
        if made[0] % (times + 1):
            raise ConnectionError
        return value

    async def fail_async(value: int) -> int:
        return fail(value)

    return fail_async, fail


def refused_async(library: Library) -> Run | None:
    """Rounds of awaits that an open breaker refuses."""
    if library.breaker_async is None or library.opened is None:
        return None
    opened = library.opened
    guarded = library.breaker_async(failing(10**9)[0], 1e6)

    async def run(calls: int) -> None:
        for _ in range(calls):
            try:
                await guarded(1)
            except opened:
                continue

    return _open_first(run, guarded, True)


def refused_sync(library: Library) -> Run | None:
    """Rounds of calls that an open breaker refuses."""
    if library.breaker_sync is None or library.opened is None:
        return None
    opened = library.opened
    guarded = library.breaker_sync(failing(10**9)[1], 1e6)

    async def run(calls: int) -> None:
        for _ in range(calls):
            try:
                guarded(1)
            except opened:
                continue

    return _open_first(run, guarded, False)


def _open_first(run: Run, guarded: Function, asynchronous: bool) -> Run:
    async def opening(calls: int) -> None:
        for _ in range(FAILURES if calls == 1 else 0):
            try:
                result: Any = guarded(1)
                if asynchronous:
                    await result
            except Exception:
                continue
        await run(calls)

    return opening


def rounds_of(library: Library) -> dict[str, Run | None]:
    """What is measured, by name of the column."""
    fails, fails_sync = failing(2)
    stack, stack_sync = library.stack_async, library.stack_sync
    retry, retry_sync = library.retry_async, library.retry_sync
    return {
        "success": stack and awaiting(stack(coroutine)),
        "rejected": refused_async(library),
        "2 failures": stack and retry and awaiting(stack(fails)),
        "success, sync": stack_sync and calling(stack_sync(plain)),
        "rejected, sync": refused_sync(library),
        "2 failures, sync": stack_sync
        and retry_sync
        and calling(stack_sync(fails_sync)),
    }


Costs = dict[tuple[str, str], float]


async def measure(libraries: list[Library]) -> Costs:
    """Nanoseconds of the best round by library and column; floors are ``bare``."""
    runs: dict[tuple[str, str], Run] = {
        ("bare", "success"): awaiting(coroutine),
        ("bare", "success, sync"): calling(plain),
    }
    for library in libraries:
        for column, run in rounds_of(library).items():
            if run is not None:
                runs[library.name, column] = run
    best: Costs = {}
    for key, run in list(runs.items()):
        try:
            await run(1)
        except Exception as error:
            print(f"{key[0]}, {key[1]}: fails with {error!r}")
            del runs[key]
    for _ in range(ROUNDS):
        for key, run in runs.items():
            calls = CALLS if "fail" not in key[1] else CALLS // 10
            began = time.perf_counter()
            await run(calls)
            cost = (time.perf_counter() - began) / calls * 1e9
            best[key] = min(cost, best.get(key, cost))
    return best


def print_costs(libraries: list[Library], best: Costs) -> None:
    """The table of nanoseconds and ratios."""
    columns = list(rounds_of(libraries[0]))
    print(f"{'ns (ratio to bare)':16}" + "".join(f"{name:>19}" for name in columns))
    for name in ("bare", *(library.name for library in libraries)):
        cells: list[str] = []
        for column in columns:
            cost = best.get((name, column))
            floor = best["bare", "success, sync" if "sync" in column else "success"]
            text = "-" if cost is None else f"{cost:,.0f} ({cost / floor:.1f})"
            cells.append(f"{text:>19}")
        print(f"{name:16}" + "".join(cells))


def print_answers(answers: dict[str, dict[str, bool | None]]) -> None:
    """The table of probes."""
    words = {True: "pass", False: "FAIL", None: "-"}
    for number, probe in enumerate(next(iter(answers.values())), 1):
        print(f"  {number}: {probe}")
    for name, given in answers.items():
        cells = "".join(f"{words[answer]:>6}" for answer in given.values())
        print(f"{name:16}{cells}")


def verdict(
    libraries: list[Library],
    best: Costs,
    answers: dict[str, dict[str, bool | None]],
) -> bool:
    """Compare with the cheapest others that stack everything; False if a goal missed."""
    ours = best["policyctl", "success"]
    whole = [
        library.name
        for library in libraries[1:]
        if len(library.layers.split()) == FULL and (library.name, "success") in best
    ]
    correct = [name for name in whole if False not in answers[name].values()]
    met = False not in answers["policyctl"].values()
    for what, names in (("that passes all probes", correct), ("of all", whole)):
        if not names:
            print(f"cheapest full stack {what}: none")
            continue
        name = min(names, key=lambda name: best[name, "success"])
        times = best[name, "success"] / ours
        print(f"cheapest full stack {what}: {name}, {times:.1f} x the cost of ours")
        met = met and times >= GOAL
    return met


def main() -> int:
    """Ask, measure and print; 1 if a goal was missed."""
    warnings.simplefilter("ignore")
    libraries, missing = load()
    print(f"Python {sys.version.split()[0]}, {ROUNDS} rounds of {CALLS} calls")
    for library in libraries:
        sync = library.layers_sync or "-"
        print(
            f"{library.name} {version(library.name)}: {library.layers or '-'} | {sync}"
        )
        for reason in library.lacks:
            print(f"    no {reason}")
    for reason in missing:
        print(reason)
    answers = {library.name: probes.ask(library) for library in libraries}
    print("\nprobes")
    print_answers(answers)
    best = asyncio.run(measure(libraries))
    print()
    print_costs(libraries, best)
    print()
    return 0 if verdict(libraries, best, answers) else 1


if __name__ == "__main__":
    sys.exit(main())
