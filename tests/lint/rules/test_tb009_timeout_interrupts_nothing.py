"""TB009: a cooperative timeout that nobody looks at."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ("transport: http\nattempt_timeout: {total: 2s, sync: cooperative}", 1),
        ("transport: sql\nattempt_timeout: {total: 2s, sync: cooperative}", 1),
        ("transport: http\nattempt_timeout: {total: 2s, argument: timeout}", 0),
        ("transport: http\nattempt_timeout: {total: 2s, sync: thread}", 0),
        ("transport: http\nattempt_timeout: 2s", 0),
        ("transport: local\nattempt_timeout: {total: 2s, sync: cooperative}", 0),
        ("attempt_timeout: {total: 2s, sync: cooperative}", 0),
        (
            (
                "kind: stream\ntransport: http\n"
                "attempt_timeout: {idle: 2s, sync: cooperative}"
            ),
            0,
        ),
    ],
)
def test_cooperative_without_an_argument(settings: str, count: int) -> None:
    """Only a remote call whose client is not told its limit is reported."""
    assert len(lint_yaml(operation_yaml(settings), "TB009")) == count


def test_message_and_inherited_place() -> None:
    """The finding points at `sync`, in the preset if it comes from there."""
    preset = (
        "version: 1\npreset: polite\ndefaults:\n"
        "  attempt_timeout: {total: 2s, sync: cooperative}\n"
    )
    text = operation_yaml("transport: http", service="extends: [polite]")
    (found,) = lint_yaml(text, "TB009", files={"polite.yaml": preset})
    assert found.message == (
        "a sync call of payment_api.charge that hangs is not ended after 2s: "
        "cooperative interrupts nothing, and no argument passes the limit on"
    )
    assert str(found.related[0].span) == "polite.yaml:4:38"
