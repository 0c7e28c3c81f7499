"""GR002: retries in more than one layer."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml


def policy(outer: str, inner: str) -> str:
    """web calls api.load, which calls store.read, each with its retry."""
    head = "transport: http\n    idempotent: true\n    attempt_timeout: 1s"
    return f"""\
version: 1
service: web
calls: [{{to: api.load}}]
---
version: 1
service: api
operations:
  load:
    {head}
    retry: {outer}
    calls: [{{to: store.read}}]
---
version: 1
service: store
operations:
  read:
    {head}
    retry: {inner}
"""


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("outer", "inner", "count"),
    [
        ("{max_attempts: 3}", "{max_attempts: 2}", 1),
        ("{max_attempts: 2}", "{max_attempts: 2}", 1),
        ("{max_attempts: 1}", "{max_attempts: 2}", 0),
        ("{max_attempts: 2}", "{max_attempts: 1}", 0),
        ("{max_attempts: 3}", "{max_attempts: 1}", 0),
        ("{retry_on: [not_sent], retry_on_status: []}", "{max_attempts: 2}", 0),
        ("{max_attempts: 3}", "{retry_on: [not_sent]}", 1),
    ],
)
def test_two_layers_of_one_path(outer: str, inner: str, count: int) -> None:
    """One attempt is none too many; two of both layers are 2 x 2 of the same failure.

    The outer layer counts where it retries after failures that reached its callee.
    """
    found = lint_yaml(policy(outer, inner), "GR002")
    assert [d.severity for d in found] == [Severity.WARNING] * count


def test_message_and_places() -> None:
    """The inner call is the place, the outer one is related."""
    (found,) = lint_yaml(policy("{max_attempts: 3}", "{max_attempts: 2}"), "GR002")
    assert found.message == (
        "store.read is tried up to 2 times, and api.load above it up to 3 times: "
        "the same failure is retried in two layers"
    )
    assert found.span.line == 13
    assert (found.related[-1].span.line, found.related[-1].message) == (
        3,
        "up to 3 attempts",
    )
    assert found.help == "set max_attempts: 1 for the calls of web, or for this one"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("layer", "retry", "severity"),
    [
        ("max_attempts: 3", "{retry_on_status: [503]}", Severity.ERROR),
        (
            "max_attempts: 3, retry_on_status: [503]",
            '{retry_on_status: ["500-504"]}',
            Severity.ERROR,
        ),
        (
            "max_attempts: 3, retry_on_status: [502]",
            "{retry_on_status: [503]}",
            Severity.INFO,
        ),
        (
            "max_attempts: 3, retry_on_status: [503]",
            '{retry_on_status: ["500-504"], never_retry_on_status: [503]}',
            Severity.INFO,
        ),
        ("max_attempts: 1", "{retry_on_status: [503]}", None),
        ("max_attempts: 2", "{max_attempts: 1}", None),
        ("max_attempts: 3", "{max_attempts: 1}", None),
    ],
)
def test_layers_of_one_edge(layer: str, retry: str, severity: Severity | None) -> None:
    """A mesh that retries the same statuses is an error, other statuses are info.

    3 attempts x 3 of the mesh are 9; a layer with 1 attempt, or a policy with 1, is fine.
    """
    text = operation_yaml(
        f"transport: http\nidempotent: true\nretry: {retry}",
        f"facts: {{layers: [{{name: mesh, {layer}}}]}}",
    )
    found = lint_yaml(text, "GR002")
    assert [d.severity for d in found] == ([] if severity is None else [severity])
    if severity is Severity.ERROR:
        assert found[0].message == (
            "calls to payment_api.charge are retried here and by mesh: "
            "3 x 3 = 9 attempts for one call"
        )


def test_attempts_of_a_preset_are_shown_there() -> None:
    """An inherited number is a related place."""
    preset = "version: 1\npreset: many\ndefaults: {retry: {max_attempts: 4}}\n"
    text = operation_yaml(
        "transport: http\nidempotent: true",
        "extends: [many]\nfacts: {layers: [{name: mesh, max_attempts: 3}]}",
    )
    (found,) = lint_yaml(text, "GR002", files={"many.yaml": preset})
    assert str(found.related[0].span) == "many.yaml:3:34"


@pytest.mark.boundary
@pytest.mark.parametrize(("own", "layer", "count"), [(1, 2, 0), (2, 1, 0), (2, 2, 1)])
def test_two_attempts_of_both_are_the_fewest(own: int, layer: int, count: int) -> None:
    """2 x 2 = 4 attempts for one call; with one attempt on either side nothing stacks."""
    text = operation_yaml(
        f"transport: http\nidempotent: true\nretry: {{max_attempts: {own}}}",
        f"facts: {{layers: [{{name: mesh, max_attempts: {layer}}}]}}",
    )
    found = lint_yaml(text, "GR002")
    assert [d.message.rpartition(": ")[2] for d in found] == [
        "2 x 2 = 4 attempts for one call"
    ] * count


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("    facts: {rate: 5/s}\n", 1), ("", 0)])
def test_clients_that_a_rate_proves_are_a_layer_too(rate: str, count: int) -> None:
    """api.load has clients that no file declares, and they retry as it says."""
    api = policy("{max_attempts: 4}", "{max_attempts: 3}").partition("---\n")[2]
    text = api.replace("  load:\n", f"  load:\n{rate}")
    found = lint_yaml(text, "GR002")
    assert [d.message for d in found] == count * [
        (
            "store.read is tried up to 3 times, and api.load above it up to 4 times: "
            "the same failure is retried in two layers"
        )
    ]
    for finding in found:
        assert finding.help is not None
        assert finding.help.startswith(
            "set max_attempts: 1 for the calls of clients of api.load"
        )
        assert finding.related[-1].span.line == 4
