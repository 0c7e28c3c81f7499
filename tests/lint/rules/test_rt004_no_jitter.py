"""RT004: many clients that retry in step."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.coverage import Skipped
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


def policy(callers: int | None, jitter: str = "none", initial: str = "100ms") -> str:
    """An operation that so many processes call."""
    facts = "" if callers is None else f"facts: {{callers: {callers}}}\n"
    return operation_yaml(
        f"{HEAD}{facts}retry: {{backoff: {{initial: {initial}, jitter: {jitter}}}}}"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("callers", "severity"),
    [
        (1, None),
        (2, Severity.WARNING),
        (99, Severity.WARNING),
        (100, Severity.ERROR),
    ],
)
def test_boundaries(callers: int, severity: Severity | None) -> None:
    """Two clients are a warning, a hundred an error, one is nothing."""
    found = lint_yaml(policy(callers), "RT004")
    assert [d.severity for d in found] == ([] if severity is None else [severity])


@pytest.mark.parametrize("jitter", ["full", "equal", "decorrelated", "0.2", "1%"])
def test_any_jitter_will_do(jitter: str) -> None:
    """Every kind of jitter takes clients out of step."""
    assert lint_yaml(policy(500, jitter), "RT004") == []


def test_message_and_place() -> None:
    """The message says how many retry together and when."""
    (found,) = lint_yaml(policy(24), "RT004")
    assert found.message == (
        "24 client processes that fail together retry payment_api.charge together, "
        "first after exactly 100ms"
    )
    assert found.policy_path.endswith("retry.backoff.jitter")
    assert (found.span.line, found.span.column) == (9, 47)


@pytest.mark.parametrize("longest", ["1s", "100ms", "off"])
def test_whatever_the_maximum(longest: str) -> None:
    """The first wait is the same for all clients, with a cap or without."""
    text = operation_yaml(
        f"{HEAD}facts: {{callers: 2}}\n"
        f"retry: {{backoff: {{jitter: none, max: {longest}}}}}"
    )
    (found,) = lint_yaml(text, "RT004")
    assert found.message.endswith("first after exactly 100ms")


def test_zero_ratio_is_no_jitter_and_zero_wait_is_not_this_rule() -> None:
    """A ratio of 0 changes nothing; waits of 0 s are RT003's."""
    assert len(lint_yaml(policy(24, jitter="0.0"), "RT004")) == 1
    assert lint_yaml(policy(24, initial="0s"), "RT004") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("callers", "severity"), [(29, Severity.WARNING), (30, Severity.ERROR)]
)
def test_threshold_can_be_set(callers: int, severity: Severity) -> None:
    """From error-from on it is an error."""
    found = lint_yaml(
        policy(callers), "RT004", thresholds={"RT004": {"error_from": 30}}
    )
    assert [d.severity for d in found] == [severity]


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("jitter", "attempts", "count"), [("0%", 2, 1), ("1%", 2, 0), ("0%", 1, 0)]
)
def test_the_least_jitter_of_the_first_retry(
    jitter: str, attempts: int, count: int
) -> None:
    """One percent is jitter, none is not; a single attempt waits for nothing."""
    text = policy(500, jitter).replace(
        "retry: {", f"retry: {{max_attempts: {attempts}, "
    )
    assert len(lint_yaml(text, "RT004")) == count


@pytest.mark.missing_facts
def test_unknown_callers_are_skipped_and_reported() -> None:
    """Without callers the rule is silent and says which fact it waits for."""
    result = run_yaml(policy(None), "RT004")
    assert result.diagnostics == ()
    assert result.coverage.skipped == (
        Skipped("payment_api.operations.charge.facts.callers", "RT004"),
    )


@pytest.mark.missing_facts
def test_unknown_instances_of_an_overriding_caller() -> None:
    """A caller's own back-off is as many as the caller has processes."""
    override = "override: {retry: {backoff: {jitter: none}}}"
    shop = (
        "---\nversion: 1\nservice: shop\nowner: s\ncalls:\n"
        f"  - {{to: payment_api.charge, {override}}}\n"
    )
    text = operation_yaml(f"{HEAD}retry: {{}}") + shop
    result = run_yaml(text, "RT004")
    assert result.diagnostics == ()
    assert result.coverage.skipped == (Skipped("shop.facts.instances", "RT004"),)


def test_callers_are_the_instances_of_the_calling_services() -> None:
    """Two services of 60 and 40 processes are 100 clients: an error."""
    shop = (
        "version: 1\nservice: {0}\nowner: team\nfacts: {{instances: {1}}}\n"
        "calls:\n  - {{to: payment_api.charge}}\n"
    )
    text = "---\n".join(
        [policy(None), shop.format("shop", 60), shop.format("kiosk", 40)]
    )
    (found,) = lint_yaml(text, "RT004")
    assert found.severity is Severity.ERROR
    assert found.message.startswith("100 client processes")
    unknown = text.replace("facts: {instances: 40}\n", "")
    assert lint_yaml(unknown, "RT004") == []
