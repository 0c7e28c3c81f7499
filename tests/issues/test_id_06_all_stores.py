"""ID-06: in every store an entry lives for exactly its ttl, in one unit of time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime.idempotency.memory import MemoryStore
from policyctl.runtime.idempotency.redis import PREFIX, RedisStore
from policyctl.runtime.idempotency.sqlite import SqliteStore
from policyctl.testing import fake_clock
from policyctl.units import parse_duration

if TYPE_CHECKING:
    from policyctl.runtime.idempotency.memory import Store

FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def put(store: Store, key: str, ttl: float) -> None:
    """A finished call, kept for ``ttl`` seconds."""
    assert store.claim(key, "p", "one", 60.0) is None
    assert store.complete(key, "one", b"R1", ttl)


def is_there(store: Store, key: str) -> bool:
    """Whether the outcome would be replayed."""
    found = store.claim(key, "p", "looker", 0.000001)
    return found is not None and found.payload == b"R1"


@pytest.fixture
def stores(tmp_path: Path, valkey: Any) -> dict[str, Store]:
    """One store of each kind."""
    return {
        "memory": MemoryStore(),
        "sqlite": SqliteStore(str(tmp_path / "keys.db"), 1000),
        "redis": RedisStore("POLICY_REDIS_URL", 1000, "t.t"),
    }


@pytest.mark.timing
def test_a_second_and_a_half(stores: dict[str, Store]) -> None:
    """``ttl: 1500ms`` is there at 1.4 s and gone at 1.6 s, by a real clock."""
    ttl = parse_duration("1500ms")
    start = time.monotonic()
    for store in stores.values():
        put(store, "k", ttl)
    late = time.monotonic() - start
    time.sleep(max(0.0, 1.4 - (time.monotonic() - start)))
    assert {name: is_there(store, "k") for name, store in stores.items()} == (
        dict.fromkeys(stores, True)
    )
    time.sleep(max(0.0, 1.6 + late - (time.monotonic() - start)))
    assert {name: is_there(store, "k") for name, store in stores.items()} == (
        dict.fromkeys(stores, False)
    )


@hypothesis_settings(max_examples=15, deadline=None, suppress_health_check=FIXTURES)
@given(st.integers(2, 10**8), st.integers(-1000, 1000).filter(bool))
def test_the_edge_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, milliseconds: int, around: int
) -> None:
    """SQLite: a millisecond before any ttl it is there, a millisecond after it is not."""
    path = tmp_path_factory.mktemp("edge") / "keys.db"
    with fake_clock(start=0.0) as clock:
        store = SqliteStore(str(path), 1000)
        put(store, "k", parse_duration(f"{milliseconds}ms", maximum=1e9))
        clock.advance(max(1, milliseconds + around) / 1000)
        assert is_there(store, "k") == (around < 0)


@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=FIXTURES)
@given(milliseconds=st.integers(50, 10**8))
def test_what_the_server_is_told(valkey: Any, milliseconds: int) -> None:
    """Redis: the server itself counts down from the ttl, in its own milliseconds."""
    client = valkey.client()
    client.flushall()
    store = RedisStore("POLICY_REDIS_URL", 1000, "t.t")
    put(store, "k", parse_duration(f"{milliseconds}ms", maximum=1e9))
    left = client.pttl(f"{PREFIX}k")
    assert milliseconds - 40 <= left <= milliseconds
