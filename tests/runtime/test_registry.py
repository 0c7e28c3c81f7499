"""The registry: one live object for each name (C37)."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Iterator

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import Registry, registry


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    """Policies of a test do not stay in the process's registry."""
    before = set(registry)
    yield
    for name in set(registry) - before:
        registry.forget(name)


def breaker(threshold: int = 5) -> settings.CircuitBreaker:
    """A breaker block."""
    return settings.CircuitBreaker(failure_threshold=threshold)


def make(operation: str, **blocks: object) -> Policy:
    """A policy of the service reg_api."""
    return Policy(service="reg_api", operation=operation, **blocks)  # type: ignore[arg-type]


def test_named_policies_are_found_by_name() -> None:
    """Item access, get, in, and iteration know service.operation."""
    charge = make("charge")
    assert registry["reg_api.charge"] is charge
    assert registry.get("reg_api.charge") is charge
    assert registry.get("reg_api.nothing") is None
    assert "reg_api.charge" in registry
    assert list(registry) == sorted(registry)
    assert len(registry) == len(list(registry))


def test_nameless_policies_are_not_registered() -> None:
    """They cannot be found, and two of them are two objects."""
    before = len(registry)
    assert Policy() is not Policy()
    assert len(registry) == before


def test_equal_settings_share_one_object_and_its_state() -> None:
    """CB-21, CB-22: defining a policy again gives the live one."""
    first = make("charge", circuit_breaker=breaker())
    first.circuit_breaker.force_open()
    assert make("charge", circuit_breaker=breaker()) is first
    assert first.circuit_breaker.state == "forced_open"


def test_different_settings_under_one_name_are_an_error() -> None:
    """The error names the block, both values and both places."""
    make("charge", circuit_breaker=breaker(5))
    with pytest.raises(PolicyConfigError) as caught:
        make("charge", circuit_breaker=breaker(9))
    text = str(caught.value)
    assert text.startswith("reg_api.charge: circuit_breaker: defined with ")
    assert "failure_threshold=9" in text
    assert "failure_threshold=5" in text
    assert text.count("test_registry.py:") == 2


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("reg_api.chrage", "did you mean reg_api.charge?"),
        ("x", "known are "),
    ],
)
def test_an_unknown_name_raises_with_the_nearest(name: str, hint: str) -> None:
    """A typing error is told from a missing import."""
    make("charge")
    for ask in (registry.__getitem__, registry.forget, registry.policies):
        with pytest.raises(PolicyConfigError, match=f"no policy called '{name}'") as e:
            ask(name)
        assert hint in str(e.value)


def test_an_empty_registry_says_so() -> None:
    """Nothing was imported yet."""
    with pytest.raises(PolicyConfigError, match="import the generated package first"):
        Registry()["a.b"]


def test_parts_by_pattern() -> None:
    """Breakers and bulkheads of matching policies that have one, sorted by name."""
    make("a", circuit_breaker=breaker())
    make("b", bulkhead=settings.Bulkhead(max_concurrent=2))
    make("c", circuit_breaker=breaker(), bulkhead=settings.Bulkhead(max_concurrent=3))
    assert list(registry.policies("reg_api.[ab]")) == ["reg_api.a", "reg_api.b"]
    assert list(registry.circuit_breakers("reg_*")) == ["reg_api.a", "reg_api.c"]
    assert list(registry.circuit_breakers("reg_api.a")) == ["reg_api.a"]
    bulkheads = registry.bulkheads("reg_api.*")
    assert {name: b.max_concurrent for name, b in bulkheads.items()} == {
        "reg_api.b": 2,
        "reg_api.c": 3,
    }
    assert registry.circuit_breakers("nothing.*") == {}


def test_breakers_are_moved_by_hand_through_the_registry() -> None:
    """C12: force_open, force_closed, disable and reset by pattern."""
    make("a", circuit_breaker=breaker())
    make("b", circuit_breaker=breaker())
    for act, state in (
        ("force_open", "forced_open"),
        ("force_closed", "forced_closed"),
        ("disable", "disabled"),
        ("reset", "closed"),
    ):
        for view in registry.circuit_breakers("reg_api.*").values():
            getattr(view, act)()
        states = {v.state for v in registry.circuit_breakers("reg_api.*").values()}
        assert states == {state}


def test_statistics_can_be_written_as_json() -> None:
    """State and counts of each policy by name."""
    make("a", circuit_breaker=breaker(), bulkhead=settings.Bulkhead(max_concurrent=2))
    numbers = registry.statistics("reg_api.a")
    assert json.loads(json.dumps(numbers)) == numbers
    assert numbers["reg_api.a"]["circuit_breaker"]["state"] == "closed"
    assert numbers["reg_api.a"]["bulkhead"]["max_concurrent"] == 2


def test_a_forgotten_name_is_free_again() -> None:
    """forget() drops the entry; the next definition is a new object."""
    first = make("a", circuit_breaker=breaker())
    registry.forget("reg_api.a")
    assert make("a", circuit_breaker=breaker(9)) is not first


def test_a_policy_that_fails_to_build_leaves_no_entry() -> None:
    """The name can be defined right afterwards."""
    for _ in range(2):
        with pytest.raises(PolicyConfigError):
            make("bad", retry=settings.Retry(retry_on=("NoSuchError",)))
    assert "reg_api.bad" not in registry


def test_threads_that_define_one_policy_at_once_get_one_object() -> None:
    """The first wins; nobody gets an object that is not registered."""
    barrier = threading.Barrier(16, timeout=60)
    made: list[Policy] = []

    def define() -> None:
        barrier.wait()
        made.append(make("race", circuit_breaker=breaker()))

    threads = [threading.Thread(target=define, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(map(id, made)) == {id(registry["reg_api.race"])}


def test_policies_in_use_are_those_with_a_name_and_the_forgotten_ones() -> None:
    """C41: after a fork all that can still be called are told, and no other kept alive."""
    named, forgotten, dropped = make("in_use"), make("forgotten"), make("dropped")
    registry.forget("reg_api.forgotten")
    registry.forget("reg_api.dropped")
    seen = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert seen() is None
    found = registry.in_use()
    assert found.count(named) == 1
    assert found.count(forgotten) == 1
    assert {policy.name for policy in found}.isdisjoint({"reg_api.dropped"})
