"""Every key of the language, from its text to the long form that later steps read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.shape import Shape, shape_of

SERVICE = """
version: 1
service: payment_api
owner: payments-team
description: Card payments.
class: online
critical: true
extends: [http-client]
target: payment_sdk.client:PaymentClient
redis: {url_env: POLICY_REDIS_URL}
facts:
  instances: 12
  workers: 40
  capacity: 300/s
  service_time: {mean: 30ms, p50: 20ms, p99: 200ms, p999: 1s}
  objective: 3s
  as_of: 2026-11-01
  source: load test 41
  pool: {max: 10, acquire_timeout: 1s}
  shards: 3
  cache: {hit_ratio: 90%, coalesced: true}
  layers: [{name: mesh, max_attempts: 3, retry_on_status: [503]}]
  autoscale: {metric: concurrency, target: 60%}
  domain: db-1
  reconnect: {delay: 5s, window: 60s, jitter: full, accept_rate: 200/s}
defaults: {transport: http}
operations:
  charge:
    extends: [critical-http]
    target: payment_sdk.client:PaymentClient.charge
    description: Charge a card.
    kind: unary
    idempotent: false
    transport: http
    facts:
      rate: 40/s
      callers: 24
      latency: {mean: 120ms, p50: 80ms, p99: 900ms, p999: 1500ms}
      failure_ratio: 0.1%
    attempt_timeout: {total: 5s, connect: 500ms, first_item: 10s, idle: 15s, sync: thread, argument: timeout}
    budget: {total: 15s, inherit: true, reserve: 200ms, minimum: 1s, header: {name: X-Timeout-Budget, unit: s}}
    retry:
      max_attempts: 3
      backoff: {initial: 100ms, multiplier: 2, max: 5s, jitter: {kind: ratio, ratio: 20%}}
      retry_on: [not_sent, connection_lost, timeout]
      never_retry_on: [ValueError]
      retry_on_status: [429, "502-504"]
      never_retry_on_status: [402]
      retry_if: my_app.rules:transient
      retry_if_result: my_app.rules:looks_wrong
      retry_after: {max: 10s}
      budget: {ratio: 10%, refill: success, floor: 6/m, burst: 10}
    circuit_breaker:
      failure_threshold: 5
      failure_ratio: 50%
      slow_call: {after: 2s, ratio: 80%}
      window: {seconds: 30s}
      minimum_calls: 20
      recovery_timeout: {initial: 30s, multiplier: 2, max: 10m, jitter: 20%}
      half_open_max_calls: 1
      half_open_max_wait: 60s
      success_threshold: 2
      record_on: [not_sent, connection_lost, timeout]
      ignore_on: [ValueError]
      record_on_status: ["500-599"]
      ignore_on_status: [429]
      record_if_result: my_app.rules:is_error
      scope: operation
      max_keys: 1000
      store: memory
      mode: enforce
    bulkhead: {max_concurrent: 10, max_queue: 20, max_wait: 50ms, scope: operation, max_keys: 1000, mode: enforce}
    rate_limit: {rate: 100/s, burst: 20, max_wait: 0s, store: memory, mode: enforce}
    hedge: {delay: 200ms, max_hedges: 1, budget: 2%}
    fallback: {value: [], fallback_on: [circuit_open, timeout]}
    idempotency:
      key: [hotel_id, checkin, order.id]
      forward: {header: Idempotency-Key}
      ttl: 24h
      in_progress: 30s
      on_conflict: wait
      store: sqlite
      path: var/keys.db
      codec: json
    calls:
      - {to: ledger_api.post_entry, per_request: 1, mode: sequential}
      - {to: tax.compute, override: {attempt_timeout: 300ms, retry: off}}
  quote:
    circuit_breaker: {window: {calls: 100}}
    fallback: {call: my_app.fallbacks:cached_quote}
    idempotency: {key: {call: my_app.keys:key_of}, forward: {argument: idempotency_key}}
  other:
    fallback: {operation: quotes_b.get}
calls: [{to: tax.compute, per_request: 0.2, mode: detached, override: {retry: off}}]
inbound:
  bulkhead: {max_concurrent: 20, max_queue: 40, max_wait: 50ms, mode: observe}
  rate_limit: {rate: 500/s, burst: 20, max_wait: 0s, store: memory, mode: enforce}
  budget: {default: 10s, max: 30s, header: {name: X-Timeout-Budget, unit: s}}
queues:
  recovery:
    store: sqlite
    path: var/recovery.db
    key: "recovery:queue"
    url_env: POLICY_REDIS_URL
    payload: my_app.jobs:Job
    codec: json
    max_size: 100
    max_bytes: 50MiB
    max_age: 1h
    warn_at: 70%
    overflow: dead_letter
    lease: 30s
    max_deliveries: 5
    redelivery: {initial: 5s, multiplier: 2, max: 5m, jitter: {kind: ratio, ratio: 10%}}
    dead_letter: {max_size: 10000}
    order_by: agent_id
    consume: {operation: worker.handle, concurrency: 3}
    upload: {operation: report_api.send_batch, batch: 100, interval: 5s, drain: 10s}
