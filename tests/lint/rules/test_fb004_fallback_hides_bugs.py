"""FB004: fallbacks that hide bugs."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml


@pytest.mark.parametrize(
    ("fallback", "hidden"),
    [
        ("{value: 1, fallback_on: [Exception]}", "Exception"),
        (
            "{value: 1, fallback_on: [timeout, TypeError, NameError]}",
            "TypeError and NameError",
        ),
        ("{value: 1, fallback_on: [UnboundLocalError]}", "UnboundLocalError"),
        ("{value: 1, fallback_on: [timeout, circuit_open, ValueError]}", None),
        ("{value: 1}", None),
    ],
)
def test_what_is_hidden(fallback: str, hidden: str | None) -> None:
    """Only a stated list that takes bugs is reported."""
    found = lint_yaml(operation_yaml(f"transport: http\nfallback: {fallback}"), "FB004")
    assert [d.message for d in found] == (
        []
        if hidden is None
        else [
            f"fallback_on takes {hidden}: bugs of payment_api.charge come back as an answer"
        ]
    )


def test_local_default_is_nobodys_mistake() -> None:
    """Inside the process the default covers Exception; only a stated list is judged."""
    text = operation_yaml("transport: local\nfallback: {value: 1}")
    assert lint_yaml(text, "FB004") == []


def test_list_of_a_preset_is_shown_there() -> None:
    """An inherited list is a related place."""
    preset = (
        "version: 1\npreset: calm\ndefaults:\n"
        "  fallback: {value: 1, fallback_on: [Exception]}\n"
    )
    text = operation_yaml("transport: http", "extends: [calm]")
    (found,) = lint_yaml(text, "FB004", files={"calm.yaml": preset})
    assert str(found.related[0].span) == "calm.yaml:4:37"
