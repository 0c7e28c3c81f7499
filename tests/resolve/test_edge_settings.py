"""An edge's own policy: each block overridden key by key, with the origin of each value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from policyctl.generate.digest import plain
from policyctl.resolve.policy import Operation
from policyctl.resolve.project import Loaded

Load = Callable[..., Loaded]
Settings = Mapping[str, Any]

FULL: dict[str, Any] = {
    "idempotent": True,
    "transport": "http",
    "attempt_timeout": {"total": "2s", "connect": "500ms"},
    "budget": {"total": "9s", "reserve": "1s", "minimum": "2s"},
    "retry": {
        "max_attempts": 3,
        "backoff": {"initial": "200ms", "multiplier": 3, "max": "2s"},
        "retry_on": ["ConnectionError", "timeout"],
        "retry_on_status": [429, 503],
        "retry_after": {"max": "3s"},
        "budget": {"ratio": 0.1, "burst": 7},
    },
    "circuit_breaker": {
        "failure_threshold": 7,
        "window": "40s",
        "minimum_calls": 30,
        "recovery_timeout": {"initial": "20s", "multiplier": 2, "max": "60s"},
        "success_threshold": 3,
    },
    "bulkhead": {"max_concurrent": 8, "max_queue": 4, "max_wait": "50ms"},
    "rate_limit": {"rate": "50/s", "burst": 9},
    "fallback": {"value": [], "fallback_on": ["circuit_open"]},
}
HEDGED: dict[str, Any] = {
    **{name: value for name, value in FULL.items() if name != "retry"},
    "hedge": {"delay": "300ms", "max_hedges": 2},
}


def merged(base: Settings, over: Settings) -> dict[str, Any]:
    """Settings key by key, the later ones on top."""
    found = dict(base)
    for key, value in over.items():
        below = found.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = merged(below, value)
        found[key] = value
    return found


def service(name: str, settings: Settings) -> str:
    """A service with one operation, ``op``."""
    body = {"version": 1, "service": name, "operations": {"op": dict(settings)}}
    return yaml.safe_dump(body, sort_keys=False)


def own_policy(load: Load, callee: Settings, override: Settings) -> Operation:
    """The caller's own policy for ``callee.op``; its settings are in ``1.yaml``."""
    caller = {
        "version": 1,
        "service": "caller",
        "calls": [{"to": "callee.op", "override": dict(override)}],
    }
    loaded = load(service("callee", callee), yaml.safe_dump(caller, sort_keys=False))
    assert loaded.diagnostics == ()
    policy = loaded.project.services["caller"].calls[0].policy
    assert policy is not None
    return policy


OVERRIDES: list[dict[str, Any]] = [
    {"attempt_timeout": {"total": "1s"}},
    {"attempt_timeout": {"connect": "100ms"}},
    {"budget": {"total": "30s"}},
    {"budget": {"minimum": "1s"}},
    {"budget": {"inherit": False}},
    {"retry": {"max_attempts": 2}},
    {"retry": {"backoff": {"initial": "100ms"}}},
    {"retry": {"backoff": {"max": "1s"}, "retry_on": ["TimeoutError"]}},
    {"retry": {"retry_on_status": [502]}},
    {"retry": {"retry_after": "off"}},
    {"retry": {"budget": {"ratio": 0.2}}},
    {"retry": {"budget": "off"}},
    {"circuit_breaker": {"failure_threshold": 2}},
    {"circuit_breaker": {"recovery_timeout": {"initial": "5s"}}},
    {"circuit_breaker": {"window": {"calls": 50}}},
    {"circuit_breaker": {"record_on": ["OSError"]}},
    {"bulkhead": {"max_concurrent": 2}},
    {"bulkhead": {"max_wait": "10ms"}},
    {"rate_limit": {"burst": 3}},
    {"fallback": {"fallback_on": ["timeout"]}},
    {"fallback": {"call": "shop:empty"}},
    {"hedge": {"max_hedges": 1}},
]


@pytest.mark.parametrize("override", OVERRIDES, ids=str)
def test_one_key_of_a_block(load: Load, override: dict[str, Any]) -> None:
    """The rest of the block is the callee's, as if all had been written in one place."""
    base = HEDGED if "hedge" in override else FULL
    together = merged(base, override)
    if "call" in override.get("fallback", {}):
        del together["fallback"]["value"]
    loaded = load(service("callee", together))
    assert loaded.diagnostics == ()
    written = loaded.project.services["callee"].operations["op"]
    policy = own_policy(load, base, override)
    assert plain(policy) == plain(written)
    assert policy.idempotent is True
    assert policy.transport == "http"


@pytest.mark.parametrize(
    "block",
    [name for name in (*FULL, "hedge") if name not in ("idempotent", "transport")],
)
def test_a_block_switched_off(load: Load, block: str) -> None:
    """The others stay; what is left is as if the block had never been there."""
    base = HEDGED if block == "hedge" else FULL
    without = {name: value for name, value in base.items() if name != block}
    loaded = load(service("callee", without))
    assert loaded.diagnostics == ()
    written = loaded.project.services["callee"].operations["op"]
    assert plain(own_policy(load, base, {block: "off"})) == plain(written)


@pytest.mark.parametrize("block", ["retry", "circuit_breaker", "bulkhead", "budget"])
def test_a_block_of_the_callers_own(load: Load, block: str) -> None:
    """What the callee lacks is added, with the defaults of a block of its own."""
    base = {"idempotent": True, "transport": "http", "attempt_timeout": "1s"}
    loaded = load(service("callee", {**base, block: FULL[block]}))
    written = loaded.project.services["callee"].operations["op"]
    assert plain(own_policy(load, base, {block: FULL[block]})) == plain(written)


def test_where_values_come_from(load: Load) -> None:
    """Keys of the override are of the caller's file, the others of the callee's."""
    policy = own_policy(
        load, FULL, {"retry": {"max_attempts": 2, "backoff": {"initial": "100ms"}}}
    )
    files = {
        path: policy.origin(path).label.partition(":")[0]
        for path in (
            "idempotent",
            "retry.max_attempts",
            "retry.backoff.initial",
            "retry.backoff.multiplier",
            "retry.retry_on",
            "circuit_breaker.failure_threshold",
            "circuit_breaker.half_open_max_calls",
        )
    }
    assert files == {
        "idempotent": "0.yaml",
        "retry.max_attempts": "1.yaml",
        "retry.backoff.initial": "1.yaml",
        "retry.backoff.multiplier": "0.yaml",
        "retry.retry_on": "0.yaml",
        "circuit_breaker.failure_threshold": "0.yaml",
        "circuit_breaker.half_open_max_calls": "built-in default",
    }
