"""Idempotency as a layer of a policy: inside the fallback, around all attempts (C1)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import remaining_budget
from policyctl.runtime.edges.httpx import AsyncBudgetTransport
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    CircuitOpenError,
    IdempotencyConflictError,
)
from policyctl.runtime.idempotency import forwarded_key
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock


def make(**blocks: Any) -> Policy:
    """A policy whose calls have the argument ``key`` as their key."""
    return Policy(
        service="pay",
        operation="",
        idempotency=blocks.pop("idempotency", settings.Idempotency(key=("key",))),
        **blocks,
    )


THREE = settings.Retry(max_attempts=3, retry_on=("timeout",))


async def test_every_attempt_hands_over_the_same_key() -> None:
    """By argument and by header, on all attempts of one call, not of the next."""
    by_argument = settings.Idempotency(
        key=("key",), forward=settings.Forward(argument="token")
    )
    by_header = settings.Idempotency(
        key=("key",), forward=settings.Forward(header="Idempotency-Key")
    )
    seen: list[tuple[str | None, str | None]] = []

    async def charge(key: str, token: str | None = None) -> str:
        seen.append((token, forwarded_key()))
        if len(seen) % 3:
            raise TimeoutError
        return "ok"

    with fake_clock():
        await make(retry=THREE, idempotency=by_argument)(charge)("a")
        await make(retry=THREE, idempotency=by_header)(charge)("b")
    assert seen == [("a", "a")] * 3 + [(None, "b")] * 3
    assert forwarded_key() is None


def test_sync_attempts_in_threads_see_the_key_too() -> None:
    """The worker thread of an attempt with a limit runs in the caller's context."""
    policy = make(
        attempt_timeout=settings.AttemptTimeout(total=5.0),
        idempotency=settings.Idempotency(
            key=("key",), forward=settings.Forward(header="Idempotency-Key")
        ),
    )

    @policy
    def charge(key: str) -> str | None:
        return forwarded_key()

    assert charge("a") == "a"


async def test_a_fallback_value_is_never_stored() -> None:
    """The next call with the key runs again and stores the real result."""
    outcomes: list[Any] = [TimeoutError(), "real"]
    policy = make(fallback=settings.FallbackValue(value="made up"))

    @policy
    async def charge(key: str) -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert [await charge("k") for _ in range(3)] == ["made up", "real", "real"]
    assert outcomes == []


async def test_a_replay_needs_no_budget_slot_or_circuit() -> None:
    """An outcome that is stored is given although the circuit is open by now."""
    policy = make(
        circuit_breaker=settings.CircuitBreaker(),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        budget=settings.Budget(total=10.0),
    )

    @policy
    async def charge(key: str) -> float | None:
        return remaining_budget()

    with fake_clock():
        assert await charge("k") == 10.0
        policy.circuit_breaker.force_open()
        assert await charge("k") == 10.0
        with pytest.raises(CircuitOpenError):
            await charge("other")
        policy.circuit_breaker.reset()
        assert await charge("other") == 10.0


async def test_a_rejected_or_timed_out_call_frees_its_key() -> None:
    """Nothing that may be tried again blocks the key."""
    entries: list[str] = []
    policy = make(attempt_timeout=settings.AttemptTimeout(total=0.02))

    @policy
    async def charge(key: str) -> int:
        entries.append(key)
        if len(entries) == 1:
            await asyncio.sleep(60)
        return len(entries)

    with pytest.raises(AttemptTimeoutError):
        await charge("k")
    assert await charge("k") == 2


async def test_an_error_that_stands_is_not_retried_and_is_repeated() -> None:
    """never_retry_on is stored; its replay makes no attempt."""
    entries: list[str] = []
    policy = make(
        retry=settings.Retry(retry_on=("Exception",), never_retry_on=("ValueError",))
    )

    @policy
    async def charge(key: str) -> None:
        entries.append(key)
        raise ValueError("declined", 51)

    for _ in range(3):
        with pytest.raises(ValueError) as caught:
            await charge("k")
        assert caught.value.args == ("declined", 51)
    assert entries == ["k"]


async def test_a_conflict_reaches_the_caller() -> None:
    """It is neither retried nor answered by the fallback."""
    policy = make(
        retry=settings.Retry(retry_on=("Exception",)),
        fallback=settings.FallbackValue(value="made up"),
    )

    @policy
    async def charge(key: str, amount: int) -> int:
        return amount

    assert await charge("k", 1) == 1
    with pytest.raises(IdempotencyConflictError):
        await charge("k", 2)


async def test_policy_call_has_keys_too() -> None:
    """One call without decorating is guarded like any other."""
    policy = make()
    entries: list[str] = []

    async def charge(key: str) -> int:
        entries.append(key)
        return len(entries)

    assert await policy.call(charge, "k") == 1
    assert await policy.call(charge, key="k") == 1
    assert policy.call(lambda key: "sync", "s") == "sync"


async def test_the_key_reaches_the_callee_over_http() -> None:
    """The header of forward is sent by the transport on every attempt."""
    keys: list[str] = []

    def callee(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(200)

    policy = make(
        transport="http",
        retry=THREE,
        idempotency=settings.Idempotency(
            key=("order",), forward=settings.Forward(header="Idempotency-Key")
        ),
    )
    transport = AsyncBudgetTransport(transport=httpx.MockTransport(callee))

    @policy
    async def place(order: str) -> int:
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.post("http://callee/")).status_code

    with fake_clock():
        assert await place("order-17") == 200
    assert keys == ["order-17"] * 3


FORKING = """
import os
import threading

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

inside, gate = threading.Event(), threading.Event()


@Policy(idempotency=settings.Idempotency(key=("key",), on_conflict="reject"))
def charge(key):
    inside.set()
    gate.wait(60)
    return os.getpid()


thread = threading.Thread(target=charge, args=("k",))
thread.start()
inside.wait(60)
if os.fork() == 0:
    gate.set()
    assert charge("k") == os.getpid()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
gate.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_not_blocked_by_its_parents_calls(tmp_path: Path) -> None:
    """The thread that holds the key does not exist in the child."""
    (tmp_path / "program.py").write_text(FORKING)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.stdout.strip() == "0", run.stderr
