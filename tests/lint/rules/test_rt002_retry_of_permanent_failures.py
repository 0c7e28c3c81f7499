"""RT002: retries of outcomes that a second try cannot change."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml

HEAD = "transport: http\nidempotent: true\n"


def retrying(retry: str, head: str = HEAD) -> str:
    """An operation with this retry block."""
    return operation_yaml(f"{head}retry: {retry}")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("[Exception]", "retry_on takes Exception: every failure is retried, bugs too"),
        (
            "[TypeError, timeout, AttributeError]",
            (
                "retry_on takes TypeError and AttributeError: "
                "a second try cannot change that"
            ),
        ),
        (
            "[UnicodeDecodeError]",
            "retry_on takes UnicodeDecodeError: a second try cannot change that",
        ),
        (
            "[PermissionError]",
            "retry_on takes PermissionError: a second try cannot change that",
        ),
    ],
)
def test_exceptions(names: str, message: str) -> None:
    """Classes that cover everything, bugs and refusals are reported."""
    (found,) = lint_yaml(retrying(f"{{retry_on: {names}}}"), "RT002")
    assert found.message == message
    assert found.policy_path.endswith(".retry.retry_on")


@pytest.mark.parametrize(
    ("names", "severity"),
    [
        ("[ValueError]", Severity.WARNING),
        ("[KeyError, ValueError]", Severity.WARNING),
        ("[ValueError, TypeError]", Severity.ERROR),
    ],
)
def test_severity_of_exceptions(names: str, severity: Severity) -> None:
    """Errors that a flaky answer may cause are warnings alone."""
    (found,) = lint_yaml(retrying(f"{{retry_on: {names}}}"), "RT002")
    assert found.severity is severity


@pytest.mark.parametrize(
    ("statuses", "offenders"),
    [
        ("[404]", "404"),
        ('["400-404"]', "400, 401, 403 and 404"),
        ('["500-599", 422]', "422"),
        ("[429, 503]", ""),
        ("[402]", ""),
        ("[408, 425]", ""),
        ('["405"]', "405"),
    ],
)
def test_http_statuses(statuses: str, offenders: str) -> None:
    """Statuses are found in lists and inside ranges, by their number."""
    found = lint_yaml(retrying(f"{{retry_on_status: {statuses}}}"), "RT002")
    expected = f"retry_on_status takes {offenders}: a second try gets the same answer"
    assert [d.message for d in found] == ([expected] if offenders else [])


@pytest.mark.parametrize(
    ("transport", "status", "count"),
    [
        ("grpc", "INVALID_ARGUMENT", 1),
        ("grpc", "UNAVAILABLE", 0),
        ("grpc", "CANCELLED", 1),
        ("sql", '"23505"', 1),
        ("sql", '"40001"', 0),
        ("sql", '"42*"', 1),
        ("sql", '"08*"', 0),
    ],
)
def test_other_transports(transport: str, status: str, count: int) -> None:
    """gRPC codes and SQLSTATE classes have permanent ones too."""
    text = retrying(
        f"{{retry_on_status: [{status}]}}",
        f"transport: {transport}\nidempotent: true\n",
    )
    assert len(lint_yaml(text, "RT002")) == count


def test_excluded_outcomes_do_not_count() -> None:
    """What never_retry_on and never_retry_on_status take away is not retried."""
    assert (
        lint_yaml(
            retrying(
                '{retry_on_status: ["400-410"], never_retry_on_status: ["400-410"]}'
            ),
            "RT002",
        )
        == []
    )
    (found,) = lint_yaml(
        retrying('{retry_on_status: ["400-404"], never_retry_on_status: [404, 400]}'),
        "RT002",
    )
    assert found.message.startswith("retry_on_status takes 401 and 403:")
    assert found.help == ("add never_retry_on_status: [401, 403], or list single codes")


def test_exceptions_and_statuses_are_two_findings() -> None:
    """Each list is reported at its own place."""
    text = operation_yaml(
        f"{HEAD}retry:\n  retry_on: [TypeError]\n  retry_on_status: [404, 503]"
    )
    found = lint_yaml(text, "RT002")
    assert [(d.span.line, d.help) for d in found] == [
        (9, "take TypeError out of retry_on"),
        (10, "take 404 out of retry_on_status"),
    ]


def test_single_attempt_retries_nothing() -> None:
    """With one attempt the lists mean nothing."""
    text = retrying("{max_attempts: 1, retry_on: [Exception]}")
    assert lint_yaml(text, "RT002") == []


def test_list_of_a_preset_is_shown_there() -> None:
    """An inherited list is a related place."""
    preset = "version: 1\npreset: eager\ndefaults:\n  retry: {retry_on: [Exception]}\n"
    text = operation_yaml(HEAD, service="extends: [eager]")
    (found,) = lint_yaml(text, "RT002", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:21"