telemetry: {metrics: prometheus, traces: opentelemetry, logs: json, heartbeat: 30s}
environments:
  staging: {defaults: {attempt_timeout: 10s}, operations: {charge: {retry: off}}}
ignore: [{rule: RT001, at: operations.charge, reason: "lease loop", until: 2026-12-31}]
"""

PRESET = """
version: 1
preset: http-client
owner: platform
description: Calls over HTTP.
class: online
critical: false
extends: [base]
redis: {url_env: POLICY_REDIS_URL}
facts: {instances: 2}
defaults: {attempt_timeout: 5s}
inbound: {rate_limit: {rate: 500/s}}
telemetry: {logs: json}
"""


def test_the_whole_language_has_its_long_form(
    dump: Callable[[str], dict[str, Any]],
) -> None:
    """Seconds, per second, ratios and bytes stand where texts stood."""
    data = dump(SERVICE)
    charge = data["operations"]["charge"]
    assert charge["attempt_timeout"] == {
        "total": 5.0,
        "connect": 0.5,
        "first_item": 10.0,
        "idle": 15.0,
        "sync": "thread",
        "argument": "timeout",
    }
    assert charge["budget"] == {
        "total": 15.0,
        "inherit": True,
        "reserve": 0.2,
        "minimum": 1.0,
        "header": {"name": "X-Timeout-Budget", "unit": "s"},
    }
    assert charge["retry"] == {
        "max_attempts": 3,
        "backoff": {
            "initial": 0.1,
            "multiplier": 2.0,
            "max": 5.0,
            "jitter": {"kind": "ratio", "ratio": 0.2},
        },
        "retry_on": ["not_sent", "connection_lost", "timeout"],
        "never_retry_on": ["ValueError"],
        "retry_on_status": ["429", "502-504"],
        "never_retry_on_status": ["402"],
        "retry_if": "my_app.rules:transient",
        "retry_if_result": "my_app.rules:looks_wrong",
        "retry_after": {"max": 10.0},
        "budget": {"ratio": 0.1, "refill": "success", "floor": 0.1, "burst": 10},
    }
    assert charge["circuit_breaker"] == {
        "failure_threshold": 5,
        "failure_ratio": 0.5,
        "slow_call": {"after": 2.0, "ratio": 0.8},
        "window": {"seconds": 30.0},
        "minimum_calls": 20,
        "recovery_timeout": {
            "initial": 30.0,
            "multiplier": 2.0,
            "max": 600.0,
            "jitter": 0.2,
        },
        "half_open_max_calls": 1,
        "half_open_max_wait": 60.0,
        "success_threshold": 2,
        "record_on": ["not_sent", "connection_lost", "timeout"],
        "ignore_on": ["ValueError"],
        "record_on_status": ["500-599"],
        "ignore_on_status": ["429"],
        "record_if_result": "my_app.rules:is_error",
        "scope": "operation",
        "max_keys": 1000,
        "store": "memory",
        "mode": "enforce",
    }
    assert charge["bulkhead"]["max_wait"] == 0.05
    assert charge["rate_limit"] == {
        "rate": 100.0,
        "burst": 20,
        "max_wait": 0.0,
        "store": "memory",
        "mode": "enforce",
    }
    assert charge["hedge"] == {"delay": 0.2, "max_hedges": 1, "budget": 0.02}
    assert charge["fallback"] == {
        "value": [],
        "fallback_on": ["circuit_open", "timeout"],
    }
    assert charge["idempotency"]["key"] == ["hotel_id", "checkin", "order.id"]
    assert charge["idempotency"]["ttl"] == 86400.0
    assert charge["facts"]["latency"]["p999"] == 1.5
    assert charge["facts"]["failure_ratio"] == 0.001
    assert charge["calls"] == [
        {"to": "ledger_api.post_entry", "per_request": 1.0, "mode": "sequential"},
        {
            "to": "tax.compute",
            "override": {"attempt_timeout": {"total": 0.3}, "retry": "off"},
        },
    ]
    assert data["operations"]["quote"]["idempotency"]["key"] == {
        "call": "my_app.keys:key_of"
    }
    assert data["facts"]["autoscale"]["target"] == 0.6
    assert data["facts"]["capacity"] == 300.0
    assert data["queues"]["recovery"]["max_bytes"] == 52428800
    assert data["queues"]["recovery"]["redelivery"]["jitter"] == {
        "kind": "ratio",
        "ratio": 0.1,
    }
    assert data["class"] == "online"
    assert data["environments"]["staging"]["operations"]["charge"] == {"retry": "off"}


def test_a_preset_has_what_services_share(
    dump: Callable[[str], dict[str, Any]],
) -> None:
    """A document with ``preset`` and no ``service`` is a preset."""
    data = dump(PRESET)
    assert data["preset"] == "http-client"
    assert data["defaults"] == {"attempt_timeout": {"total": 5.0}}


def keys_of(shape: Shape, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key of a shape, names as ``*``; overlays and overrides are not entered."""
    for name, child in shape.keys.items():
        yield (*path, name)
        if name in ("environments", "override", "defaults"):
            continue
        if child.kind == "block":
            yield from keys_of(child, (*path, name))
        elif child.item is not None:
            yield from keys_of(child.item, (*path, name, "*"))


