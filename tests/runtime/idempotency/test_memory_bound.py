"""The store in memory is bounded: it drops outcomes, never calls in progress (C29)."""

from __future__ import annotations

import logging
import sys

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.idempotency.memory import MAX_RECORDS, MemoryStore
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock


def finish(store: MemoryStore, key: str, ttl: float = 3600.0) -> None:
    """One call with its outcome."""
    assert store.claim(key, "f", "owner", 60.0) is None
    assert store.complete(key, "owner", key.encode(), ttl)


def test_the_least_recently_used_outcome_is_dropped() -> None:
    """Three fit; the fourth drops b, because a was asked for in between."""
    store = MemoryStore(max_records=3)
    for key in "abc":
        finish(store, key)
    found = store.claim("a", "f", "other", 60.0)
    assert found is not None
    finish(store, "d")
    assert (len(store), store.dropped) == (3, 1)
    kept = [key for key in "acd" if store.claim(key, "f", "x", 60.0) is not None]
    assert kept == ["a", "c", "d"]
    assert store.claim("b", "f", "again", 60.0) is None


def test_calls_in_progress_are_never_dropped() -> None:
    """They count for nothing: two outcomes and five running calls are seven records."""
    store = MemoryStore(max_records=2)
    for number in range(5):
        assert store.claim(f"running {number}", "f", "owner", None) is None
    for key in "abcd":
        finish(store, key)
    assert (len(store), store.dropped) == (7, 2)
    assert store.complete("running 0", "owner", b"late", 60.0)
    assert store.claim("running 0", "f", "x", 60.0) is not None


def test_a_full_store_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """A warning with the limit and the ways out, not one for each outcome."""
    store = MemoryStore(max_records=2)
    with caplog.at_level(logging.WARNING, "policyctl"):
        for number in range(10):
            finish(store, str(number))
    assert store.dropped == 8
    (record,) = caplog.records
    assert "the oldest of its 2 outcomes" in record.getMessage()


def test_the_clock_of_dropped_outcomes_does_not_pile_up() -> None:
    """Neither the records nor the order of their ends grow with the calls made."""
    store = MemoryStore(max_records=10)
    for number in range(1000):
        finish(store, str(number))
    assert len(store) == len(store._used) == 10
    assert len(store._expiries) <= 2 * 10 + 16


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("cfrt")), max_size=60
    ),
    st.integers(1, 4),
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_any_history_keeps_the_bound(steps: list[tuple[str, str]], limit: int) -> None:
    """Claims, outcomes, releases and time: the books agree and the bound holds."""
    with fake_clock(start=100.0) as clock:
        store = MemoryStore(max_records=limit)
        for key, what in steps:
            if what == "c":
                store.claim(key, "f", key, 5.0)
            elif what == "f":
                store.complete(key, key, b"", 3.0)
            elif what == "r":
                store.release(key, key)
            else:
                clock.advance(2.0)
            done = {k for k, r in store._records.items() if r.payload is not None}
            assert done == set(store._used)
            assert len(done) <= limit


def test_policies_keep_a_hundred_thousand() -> None:
    """The documented default, in force for a policy's own store."""
    assert MAX_RECORDS == 100_000
    policy = Policy(idempotency=settings.Idempotency(key_call=str))
    assert policy.guard is not None
    store = policy.guard.store
    assert isinstance(store, MemoryStore)
    assert store._max == MAX_RECORDS
    assert sys.getsizeof(store._used) < 1000
