"""RT003: retries without any wait."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("retry", "severity", "message"),
    [
        (
            "{max_attempts: 2, backoff: {initial: 0s}}",
            Severity.WARNING,
            "backoff.initial is 0s: the only retry of payment_api.charge follows at once",
        ),
        (
            "{max_attempts: 3, backoff: {initial: 0s}}",
            Severity.ERROR,
            "backoff.initial is 0s: all 2 retries of payment_api.charge follow at once",
        ),
    ],
)
def test_no_wait_at_all(retry: str, severity: Severity, message: str) -> None:
    """One immediate retry is a warning, more are an error."""
    (found,) = lint_yaml(operation_yaml(f"{HEAD}retry: {retry}"), "RT003")
    assert (found.severity, found.message) == (severity, message)
    assert found.policy_path.endswith("retry.backoff.initial")


@pytest.mark.boundary
@pytest.mark.parametrize(
    "retry",
    [
        "{max_attempts: 1, backoff: {initial: 0s}}",
        "{max_attempts: 3, backoff: {initial: 1us}}",
        "{max_attempts: 3}",
    ],
)
def test_any_wait_or_no_retry_is_left_alone(retry: str) -> None:
    """The smallest wait is a wait, and one attempt needs none."""
    assert lint_yaml(operation_yaml(f"{HEAD}retry: {retry}"), "RT003") == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ("", "{initial: 25ms, multiplier: 2, max: 250ms, jitter: full}"),
        (
            "facts: {latency: {p50: 80ms}}",
            "{initial: 80ms, multiplier: 2, max: 800ms, jitter: full}",
        ),
        (
            "facts: {latency: {p50: 10ms}}",
            "{initial: 25ms, multiplier: 2, max: 250ms, jitter: full}",
        ),
    ],
)
def test_help_begins_with_the_median_latency(facts: str, expected: str) -> None:
    """The suggested wait is the larger of 25 ms and the median."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: 3, backoff: {{initial: 0s}}}}\n{facts}"
    )
    (found,) = lint_yaml(text, "RT003")
    assert found.help == f"set backoff: {expected}"


def test_unlimited_immediate_retries_are_an_error() -> None:
    """A control loop without a wait is reported too."""
    text = operation_yaml(
        f"{HEAD}retry: {{max_attempts: unlimited, backoff: {{initial: 0s}}}}",
        service="class: control_loop",
    )
    (found,) = lint_yaml(text, "RT003")
    assert found.severity is Severity.ERROR
    assert "all retries of payment_api.charge follow at once" in found.message


@pytest.mark.parametrize(
    ("backoff", "facts", "wait"),
    [
        ("{initial: 0s}", "", "25ms"),
        ("{initial: 0s, max: off}", "", "25ms"),
        ("{initial: 0s, max: 10ms}", "", "10ms"),
        ("{initial: 0s}", "facts: {latency: {p50: 80ms}}", "80ms"),
        ("{initial: 0s}", "facts: {latency: {p99: 80ms}}", "25ms"),
    ],
)
def test_fix_sets_the_first_wait(backoff: str, facts: str, wait: str) -> None:
    """The larger of 25 ms and the median, but no more than the maximum."""
    text = operation_yaml(f"{HEAD}retry: {{backoff: {backoff}}}\n{facts}")
    (found,) = lint_yaml(text, "RT003")
    assert found.fix is not None
    assert [edit.text for edit in found.fix.edits] == [wait]


def test_a_maximum_of_nothing_is_no_wait() -> None:
    """Where both are 0 s, the first one is the place and the fix."""
    text = operation_yaml(f"{HEAD}retry: {{backoff: {{initial: 0s, max: 0s}}}}")
    (found,) = lint_yaml(text, "RT003")
    assert found.policy_path.endswith("retry.backoff.initial")
    assert found.fix is None


def test_wait_of_a_preset_is_shown_there() -> None:
    """An inherited wait of 0 s is a related place."""
    preset = (
        "version: 1\npreset: eager\ndefaults:\n"
        "  retry: {max_attempts: 2, backoff: {initial: 0s}}\n"
    )
    text = operation_yaml(HEAD, service="extends: [eager]")
    (found,) = lint_yaml(text, "RT003", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:47"


def queue(redelivery: str, deliveries: str = "5", store: str = "sqlite") -> str:
    """A queue with this redelivery."""
    path = "    path: jobs.db\n" if store == "sqlite" else ""
    return (
        f"version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: {store}\n"
        f"{path}    max_size: 10\n    max_deliveries: {deliveries}\n"
        f"    redelivery: {redelivery}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("redelivery", "deliveries", "severity", "often"),
    [
        ("{initial: 0s}", "2", Severity.WARNING, "up to 1 time"),
        ("{initial: 0s}", "5", Severity.WARNING, "up to 4 times"),
        ("{initial: 0s, jitter: none}", "off", Severity.ERROR, "without end"),
    ],
)
@pytest.mark.parametrize("store", ["sqlite", "external"])
def test_deliveries_at_once(
    redelivery: str, deliveries: str, severity: Severity, often: str, store: str
) -> None:
    """A first wait of 0 s stays 0 s; without a bound the item is a busy loop."""
    (found,) = lint_yaml(queue(redelivery, deliveries, store), "RT003")
    assert (found.severity, found.help) == (
        severity,
        "set redelivery.initial: 1s or more",
    )
    assert found.message == (
        "redelivery.initial is 0s: an item of queue worker.jobs that fails comes again "
        f"at once, {often}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("redelivery", "deliveries"), [("{initial: 0s}", "1"), ("{initial: 1ms}", "5")]
)
def test_deliveries_that_wait(redelivery: str, deliveries: str) -> None:
    """One delivery has none after it; the shortest wait is one."""
    assert lint_yaml(queue(redelivery, deliveries), "RT003") == []


def test_the_fix_of_a_queue_sets_the_first_wait() -> None:
    """One second, after which nothing is found."""
    text = queue("{initial: 0s}")
    (found,) = lint_yaml(text, "RT003")
    assert found.fix is not None
    assert not found.fix.safe
    source, _problem = decode(text.encode(), "policy.yaml")
    assert source is not None
    mended = apply_edits(source, found.fix.edits)
    assert "redelivery: {initial: 1s}" in mended
    assert lint_yaml(mended, "RT003") == []
