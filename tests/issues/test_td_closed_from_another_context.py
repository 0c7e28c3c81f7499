"""Coroutines that the garbage collector closes, in a context that is not theirs.

https://github.com/getsentry/sentry-python/pull/4928 and
https://github.com/python/cpython/issues/118944: taking back a context variable then
raises, in place of the clean-up that was due.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Errors that clean-up raised where nobody could catch them."""
    gc.collect()  # what other tests left is not of these
    found: list[BaseException] = []

    def keep(unraisable: Any) -> None:
        found.append(unraisable.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", keep)
    return found


def abandon(call: Callable[[], Awaitable[object]], steps: int = 5) -> Any:
    """Begin a call on an event loop that ends before it; a weak one of the loop."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)

    async def main() -> object:
        return await call()

    task = loop.create_task(main())
    for _ in range(steps):
        loop.call_soon(loop.stop)
        loop.run_forever()
    loop.close()
    found = weakref.ref(loop)
    del task, loop
    gc.collect()
    return found


async def hang(key: str) -> str:
    """A callee that never answers."""
    await asyncio.Event().wait()
    return key


async def answer(key: str) -> str:
    """One that does."""
    return key


def test_the_idempotency_key_of_an_abandoned_call_is_free(
    lost: list[BaseException],
) -> None:
    """A call whose event loop ended frees its key, so that the next one runs."""
    policy = Policy(
        service="s",
        operation="o",
        budget=settings.Budget(total=5.0),
        idempotency=settings.Idempotency(
            key=("key",),
            ttl=60.0,
            on_conflict="reject",
            forward=settings.Forward(header="Idempotency-Key"),
        ),
    )
    abandon(lambda: policy.call(hang, "k"))
    assert asyncio.run(policy.call(answer, "k")) == "k"
    assert lost == []


def test_hedges_of_an_abandoned_call_end_with_it(lost: list[BaseException]) -> None:
    """Nothing of a hedged call outlives its event loop, nor keeps the loop alive."""
    policy = Policy(
        service="s",
        operation="o",
        budget=settings.Budget(total=5.0),
        idempotent=True,
        hedge=settings.Hedge(delay=10.0, max_hedges=1),
    )
    loop = abandon(lambda: policy.call(hang, "k"))
    assert policy.statistics()["in_use"] == 0
    assert loop() is None
    assert lost == []


def test_the_slot_of_an_abandoned_stream_is_free(lost: list[BaseException]) -> None:
    """A stream whose event loop ended within a step gives its slot back."""
    policy = Policy(
        service="s",
        operation="o",
        kind="stream",
        budget=settings.Budget(total=5.0),
        bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=0.0),
    )

    @policy
    async def items() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    async def use() -> None:
        async for _ in items():
            pass

    abandon(use)
    assert policy.statistics()["in_use"] == 0
    assert lost == []
