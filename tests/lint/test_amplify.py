"""Attempts that reach a service when everything fails."""

from __future__ import annotations

import math

import pytest

from policyctl.lint.amplify import (
    amplification,
    attempts_at,
    attempts_of,
    calm_loop,
    demand,
    layer_attempts,
)
from policyctl.lint.context import Context
from policyctl.lint.testing import load_yaml, operation_yaml
from policyctl.lint.traffic import Load

KNOWN = Load(100.0, 10)
UNKNOWN = Load(None, None)


@pytest.mark.parametrize(
    ("settings", "load", "factor"),
    [
        ("budget: 1s", KNOWN, 1.0),
        ("retry: {max_attempts: 4}", UNKNOWN, 4.0),
        ("retry: {budget: {ratio: 20%, refill: request, floor: 1/s}}", KNOWN, 1.3),
        ("retry: {budget: {ratio: 20%, refill: success, floor: 1/s}}", KNOWN, 1.1),
        ("retry: {budget: {ratio: 20%, refill: request, floor: 1/s}}", UNKNOWN, 1.2),
        ("retry: {budget: {ratio: 20%, refill: success, floor: 1/s}}", UNKNOWN, 1.0),
        ("retry: {max_attempts: 2, budget: {floor: 90/s}}", KNOWN, 2.0),
        ("hedge: {delay: 1s, max_hedges: 2, budget: 5%}", KNOWN, 1.05),
    ],
)
def test_factors(settings: str, load: Load, factor: float) -> None:
    """Budgets bound attempts; without facts the factor is a lower bound."""
    text = operation_yaml(f"transport: http\nidempotent: true\n{settings}")
    operation = load_yaml(text).services["payment_api"].operations["charge"]
    assert math.isclose(amplification(operation, load), factor)


def test_unlimited_attempts() -> None:
    """A loop has no bound."""
    text = operation_yaml(
        "transport: http\nretry: {max_attempts: unlimited}", "class: control_loop"
    )
    operation = load_yaml(text).services["payment_api"].operations["charge"]
    assert attempts_of(operation) == math.inf
    assert amplification(operation, KNOWN) == math.inf


@pytest.mark.parametrize(
    ("backoff", "calm"),
    [
        ("{max: 10s}", True),
        ("{max: 9s}", False),
        ("{max: off}", False),
        ("{max: 1m, jitter: none}", False),
        ("{initial: 10s, multiplier: 1, max: 1m}", True),
        ("{initial: 9s, multiplier: 1, max: 1m}", False),
        ("{initial: 9s, multiplier: 1, max: 1m, jitter: decorrelated}", True),
    ],
)
def test_a_loop_that_waits_long_enough_is_not_multiplied(
    backoff: str, calm: bool
) -> None:
    """Its attempts come one after the other, ever more seldom, and not in step."""
    text = operation_yaml(
        f"transport: http\nretry: {{max_attempts: unlimited, backoff: {backoff}}}",
        "class: control_loop",
    )
    operation = load_yaml(text).services["payment_api"].operations["charge"]
    assert calm_loop(operation) is calm
    assert amplification(operation, KNOWN) == (1.0 if calm else math.inf)


def test_demand_adds_up_operations_layers_and_cache() -> None:
    """(100 x 2 + 50 x 1) x 3 x 10 % = 75 of 15 first tries; refund is unknown."""
    text = (
        "version: 1\nservice: api\nfacts:\n  cache: {hit_ratio: 90%}\n"
        "  layers: [{name: mesh, max_attempts: 3}]\n"
        "defaults: {transport: http, idempotent: true}\noperations:\n"
        "  a: {facts: {rate: 100/s}, retry: {max_attempts: 2}}\n"
        "  b: {facts: {rate: 50/s}}\n  c: {}\n"
    )
    context = Context(load_yaml(text))
    api = context.project.services["api"]
    found = demand(api, context)
    assert layer_attempts(api) == 3
    assert math.isclose(found.first, 15.0)
    assert math.isclose(found.attempts, 75.0)
    assert math.isclose(found.factor, 5.0)
    assert found.missing == ("api.operations.c.facts.rate",)


def test_callers_with_settings_of_their_own() -> None:
    """Of 30/s a caller makes 10/s with two attempts, the others make three: 80/s."""
    text = (
        "version: 1\nservice: web\noperations:\n  a: {transport: http, facts: {rate: 10/s}, "
        "calls: [{to: api.get, override: {retry: {max_attempts: 2}}}]}\n---\n"
        "version: 1\nservice: api\noperations:\n  get: {transport: http, idempotent: true, "
        "facts: {rate: 30/s}, retry: {max_attempts: 3}}\n"
    )
    context = Context(load_yaml(text))
    operation = context.project.services["api"].operations["get"]
    assert math.isclose(attempts_at(operation, 30.0, context), 80.0)
    assert math.isclose(demand(context.project.services["api"], context).attempts, 80.0)
