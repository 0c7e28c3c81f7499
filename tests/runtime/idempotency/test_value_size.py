"""How large a stored result may be, on each store (C29).

Memory has no limit; SQLite and Redis keep 1 MiB. A larger result is its caller's alone:
repetitions are told so and run nothing, until ``ttl`` is over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.idempotency.guard import MAX_BYTES
from policyctl.runtime.idempotency.outcome import encode_result
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

Make = Callable[..., Policy]
OUTSIDE = ("sqlite", "redis")
ENVELOPE = 3
"""Bytes that a text takes more as JSON behind the mark of a result."""


@pytest.fixture
def policy(request: pytest.FixtureRequest, memory_path: Path) -> Make:
    """``policy(kind, **changes)``: an operation with a key, as one process has it."""

    def make(kind: str, **changes: Any) -> Policy:
        block: dict[str, Any] = {"key": ("key",), "store": kind, **changes}
        if kind == "sqlite":
            block["path"] = str(memory_path / "keys.db")
        if kind == "redis":
            request.getfixturevalue("valkey")
        made = Policy(
            service="sizes",
            operation="make",
            retry=settings.Retry(max_attempts=1, never_retry_on=("KeyError",)),
            idempotency=settings.Idempotency(**block),
        )
        registry.forget("sizes.make")
        return made

    return make


class Maker:
    """Makes texts of a size, and counts how often it ran."""

    def __init__(self, size: int, letter: str = "x") -> None:
        self.text = letter * size
        self.runs = 0

    def __call__(self, key: str) -> str:
        self.runs += 1
        return self.text


def test_the_limit_is_a_mebibyte() -> None:
    """A text takes two quotes and the mark of a result."""
    from policyctl.runtime.idempotency.codec import find_codec

    assert MAX_BYTES == 1024 * 1024
    assert len(encode_result(find_codec("json"), "x" * 10)) == 10 + ENVELOPE


def test_memory_keeps_any_size(policy: Make) -> None:
    """A result of 8 MiB is replayed."""
    one, make = policy("memory"), Maker(8 * MAX_BYTES)
    assert one.call(make, "a") == one.call(make, "a") == make.text
    assert make.runs == 1


@pytest.mark.parametrize("kind", OUTSIDE)
def test_the_largest_that_fits(policy: Make, kind: str) -> None:
    """Exactly the limit is kept and replayed to another process."""
    make = Maker(MAX_BYTES - ENVELOPE)
    assert policy(kind).call(make, "a") == make.text
    assert policy(kind).call(make, "a") == make.text
    assert make.runs == 1


@pytest.mark.parametrize("kind", OUTSIDE)
def test_one_byte_more_is_its_callers_alone(policy: Make, kind: str) -> None:
    """The caller has it; repetitions, here and elsewhere, are told that it is lost."""
    make = Maker(MAX_BYTES - ENVELOPE + 1)
    one, two = policy(kind), policy(kind)
    assert one.call(make, "a") == make.text
    for other in (one, two, two):
        with pytest.raises(Exception, match=r"its result is lost: 1048577 bytes"):
            other.call(make, "a")
    assert make.runs == 1
    small = Maker(10)
    assert two.call(small, "b") == small.text  # other keys do not notice


@pytest.mark.parametrize("kind", OUTSIDE)
def test_bytes_count_and_not_characters(policy: Make, kind: str) -> None:
    """Text that is not ASCII takes what its bytes take."""
    make = Maker(MAX_BYTES // 2, "ü")
    assert policy(kind).call(make, "a") == make.text
    with pytest.raises(Exception, match="its result is lost"):
        policy(kind).call(make, "a")
    assert make.runs == 1


@pytest.mark.parametrize("kind", OUTSIDE)
def test_an_error_that_is_too_large_frees_the_key(policy: Make, kind: str) -> None:
    """It could not be raised again from the store, so that a repetition runs."""
    calls: list[str] = []

    def fail(key: str) -> None:
        calls.append(key)
        raise KeyError("x" * (MAX_BYTES + 1))

    for other in (policy(kind), policy(kind)):
        with pytest.raises(KeyError):
            other.call(fail, "a")
    assert len(calls) == 2
