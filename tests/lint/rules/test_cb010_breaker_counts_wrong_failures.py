"""CB010: circuit breakers that count the wrong outcomes."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


def messages(breaker: str, transport: str = "http") -> list[str]:
    """What is said about a breaker."""
    text = operation_yaml(f"transport: {transport}\ncircuit_breaker: {breaker}")
    return [d.message for d in lint_yaml(text, "CB010")]


@pytest.mark.parametrize(
    ("breaker", "expected"),
    [
        ("{}", []),
        (
            "{record_on: [Exception]}",
            [
                (
                    "record_on takes Exception: bad input and bugs of one caller open the "
                    "circuit of payment_api.charge for all"
                )
            ],
        ),
        (
            "{record_on: [not_sent, connection_lost]}",
            [
                "timeouts are not recorded: a hanging payment_api never opens the circuit"
            ],
        ),
        ("{record_on: [OSError]}", []),
        ("{record_on: [TimeoutError]}", []),
        ("{record_on: [not_sent], slow_call: {after: 1s, ratio: 50%}}", []),
        (
            '{record_on_status: ["400-404", "500-599"]}',
            [
                (
                    "record_on_status takes 400, 401, 403 and 404, which say nothing about "
                    "the health of payment_api"
                )
            ],
        ),
        ("{record_on_status: [408, 429, 503]}", []),
        (
            "{record_on_status: [401]}",
            [
                (
                    "record_on_status takes 401, which says nothing "
                    "about the health of payment_api"
                )
            ],
        ),
    ],
)
def test_what_is_counted(breaker: str, expected: list[str]) -> None:
    """Everything, business answers, and missing timeouts are reported."""
    assert messages(breaker) == expected


def test_ignored_timeouts_are_not_counted() -> None:
    """ignore_on wins over record_on."""
    assert (
        len(messages("{record_on: [not_sent, OSError], ignore_on: [TimeoutError]}"))
        == 1
    )


@pytest.mark.parametrize(
    ("transport", "status", "count"),
    [("grpc", "NOT_FOUND", 1), ("grpc", "UNAVAILABLE", 0), ("sql", '"23*"', 1)],
)
def test_other_transports(transport: str, status: str, count: int) -> None:
    """gRPC names and SQLSTATE classes are known."""
    assert len(messages(f"{{record_on_status: [{status}]}}", transport)) == count


def test_local_calls_may_count_everything() -> None:
    """Inside the process Exception is the default."""
    assert messages("{record_on: [Exception]}", "local") == []
    assert messages("{record_on: [Exception], mode: disabled}") == []


def test_list_of_a_preset_is_shown_there() -> None:
    """An inherited list is a related place."""
    preset = "version: 1\npreset: all\ndefaults:\n  circuit_breaker: {record_on: [Exception]}\n"
    text = operation_yaml("transport: http", "extends: [all]")
    (found,) = lint_yaml(text, "CB010", files={"all.yaml": preset})
    assert str(found.related[0].span) == "all.yaml:4:32"


def test_a_range_is_mended_by_an_exception() -> None:
    """What a range covers cannot be taken out by name; ignoring it ends the finding."""
    listed = 'record_on_status: ["400-409", "500-599"]'
    text = operation_yaml(f"transport: http\ncircuit_breaker: {{{listed}}}")
    (found,) = lint_yaml(text, "CB010")
    assert found.message.startswith(
        "record_on_status takes 400, 401, 403, 404, 405 and 409, which"
    )
    advice = "ignore_on_status: [400, 401, 403, 404, 405, 409]"
    assert found.help == (
        f'add {advice}, or list ranges such as "500-599" alone in record_on_status'
    )
    assert lint_yaml(text.replace(listed, f"{listed}, {advice}"), "CB010") == []
