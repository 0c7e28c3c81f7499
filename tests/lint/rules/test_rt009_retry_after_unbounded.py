"""RT009: the server's Retry-After hint ignored, or honoured without bound."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

HEAD = "transport: http\nidempotent: true\nbudget: 5s\n"


@pytest.mark.parametrize(
    ("retry", "signals"),
    [
        ("{retry_on_status: [429, 503], retry_after: off}", "429 and 503"),
        ('{retry_on_status: ["500-599"], retry_after: off}', "503"),
        ("{retry_on_status: [502, 504], retry_after: off}", None),
        (
            "{retry_on_status: [429], never_retry_on_status: [429], retry_after: off}",
            None,
        ),
        ("{max_attempts: 1, retry_on_status: [429], retry_after: off}", None),
    ],
)
def test_ignored_hints(retry: str, signals: str | None) -> None:
    """Overload signals are retried, and their hint is off: a warning."""
    found = lint_yaml(operation_yaml(f"{HEAD}retry: {retry}"), "RT009")
    assert [d.message for d in found] == (
        []
        if signals is None
        else [f"{signals}: retried without the wait that the server asks for"]
    )
    if found:
        assert found[0].severity is Severity.WARNING
        assert found[0].help == "set retry_after: {max: 2.5s}"


def test_grpc_pushback() -> None:
    """RESOURCE_EXHAUSTED is an overload signal of gRPC."""
    text = operation_yaml(
        "transport: grpc\nidempotent: true\n"
        "retry: {retry_on_status: [RESOURCE_EXHAUSTED, UNAVAILABLE], retry_after: off}"
    )
    (found,) = lint_yaml(text, "RT009")
    assert found.message.startswith("RESOURCE_EXHAUSTED: retried")
    assert found.help == "set retry_after: {max: 10s}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("{max: 5s}", None),
        (
            "{max: 5001ms}",
            "retry_after.max 5.001s > budget 5s: no wait can be that long",
        ),
        ("{max: off}", "a wait of any length that the server asks for is honoured"),
    ],
)
def test_honoured_hints(hint: str, message: str | None) -> None:
    """A hint may be as long as the budget; without a bound it is an error."""
    text = operation_yaml(f"{HEAD}retry: {{retry_after: {hint}}}")
    found = lint_yaml(text, "RT009")
    assert [d.message for d in found] == ([] if message is None else [message])
    assert all(d.severity is Severity.ERROR for d in found)


@pytest.mark.parametrize(
    ("retry", "count"),
    [
        ("retry_on: [not_sent, timeout], retry_on_status: off", 0),
        ("retry_on: [not_sent, OSError], retry_on_status: off", 1),
        ("retry_on: [not_sent], retry_on_status: [503]", 1),
        ("retry_on: [not_sent], retry_on_status: off, retry_if: a.b:c", 1),
    ],
)
def test_only_answers_carry_hints(retry: str, count: int) -> None:
    """Where nothing that came with an answer is retried, no hint is ever read."""
    text = operation_yaml(f"{HEAD}retry: {{{retry}, retry_after: {{max: off}}}}")
    assert len(lint_yaml(text, "RT009")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("attempts", "count"), [(1, 0), (2, 1)])
def test_a_single_attempt_waits_for_nothing(attempts: int, count: int) -> None:
    """Hints are about retries."""
    retry = f"{{max_attempts: {attempts}, retry_after: {{max: off}}}}"
    assert len(lint_yaml(operation_yaml(f"{HEAD}retry: {retry}"), "RT009")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "hint", "most"),
    [
        ("19s", "off", "9.5s"),
        ("20s", "off", "10s"),
        ("1m", "off", "10s"),
        ("19s", "{max: off}", "9.5s"),
        ("1m", "{max: 2m}", "10s"),
    ],
)
def test_advice_is_half_of_the_budget_up_to_ten_seconds(
    budget: str, hint: str, most: str
) -> None:
    """Doing it ends the finding, whether the hint was off, unbounded or too long."""
    retry = f"retry: {{retry_on_status: [503], retry_after: {hint}}}"
    text = operation_yaml(f"{HEAD}{retry}").replace("budget: 5s", f"budget: {budget}")
    (found,) = lint_yaml(text, "RT009")
    assert found.help == f"set retry_after: {{max: {most}}}"
    assert found.fix is not None
    source, _problem = decode(text.encode(), "policy.yaml")
    assert source is not None
    mended = apply_edits(source, found.fix.edits)
    assert f"retry_after: {{max: {most}}}" in mended
    assert lint_yaml(mended, "RT009") == []


def test_without_a_budget_any_bound_will_do() -> None:
    """TB002 asks for the budget; until then an hour is as good a bound as any."""
    text = operation_yaml(
        "transport: http\nidempotent: true\nretry: {retry_after: {max: 1h}}"
    )
    assert lint_yaml(text, "RT009") == []


def test_the_default_is_sound() -> None:
    """Nothing is reported where nobody says anything."""
    assert lint_yaml(operation_yaml(f"{HEAD}retry: {{}}"), "RT009") == []


def test_background_work_may_wait() -> None:
    """A batch service may honour any hint."""
    text = operation_yaml(f"{HEAD}retry: {{retry_after: {{max: off}}}}", "class: batch")
    assert lint_yaml(text, "RT009") == []


def test_hint_of_a_preset_is_shown_there() -> None:
    """An inherited bound is a related place."""
    preset = "version: 1\npreset: calm\ndefaults:\n  retry: {retry_after: {max: 1m}}\n"
    text = operation_yaml(HEAD, "extends: [calm]")
    (found,) = lint_yaml(text, "RT009", files={"calm.yaml": preset})
    assert str(found.related[0].span) == "calm.yaml:4:30"
