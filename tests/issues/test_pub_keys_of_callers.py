"""Idempotency keys: Truxify #2382 and #4696, actor-ts #1308, powertools #3781.

Keys that meet although their parts differ, results that callers share, waiters that are
turned away or that take the first caller with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
import requests

from policyctl.runtime.idempotency.forwarding import forwarded_headers
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATIONS = """
one:
  idempotent: true
  idempotency: {key: [key], ttl: 1h, forward: {header: Idempotency-Key}}
two:
  idempotent: true
  idempotency: {key: [left, right], ttl: 1h}
"""


def fresh(policy: Policy) -> Policy:
    """The policy with no outcome stored."""
    guard = policy.guard
    assert guard is not None
    guard.clear()
    return policy


def test_parts_of_a_key_do_not_run_together(generated: Generated) -> None:
    """Separators, quotes and brackets inside of values are values."""
    entries: list[int] = []

    @fresh(generated(OPERATIONS)["two"])
    def charge(left: str, right: str) -> int:
        entries.append(1)
        return len(entries)

    pairs = [
        ("x", "y:z"),
        ("x:y", "z"),
        ('a","b', "c"),
        ("a", 'b","c'),
        ("a]", "[b"),
        ("", "ab"),
        ("ab", ""),
    ]
    assert [charge(*pair) for pair in pairs] == list(range(1, 8))
    assert [charge(*pair) for pair in pairs] == list(range(1, 8))


def test_values_of_unlike_types_are_unlike_keys(generated: Generated) -> None:
    """1, "1", True, 1.0, b"1" and collections of them."""

    @fresh(generated(OPERATIONS)["one"])
    def show(key: Any) -> str:
        return repr(key)

    keys: list[Any] = [1, "1", True, 1.0, b"1", ["1"], [1], {"1": 1}, {1: 1}]
    assert [show(key) for key in keys] == [repr(key) for key in keys]


def test_callers_do_not_share_a_result(generated: Generated) -> None:
    """What one of them does to its own shows nowhere else."""

    @fresh(generated(OPERATIONS)["one"])
    def get(key: str) -> dict[str, list[int]]:
        return {"items": [1]}

    first, second = get("a"), get("a")
    first["items"].append(2)
    second["items"].append(3)
    assert get("a") == {"items": [1]}


async def test_who_waits_and_gives_up_disturbs_nobody(generated: Generated) -> None:
    """The first goes on, and the other who waits gets its result."""
    entries: list[int] = []
    gate = asyncio.Event()

    @fresh(generated(OPERATIONS)["one"])
    async def get(key: str) -> int:
        entries.append(1)
        await gate.wait()
        return len(entries)

    first, leaver, waiter = (asyncio.create_task(get("k")) for _ in range(3))
    for _ in range(5):
        await asyncio.sleep(0)
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    gate.set()
    assert [await first, await waiter] == [1, 1]


async def test_who_waits_takes_over_from_a_first_that_was_cancelled(
    generated: Generated,
) -> None:
    """The key is free at once."""
    entries: list[int] = []

    @fresh(generated(OPERATIONS)["one"])
    async def get(key: str) -> int:
        entries.append(1)
        if len(entries) == 1:
            await asyncio.Event().wait()
        return len(entries)

    first, waiter = (asyncio.create_task(get("k")) for _ in range(2))
    for _ in range(5):
        await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.wait_for(waiter, 30.0) == 2


@pytest.mark.parametrize(
    "key", ["a\r\nX-Admin: 1", "é", "", " a", "a ", "\ta", "a" * 1000, "\x00"]
)
def test_any_key_makes_a_header_that_clients_send(
    key: str, generated: Generated
) -> None:
    """Of plain characters, without what a header loses or must not have; the same each
    time."""
    seen: list[str] = []

    @fresh(generated(OPERATIONS)["one"])
    def charge(key: str) -> None:
        seen.append(forwarded_headers()["Idempotency-Key"])

    charge(key)
    headers = {"Idempotency-Key": seen[0]}
    httpx.Request("GET", "http://callee/", headers=headers)
    requests.Request("GET", "http://callee/", headers=headers).prepare()
    assert seen[0] != key
    assert seen[0].isalnum()
    assert len(seen[0]) <= 200
