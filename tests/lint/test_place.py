"""Where findings point."""

from __future__ import annotations

import pytest

from policyctl.lint.context import Context
from policyctl.lint.place import Place
from policyctl.lint.testing import load_yaml

PRESET = "version: 1\npreset: base\ndefaults:\n  budget: 9s\n"
TEXT = """\
version: 1
service: payment_api
extends: [base]
defaults:
  attempt_timeout: 2s
operations:
  charge:
    transport: http
    retry:
      retry_on: [not_sent]
      backoff: {initial: 1s}
    circuit_breaker: {window: 30s}
environments:
  staging: {operations: {charge: {circuit_breaker: {window: 60s}}}}
"""


def charge() -> Place:
    """The place of payment_api.charge."""
    context = Context(load_yaml(TEXT, {"base.yaml": PRESET}))
    return context.sites[0].place


@pytest.mark.parametrize(
    ("at", "place"),
    [
        ("retry.backoff.initial", "policy.yaml:11:26"),
        ("retry.retry_on", "policy.yaml:10:17"),
        ("circuit_breaker.window.seconds", "policy.yaml:12:31"),
        ("attempt_timeout.total", "policy.yaml:5:20"),
        ("retry.backoff.max", "policy.yaml:11:7"),
        ("retry.max_attempts", "policy.yaml:9:5"),
        ("retry.budget", "policy.yaml:9:5"),
        ("bulkhead", "policy.yaml:7:3"),
        ("bulkhead.max_wait", "policy.yaml:7:3"),
        ("budget.total", "base.yaml:4:11"),
    ],
)
def test_the_value_or_the_nearest_key_above(at: str, place: str) -> None:
    """Written values, short forms, defaults and absent keys."""
    assert str(charge().span_of(at)) == place


@pytest.mark.parametrize(
    ("at", "primary", "related"),
    [
        ("retry.backoff.initial", "policy.yaml:11:26", []),
        ("circuit_breaker.window.seconds", "policy.yaml:12:31", []),
        (
            "attempt_timeout.total",
            "policy.yaml:5:20",
            ["policy.yaml:7:3 applies to payment_api.charge"],
        ),
        (
            "budget.total",
            "policy.yaml:7:3",
            ["base.yaml:4:11 budget.total comes from preset base"],
        ),
        ("bulkhead", "policy.yaml:7:3", []),
    ],
)
def test_inherited_values_show_both_places(
    at: str, primary: str, related: list[str]
) -> None:
    """In the same file the value is primary; from another file it is related."""
    span, also = charge().locate(at)
    assert str(span) == primary
    assert [f"{item.span} {item.message}" for item in also] == related


def test_stated_values() -> None:
    """Files and presets state, built-in defaults do not."""
    place = charge()
    assert place.stated("retry.backoff.initial")
    assert place.stated("budget.total")
    assert not place.stated("retry.backoff.max")
    assert not place.stated("bulkhead.max_wait")
    assert place.service == "payment_api"
    assert place.join("") == "payment_api.operations.charge"


def test_settings_of_another_document_of_the_file_are_foreign() -> None:
    """An override that inherits from the callee points at the call, not at the callee."""
    text = (
        "version: 1\nservice: shop\ncalls:\n"
        "  - {to: tax.compute, override: {budget: 1s}}\n---\n"
        "version: 1\nservice: tax\noperations:\n"
        "  compute: {transport: http, attempt_timeout: 2s}\n"
    )
    sites = Context(load_yaml(text)).sites
    (override,) = [site.place for site in sites if site.edge is not None]
    span, related = override.locate("attempt_timeout.total")
    assert str(span) == "policy.yaml:4:10"
    assert [
        f"{item.span} {item.message.partition(' comes')[0]}" for item in related
    ] == ["policy.yaml:9:47 attempt_timeout.total"]
    own, _ = override.locate("budget.total")
    assert str(own) == "policy.yaml:4:42"