def paths_in(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of plain data, names of operations and queues as ``*``."""
    if isinstance(data, list):
        for item in data:
            yield from paths_in(item, (*path, "*"))
    elif isinstance(data, dict):
        for name, value in data.items():
            named = path[-1:] in (("operations",), ("queues",))
            below = (*path, "*" if named else name)
            yield below
            yield from paths_in(value, below)


@pytest.mark.parametrize(
    ("text", "model"), [(SERVICE, ServiceModel), (PRESET, PresetModel)]
)
def test_these_texts_hold_every_key(
    text: str,
    model: type[ServiceModel | PresetModel],
    dump: Callable[[str], dict[str, Any]],
) -> None:
    """No key of the language is missing from the examples above."""
    stated = set(paths_in(dump(text)))
    missing = [path for path in keys_of(shape_of(model)) if path not in stated]
    if model is PresetModel:
        missing = [path for path in missing if len(path) == 1]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attempt_timeout: 5s", {"attempt_timeout": {"total": 5.0}}),
        ("budget: 15s", {"budget": {"total": 15.0}}),
        (
            "circuit_breaker: {recovery_timeout: 30s}",
            {"circuit_breaker": {"recovery_timeout": {"initial": 30.0}}},
        ),
        (
            "circuit_breaker: {window: 100 calls}",
            {"circuit_breaker": {"window": {"calls": 100}}},
        ),
        (
            "circuit_breaker: {window: 30s}",
            {"circuit_breaker": {"window": {"seconds": 30.0}}},
        ),
        (
            "retry: {backoff: {jitter: 0.2}}",
            {"retry": {"backoff": {"jitter": {"kind": "ratio", "ratio": 0.2}}}},
        ),
        (
            "retry: {backoff: {jitter: 20%}}",
            {"retry": {"backoff": {"jitter": {"kind": "ratio", "ratio": 0.2}}}},
        ),
        (
            "retry: {backoff: {jitter: equal}}",
            {"retry": {"backoff": {"jitter": {"kind": "equal"}}}},
        ),
        ("retry: {max_attempts: unlimited}", {"retry": {"max_attempts": "unlimited"}}),
        ("fallback: {value: null}", {"fallback": {"value": None}}),
        ("fallback: {value: off}", {"fallback": {"value": "off"}}),
        (
            "fallback: {value: {x-a: 1, b: [null]}}",
            {"fallback": {"value": {"x-a": 1, "b": [None]}}},
        ),
    ],
)
def test_short_forms_become_long_forms(
    text: str, expected: dict[str, Any], settings: Callable[[str], dict[str, Any]]
) -> None:
    """Later steps see one form, whichever was written."""
    assert settings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retry: off", {"retry": "off"}),
        ("retry: 'off'", {"retry": "off"}),
        ("retry: false", {"retry": "off"}),
        ("attempt_timeout: off", {"attempt_timeout": "off"}),
        ("attempt_timeout: {total: off}", {"attempt_timeout": {"total": "off"}}),
        ("retry: {retry_on: off}", {"retry": {"retry_on": "off"}}),
        ("retry: {retry_after: off}", {"retry": {"retry_after": "off"}}),
        ("retry: {max_attempts: off}", {"retry": {"max_attempts": "off"}}),
        ("retry: {backoff: {jitter: off}}", {"retry": {"backoff": {"jitter": "off"}}}),
        ("idempotency: {key: off}", {"idempotency": {"key": "off"}}),
        ("calls: off", {"calls": "off"}),
        ("bulkhead: {mode: off}", {"bulkhead": {"mode": "off"}}),
        ("transport: off", {"transport": "off"}),
    ],
)
def test_off_is_kept_as_a_word(
    text: str, expected: dict[str, Any], settings: Callable[[str], dict[str, Any]]
) -> None:
    """A block, a list or a single value can be switched off, however it is read."""
    assert settings(text) == expected


def test_keys_with_x_are_ignored_everywhere(
    dump: Callable[[str], dict[str, Any]],
) -> None:
    """Notes and anchors may live under any key that begins with ``x-``."""
    text = (
        "x-common: &c {attempt_timeout: 5s, x-why: measured}\n"
        "version: 1\nservice: pay\n"
        "operations:\n  x-note: {anything: null}\n"
        "  charge: {<<: *c, x-team: a, retry: {x-b: null, max_attempts: 2}}\n"
    )
    assert dump(text) == {
        "version": 1,
        "service": "pay",
        "operations": {
            "charge": {"attempt_timeout": {"total": 5.0}, "retry": {"max_attempts": 2}}
        },
    }


def test_absent_keys_stay_absent(settings: Callable[[str], dict[str, Any]]) -> None:
    """An empty operation has no settings of its own; nothing is filled in here."""
    assert settings("{}") == {}
