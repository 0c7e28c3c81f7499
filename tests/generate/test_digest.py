"""Digests depend on resolved values and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from policyctl.generate.digest import digest, plain, plain_service
from policyctl.resolve.policy import Backoff, Fallback, Jitter, Project, Window

LoadProject = Callable[[Mapping[str, str]], Project]


def service_of(load: LoadProject, text: str, name: str = "a.yaml") -> dict[str, Any]:
    """The plain values of the only service of a text."""
    (service,) = load({name: text}).services.values()
    return plain_service(service)


def test_plain_values(load: LoadProject, taxes: str) -> None:
    """Every resolved value is there; what is off and where it stands is not."""
    assert service_of(load, taxes) == {
        "critical": False,
        "operations": {
            "compute": {
                "attempt_timeout": {"sync": "thread", "total": 2.0},
                "idempotent": True,
                "kind": "unary",
                "transport": "grpc",
            }
        },
        "service_class": "online",
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2s", "2000ms"),
        ("2s", "{total: 2s}"),
        ("2s", "2s # why"),
        ("version: 1", "# a comment\nversion: 1"),
        ("idempotent", "x-note: mine\n    idempotent"),
    ],
)
def test_how_it_is_written_does_not_matter(
    old: str, new: str, load: LoadProject, taxes: str
) -> None:
    """Comments, forms, places and file names change no value."""
    before = service_of(load, taxes)
    after = service_of(load, taxes.replace(old, new), "other.yaml")
    assert digest(after) == digest(before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2s", "3s"),
        ("true", "false"),
        ("grpc", "http"),
        ("compute", "computed"),
        ("version: 1", "version: 1\nowner: me"),
    ],
)
def test_any_value_matters(old: str, new: str, load: LoadProject, taxes: str) -> None:
    """A changed, added or renamed value is another digest."""
    before, after = service_of(load, taxes), service_of(load, taxes.replace(old, new))
    assert digest(after) != digest(before)


def test_numbers_of_one_field_have_one_type() -> None:
    """A whole number of seconds is written as the float that the field holds."""
    jitter = Jitter("full")
    assert repr(plain(Backoff(1, 2, 5, jitter))) == repr(
        plain(Backoff(1.0, 2.0, 5.0, jitter))
    )
    assert repr(plain(Window(seconds=30))) == "{'seconds': 30.0}"
    assert repr(plain(Window(calls=30))) == "{'calls': 30}"


def test_a_fallback_value_is_kept_as_it_is() -> None:
    """null is a value there, and equal values of other types are others."""
    fallback = Fallback("value", None, None, None, ())
    assert plain(fallback) == {"kind": "value", "value": None, "fallback_on": []}
    values = [1, 1.0, True]
    shown = [repr(plain(Fallback("value", v, None, None, ()))) for v in values]
    assert len(set(shown)) == 3


def test_facts_are_no_settings(load: LoadProject, taxes: str) -> None:
    """What was measured of services, operations and edges is not in the values."""
    measured = taxes.replace(
        "version: 1",
        "version: 1\nfacts: {instances: 3, layers: [{name: mesh, max_attempts: 2}]}",
    ).replace("idempotent", "facts: {rate: 4/s, latency: {p99: 1s}}\n    idempotent")
    assert service_of(load, measured) == service_of(load, taxes)
