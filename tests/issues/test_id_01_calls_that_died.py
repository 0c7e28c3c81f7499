"""ID-01: a call that died in the middle does not block its key for the whole ttl."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import IdempotencyConflictError
from policyctl.runtime.policy import Policy


def make(**changes: Any) -> Policy:
    """Keys live for a day, calls in progress for five seconds."""
    block = settings.Idempotency(
        key=("key",),
        ttl=86400.0,
        in_progress=5.0,
        on_conflict="reject",
        **changes,
    )
    return Policy(service="id01", operation="charge", idempotency=block)


async def test_after_in_progress_a_retry_runs(clock: Any) -> None:
    """A first call that never comes back is forgotten after five seconds."""
    gate = asyncio.Event()
    entries: list[str] = []

    @make()
    async def charge(key: str) -> int:
        entries.append(key)
        if len(entries) == 1:
            await gate.wait()
        return len(entries)

    dead = asyncio.create_task(charge("k"))
    await asyncio.sleep(0)
    clock.advance(4.9)
    with pytest.raises(IdempotencyConflictError):
        await charge("k")
    clock.advance(0.2)
    assert await charge("k") == 2
    gate.set()
    await dead
    assert await charge("k") == 2
    assert len(entries) == 2


async def test_a_cancelled_call_frees_its_key_at_once() -> None:
    """CancelledError in the middle removes the mark."""
    entries: list[str] = []

    @make()
    async def charge(key: str) -> int:
        entries.append(key)
        if len(entries) == 1:
            await asyncio.sleep(60)
        return len(entries)

    task = asyncio.create_task(charge("k"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await charge("k") == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, TimeoutError])
async def test_an_interrupted_or_failed_call_frees_its_key_at_once(
    form: Any, script: Any, error: type[BaseException]
) -> None:
    """Ctrl-C, exit and failures remove the mark in both forms."""
    function = script(error(), "ok")

    def charge(key: str) -> Any:
        return function()

    call = form.guard(
        Policy(
            idempotency=settings.Idempotency(
                key_call=lambda key: key, in_progress=5.0, on_conflict="reject"
            )
        ),
        charge,
    )
    raised: BaseException | None = None
    try:
        await call("k")
    except BaseException as caught:
        raised = caught
    assert type(raised) is error
    assert await call("k") == "ok"


def test_threads_are_refused_while_the_first_runs_and_served_after() -> None:
    """The sync form of a conflict."""
    inside, gate = threading.Event(), threading.Event()
    results: list[Any] = []

    @make()
    def charge(key: str) -> str:
        inside.set()
        gate.wait(60)
        return "ok"

    first = threading.Thread(target=lambda: results.append(charge("k")), daemon=True)
    first.start()
    inside.wait(60)
    with pytest.raises(IdempotencyConflictError):
        charge("k")
    gate.set()
    first.join()
    assert [*results, charge("k")] == ["ok", "ok"]
