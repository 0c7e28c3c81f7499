"""MX-04: metric names made from policies collide, or hold what is not allowed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import enable, names, prometheus
from policyctl.runtime.telemetry.switch import SWITCH

SERVICE = "mx_04"
OPERATIONS = [
    *("request", "request_total", "request_created", "a-b", "a.b", "a_b"),
    *("\N{FIRE}", "x" * 300, 'quoted "name"', "back\\slash", "two\nlines", " "),
]


@pytest.fixture(autouse=True)
def own_service() -> Iterator[None]:
    """The service is gone afterwards."""
    yield
    prometheus.unregister()
    SWITCH.services.pop(SERVICE, None)
    for key in [key for key in SWITCH.meters if key[0] == SERVICE]:
        del SWITCH.meters[key]
    for name in [name for name in registry if name.startswith(f"{SERVICE}.")]:
        registry.forget(name)


def shown() -> tuple[str, set[str], set[str]]:
    """An exposition, its metric names and the operations in it."""
    found = CollectorRegistry()
    prometheus.register(found)
    text = generate_latest(found).decode("utf-8")
    assert open_metrics(found)  # type: ignore[no-untyped-call]
    families = list(text_string_to_metric_families(text))
    operations = {
        sample.labels["operation"]
        for family in families
        for sample in family.samples
        if sample.labels.get("service") == SERVICE
    }
    return text, {family.name for family in families}, operations


def test_operations_are_labels() -> None:
    """Names of any kind give one exposition that parses and gives them back."""
    enable(SERVICE, metrics="prometheus")
    breaker = settings.CircuitBreaker(failure_threshold=1)
    for operation in OPERATIONS:
        Policy(service=SERVICE, operation=operation, circuit_breaker=breaker).call(int)
    text, metrics, operations = shown()
    assert operations == set(OPERATIONS)
    known = {metric.name.removesuffix("_total") for metric in names.METRICS}
    assert metrics <= known
    assert text.count("# TYPE policyctl_calls_total counter") == 1


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.text(min_size=1, max_size=40))
def test_any_text_is_a_label(operation: str) -> None:
    """Every name that can be encoded comes back as it is."""
    enable(SERVICE, metrics="prometheus")
    Policy(service=SERVICE, operation=operation).call(int)
    assert operation in shown()[2]


def test_a_name_that_cannot_be_encoded() -> None:
    """A lone surrogate is shown escaped; it does not break the scrape."""
    enable(SERVICE, metrics="prometheus")
    Policy(service=SERVICE, operation="odd\ud800").call(int)
    assert shown()[2] == {"odd\\ud800"}


def test_values_of_arguments_are_no_labels() -> None:
    """A thousand tenants with breakers of their own are one series for each state."""
    enable(SERVICE, metrics="prometheus")
    breaker = settings.CircuitBreaker(failure_threshold=1, scope="argument:tenant")
    policy = Policy(service=SERVICE, operation="read", circuit_breaker=breaker)

    @policy
    def read(tenant: int) -> int:
        if tenant % 2:
            raise OSError
        return tenant

    for tenant in range(1000):
        try:
            read(tenant)
        except OSError:
            continue
    text, _, operations = shown()
    assert operations == {"read"}
    lines = [row for row in text.splitlines() if SERVICE in row]
    assert len(lines) < 60
