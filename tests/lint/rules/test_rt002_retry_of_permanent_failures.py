"""RT002: retries of outcomes that a second try cannot change."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

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


@pytest.mark.parametrize(
    ("retry", "new", "safe"),
    [
        (
            "{retry_on: [Exception, timeout]}",
            "retry_on: [not_sent, connection_lost, timeout]",
            False,
        ),
        ("{retry_on: [TypeError, timeout]}", "retry_on: [timeout]", False),
        (
            "{retry_on_status: [400, 401, 403, 404, 413, 422, 503]}",
            "retry_on_status: [503]",
            True,
        ),
        ("{retry_on_status: [404, 409, 503]}", "retry_on_status: [503]", False),
        ('{retry_on_status: ["400-404"]}', None, False),
    ],
)
def test_fixes(retry: str, new: str | None, safe: bool) -> None:
    """What is listed by itself goes; only what never succeeds goes without a question."""
    text = retrying(retry)
    (found,) = lint_yaml(text, "RT002")
    if new is None:
        assert found.fix is None
        return
    assert found.fix is not None
    assert found.fix.safe is safe
    source, _problem = decode(text.encode(), "policy.yaml")
    assert source is not None
    mended = apply_edits(source, found.fix.edits)
    assert new in mended
    assert lint_yaml(mended, "RT002") == []


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


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(1, 0), (2, 1)])
def test_single_attempt_retries_nothing(attempts: int, count: int) -> None:
    """With one attempt the lists mean nothing, with two they do."""
    text = retrying(f"{{max_attempts: {attempts}, retry_on: [Exception]}}")
    assert len(lint_yaml(text, "RT002")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("statuses", "offenders"),
    [
        ("406-408", None),
        ("405-408", "405"),
        ("406-409", "409"),
        ("411-412", None),
        ("410-412", "410"),
        ("411-413", "413"),
        ("414-421", None),
        ("414-422", "422"),
        ("423-499", None),
    ],
)
def test_ends_of_ranges(statuses: str, offenders: str | None) -> None:
    """Both ends of a range are retried: 406 to 408 is quiet, 405 to 408 is not."""
    found = lint_yaml(retrying(f'{{retry_on_status: ["{statuses}"]}}'), "RT002")
    expected = f"retry_on_status takes {offenders}: a second try gets the same answer"
    assert [d.message for d in found] == ([expected] if offenders else [])


@pytest.mark.parametrize(
    ("listed", "never", "count"),
    [
        ("UnicodeDecodeError", "ValueError", 0),
        ("ValueError", "UnicodeDecodeError", 1),
        ("KeyError", "LookupError", 0),
        ("PermissionError", "OSError", 0),
    ],
)
def test_classes_below_an_excluded_one(listed: str, never: str, count: int) -> None:
    """never_retry_on excludes what is derived from its classes, too."""
    text = retrying(f"{{retry_on: [{listed}], never_retry_on: [{never}]}}")
    assert len(lint_yaml(text, "RT002")) == count


def test_sqlstates_of_an_excluded_class() -> None:
    """never_retry_on_status takes the codes of a class away."""
    text = retrying(
        '{retry_on_status: ["23505", "42601"], never_retry_on_status: ["23*"]}',
        "transport: sql\nidempotent: true\n",
    )
    (found,) = lint_yaml(text, "RT002")
    assert found.message.startswith("retry_on_status takes 42601:")


def test_list_of_a_preset_is_shown_there() -> None:
    """An inherited list is a related place."""
    preset = "version: 1\npreset: eager\ndefaults:\n  retry: {retry_on: [Exception]}\n"
    text = operation_yaml(HEAD, service="extends: [eager]")
    (found,) = lint_yaml(text, "RT002", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:21"


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("{key: [order_id], forward: {header: Idempotency-Key}}", 0),
        ("{key: [order_id]}", 1),
        ("off", 1),
    ],
)
def test_a_conflict_of_keys_passes_by_itself(key: str, count: int) -> None:
    """409 for a forwarded key says that the first request still runs."""
    text = operation_yaml(
        f"{HEAD}retry: {{retry_on_status: [409, 429]}}\nidempotency: {key}"
    )
    assert len(lint_yaml(text, "RT002")) == count


def test_other_permanent_statuses_stay_behind_a_forwarded_key() -> None:
    """A key does not make a bad request a good one."""
    text = operation_yaml(
        f"{HEAD}retry: {{retry_on_status: [400, 409, 422]}}\n"
        "idempotency: {key: [order_id], forward: {header: Idempotency-Key}}"
    )
    (found,) = lint_yaml(text, "RT002")
    assert found.message.startswith("retry_on_status takes 400 and 422:")
