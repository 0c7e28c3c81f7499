"""FB001: fallbacks that fail together with what they replace."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(primary: str = "", other: str = "", calls: str = "") -> str:
    """payment_api.charge falls back to backup.charge."""
    text = operation_yaml(
        f"transport: http\nfallback: {{operation: backup.charge}}{calls}", primary
    )
    return (
        f"{text}---\nversion: 1\nservice: backup\n{other}operations:\n"
        "  charge:\n    transport: http\n"
    )


@pytest.mark.parametrize(
    ("primary", "other", "reason"),
    [
        ("facts: {domain: db-1}", "facts: {domain: db-1}\n", True),
        ("facts: {domain: db-1}", "facts: {domain: db-2}\n", False),
        ("facts: {domain: db-1}", "", False),
        ("", "", False),
    ],
)
def test_domains(primary: str, other: str, reason: bool) -> None:
    """Only equal, stated domains prove anything."""
    found = lint_yaml(policy(primary, other), "FB001")
    assert [d.message for d in found] == (
        [
            (
                "payment_api.charge falls back to backup.charge, and both are in the failure "
                "domain db-1"
            )
        ]
        if reason
        else []
    )


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("primary", "other", "lacking"),
    [
        ("", "", ["backup", "payment_api"]),
        ("facts: {domain: db-1}", "", ["backup"]),
        ("", "facts: {domain: db-1}\n", ["payment_api"]),
        ("facts: {domain: db-1}", "facts: {domain: db-2}\n", []),
    ],
)
def test_missing_domains_are_named(
    primary: str, other: str, lacking: list[str]
) -> None:
    """Whether both fail together is unknown until both domains are stated."""
    result = run_yaml(policy(primary, other), "FB001")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [
        f"{service}.facts.domain" for service in lacking
    ]


def test_the_same_service() -> None:
    """Another operation of the same service is down with it."""
    text = (
        "version: 1\nservice: payment_api\noperations:\n"
        "  charge: {transport: http, fallback: {operation: payment_api.later}}\n"
        "  later: {transport: http}\n"
    )
    (found,) = lint_yaml(text, "FB001")
    assert found.message.endswith("and both are served by payment_api")


def tail(*calls: str) -> str:
    """Services a, b and c in a row."""
    return "".join(
        f"---\nversion: 1\nservice: {name}\noperations:\n  run: {{transport: http"
        + (f", calls: [{{to: {to}.run}}]" if to else "")
        + "}\n"
        for name, to in zip("abc", calls, strict=True)
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("primary", "backup", "shared"),
    [("a", "a", "a"), ("a", "b", "b"), ("a", "c", None), ("b", "c", "c")],
)
def test_common_services_within_two_calls(
    primary: str, backup: str, shared: str | None
) -> None:
    """a calls b, b calls c: 2 calls from the primary reach a and b, and not c."""
    text = policy(calls=f"\ncalls: [{{to: {primary}.run}}]")
    text = f"{text}    calls: [{{to: {backup}.run}}]\n"
    found = lint_yaml(text + tail("b", "c", ""), "FB001")
    assert [d.message.rpartition(", and ")[2] for d in found] == (
        [] if shared is None else [f"both need {shared}"]
    )


def test_values_share_nothing() -> None:
    """A static value cannot fail."""
    text = operation_yaml("transport: http\nfallback: {value: []}")
    assert lint_yaml(text, "FB001") == []


def test_fallback_that_needs_the_primary() -> None:
    """A fallback that calls the service it replaces is no fallback."""
    text = policy() + "    calls: [{to: payment_api.charge}]\n"
    (found,) = lint_yaml(text, "FB001")
    assert found.message.endswith("and both need payment_api")
