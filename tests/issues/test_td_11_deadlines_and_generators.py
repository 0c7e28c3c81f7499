"""TD-11: a budget scope in a generator that another task closes.

``tests/runtime/test_budget.py`` holds the details; this is the report's own scenario.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

from policyctl.runtime.budget import budget, remaining_budget


async def test_closing_from_another_task_and_collecting_make_no_noise(
    clock: Any,
) -> None:
    """No error, no log of the loop, and both tasks keep their own deadline."""
    problems: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))

    async def items() -> AsyncGenerator[int, None]:
        with budget(5.0):
            yield 1
            yield 2

    opened = items()

    async def consume() -> float | None:
        with budget(60.0):
            await anext(opened)
            await asyncio.create_task(opened.aclose())
            unfinished = items()
            await anext(unfinished)
            del unfinished
            gc.collect()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return remaining_budget()

    with budget(30.0):
        await consume()
        assert remaining_budget() == 30.0
    assert problems == []
