"""ID001: attempts that may do the work twice."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

HTTP = "transport: http\n"


@pytest.mark.parametrize(
    ("retry", "entries"),
    [
        ("{retry_on: [not_sent, timeout]}", "timeout"),
        ("{retry_on: [connection_lost, timeout]}", "connection_lost and timeout"),
        ("{retry_on: [ConnectionResetError]}", "ConnectionResetError"),
        ("{retry_on: [not_sent], retry_on_status: [503]}", "503"),
        ('{retry_on: [not_sent], retry_on_status: [429, "502-504"]}', "502-504"),
        ("{retry_if_result: my_app.rules:looks_wrong}", "retry_if_result"),
        ("{retry_if: my_app.rules:transient}", "retry_if"),
    ],
)
def test_outcomes_that_may_have_succeeded(retry: str, entries: str) -> None:
    """Each entry after which the callee may have done the work is named."""
    text = operation_yaml(f"{HTTP}idempotent: false\nretry: {retry}")
    (found,) = lint_yaml(text, "ID001")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "payment_api.charge is not idempotent, and is tried up to 3 times after "
        f"{entries}, when the first may have succeeded"
    )


@pytest.mark.parametrize(
    "settings",
    [
        "idempotent: true\nretry: {retry_on: [timeout]}",
        "idempotent: false\nretry: {}",
        "retry: {retry_on: [not_sent]}",
        "retry: {retry_on: [not_sent, ConnectionRefusedError]}",
        "retry: {retry_on: [not_sent], retry_on_status: [429]}",
        "retry: {max_attempts: 1, retry_on: [timeout]}",
        "retry: {retry_on: [not_sent, timeout], never_retry_on: [timeout]}",
        (
            "retry: {retry_on: [timeout]}\n"
            "idempotency: {key: [order_id], forward: {header: Idempotency-Key}}"
        ),
        "idempotent: false",
        ('retry: {retry_on_status: ["502-504"], never_retry_on_status: ["500-599"]}'),
        "retry: {retry_on: [TimeoutError], never_retry_on: [OSError]}",
    ],
)
def test_safe_forms(settings: str) -> None:
    """Idempotent, never sent, refused, tried once, or with a key that is forwarded."""
    assert lint_yaml(operation_yaml(HTTP + settings), "ID001") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(1, 0), (2, 1)])
def test_the_second_attempt_is_the_first_repeat(attempts: int, count: int) -> None:
    """One attempt repeats nothing; of two, the second repeats the first."""
    text = operation_yaml(
        f"{HTTP}idempotent: false\n"
        f"retry: {{max_attempts: {attempts}, retry_on: [timeout]}}"
    )
    found = lint_yaml(text, "ID001")
    assert [d.message for d in found] == [
        (
            "payment_api.charge is not idempotent, and is tried up to 2 times after timeout, "
            "when the first may have succeeded"
        )
    ] * count


@pytest.mark.parametrize(
    ("transport", "statuses", "entries"),
    [
        ("sql", '["40001"]', None),
        ("sql", '["40P01"]', None),
        ("sql", '["40001", "40P01"]', None),
        ("sql", '["40001", "40003"]', "40003"),
        ("sql", '["40*"]', "40*"),
        ("sql", '["08006"]', "08006"),
        ("http", '["40001"]', "40001"),
    ],
)
def test_transactions_that_the_server_rolled_back(
    transport: str, statuses: str, entries: str | None
) -> None:
    """After a serialization failure or a deadlock of a database nothing was done."""
    text = operation_yaml(
        f"transport: {transport}\nidempotent: false\n"
        f"retry: {{retry_on: [not_sent], retry_on_status: {statuses}}}"
    )
    found = lint_yaml(text, "ID001")
    assert [d.message for d in found] == (
        []
        if entries is None
        else [
            (
                "payment_api.charge is not idempotent, and is tried up to 3 times after "
                f"{entries}, when the first may have succeeded"
            )
        ]
    )


@pytest.mark.parametrize(
    ("retry", "help"),
    [
        ("{retry_on: [not_sent, timeout]}", "set retry_on: [not_sent], or add"),
        (
            '{retry_on: [not_sent], retry_on_status: [429, 503, "500-502"]}',
            "set retry_on_status: [429], or add",
        ),
        (
            "{retry_on: [timeout], retry_on_status: [503]}",
            "set retry_on: [not_sent] and retry_on_status: off, or add",
        ),
        (
            "{retry_if: a.b:c, retry_if_result: a.b:d}",
            "set retry_if: off and retry_if_result: off, or add",
        ),
    ],
)
def test_the_fix_takes_out_what_may_repeat_work(retry: str, help: str) -> None:
    """All that is to blame goes at once, what was refused stays, and the help says so."""
    text = operation_yaml(f"{HTTP}idempotent: false\nretry: {retry}")
    (found,) = lint_yaml(text, "ID001")
    assert found.help is not None
    assert found.help.startswith(help)
    assert found.fix is not None
    assert not found.fix.safe
    source, _problem = decode(text.encode(), "policy.yaml")
    assert source is not None
    mended = apply_edits(source, found.fix.edits)
    assert lint_yaml(mended, "ID001") == []
    assert ("429" in mended) is ("429" in text)


def test_a_key_that_stays_here_does_not_help() -> None:
    """Without forward the callee sees two requests, and the help says so."""
    text = operation_yaml(
        f"{HTTP}idempotent: false\nretry: {{retry_on: [timeout]}}\n"
        "idempotency: {key: [order_id]}"
    )
    (found,) = lint_yaml(text, "ID001")
    assert found.help is not None
    assert found.help.startswith("add idempotency.forward: {header: Idempotency-Key}")


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("charge", Severity.ERROR),
        ("create_order", Severity.ERROR),
        ("compute", Severity.ERROR),
        ("getaway", Severity.ERROR),
        ("get", Severity.WARNING),
        ("get_quote", Severity.WARNING),
        ("list_orders", Severity.WARNING),
        ("put_order", Severity.WARNING),
        ("delete_order", Severity.WARNING),
    ],
)
def test_unstated_nature_is_judged_by_the_name(name: str, severity: Severity) -> None:
    """Reads and full replacements are warnings, everything else is an error."""
    text = operation_yaml(f"{HTTP}retry: {{retry_on: [timeout]}}")
    (found,) = lint_yaml(text.replace("  charge:", f"  {name}:"), "ID001")
    assert found.severity is severity
    assert f"payment_api.{name} is not stated to be idempotent" in found.message


def test_stated_nature_wins_over_the_name() -> None:
    """idempotent: false on a get is an error."""
    text = operation_yaml(f"{HTTP}idempotent: false\nretry: {{retry_on: [timeout]}}")
    (found,) = lint_yaml(text.replace("  charge:", "  get_quote:"), "ID001")
    assert found.severity is Severity.ERROR
    assert (found.related[0].span.line, found.related[0].message) == (7, "stated here")


def test_place_is_the_list_that_decides() -> None:
    """The finding points at retry_on, retry_on_status or the predicate."""
    head = f"{HTTP}idempotent: false\n"
    for retry, line in (
        ("retry:\n  retry_on: [timeout]", 9),
        ("retry:\n  retry_on: [not_sent]\n  retry_on_status: [503]", 10),
        ("retry:\n  retry_on: [not_sent]\n  retry_if: a.b:c", 10),
    ):
        (found,) = lint_yaml(operation_yaml(head + retry), "ID001")
        assert found.span.line == line


def test_list_of_a_preset_is_shown_there() -> None:
    """An inherited list is a related place."""
    preset = "version: 1\npreset: eager\ndefaults:\n  retry: {retry_on: [timeout]}\n"
    text = operation_yaml(HTTP, service="extends: [eager]")
    (found,) = lint_yaml(text, "ID001", files={"eager.yaml": preset})
    assert str(found.related[0].span) == "eager.yaml:4:21"


def test_something_is_left_to_retry() -> None:
    """A retry for statuses alone, of no stated transport, would have nothing to do."""
    text = operation_yaml("idempotent: false\nretry: {retry_on_status: [503]}")
    (found,) = lint_yaml(text, "ID001")
    assert found.help is not None
    assert found.help.startswith(
        "set retry_on: [not_sent] and retry_on_status: off, or"
    )
