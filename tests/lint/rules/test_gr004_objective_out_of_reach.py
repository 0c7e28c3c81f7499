"""GR004: promises that the calls behind a service do not leave room for."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, run_yaml


def policy(
    calls: str,
    objective: str = "3s",
    api: str = "attempt_timeout: 1s",
    more: str = "",
) -> str:
    """page promises an objective and makes these calls."""
    return f"""\
version: 1
service: page
facts: {{objective: {objective}}}
calls: [{calls}]
{more}
---
version: 1
service: api
defaults: {{transport: http, {api}}}
operations: {{load: {{}}, count: {{}}}}
"""


LOAD, COUNT = "{to: api.load%s}", "{to: api.count%s}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("calls", "objective", "lasts"),
    [
        (f"{LOAD % ''}, {COUNT % ''}", "2s", None),
        (f"{LOAD % ''}, {COUNT % ''}", "1999ms", "2s"),
        (f"{LOAD % ', per_request: 3'}", "2s", "3s"),
        (f"{LOAD % ', per_request: 0.2'}", "1s", None),
        (f"{LOAD % ', mode: parallel'}, {COUNT % ', mode: parallel'}", "1s", None),
        (f"{LOAD % ', mode: parallel'}, {COUNT % ''}", "1s", "2s"),
        (f"{LOAD % ', mode: detached'}, {COUNT % ''}", "1s", None),
    ],
)
def test_sums_of_worst_cases(calls: str, objective: str, lasts: str | None) -> None:
    """1 s + 1 s may take 2 s; parallel ones overlap, detached ones do not count."""
    found = lint_yaml(policy(calls, objective), "GR004")
    assert len(found) == (0 if lasts is None else 1)
    if found:
        assert found[0].message.startswith(
            f"the calls of one request can last {lasts} > objective"
        )


def test_message_and_places() -> None:
    """The largest part is named and shown."""
    text = policy(f"{LOAD % ', per_request: 2'}, {COUNT % ''}", "2s")
    (found,) = lint_yaml(text, "GR004")
    assert found.message == (
        "the calls of one request can last 3s > objective 2s of page; the largest part "
        "is api.load with up to 2 x 1s"
    )
    assert found.policy_path == "page.facts.objective"
    assert [related.span.line for related in found.related] == [4]


@pytest.mark.boundary
@pytest.mark.parametrize(("p99", "count"), [("1500ms", 0), ("1501ms", 1)])
def test_sum_of_healthy_latencies(p99: str, count: int) -> None:
    """2 x 1.5 s are just the 3 s that were promised."""
    api = f"facts: {{latency: {{p99: {p99}}}}}"
    found = lint_yaml(policy(f"{LOAD % ''}, {COUNT % ''}", api=api), "GR004")
    assert [d.message.partition(";")[0] for d in found] == [
        "the p99 latencies of its calls add up to 3.002s > objective 3s of page"
    ] * count


def test_healthy_latencies_alone() -> None:
    """Where the worst case has no limit, the p99 latencies may still be too long."""
    api = "facts: {latency: {p99: 1600ms}}"
    (found,) = lint_yaml(policy(f"{LOAD % ''}, {COUNT % ''}", api=api), "GR004")
    assert found.message.startswith(
        "the p99 latencies of its calls add up to 3.2s > objective 3s of page"
    )
    assert lint_yaml(policy(LOAD % "", api=api), "GR004") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("default", "count"), [("1s", 0), ("1001ms", 1)])
def test_a_budget_for_each_request_bounds_it(default: str, count: int) -> None:
    """All calls inherit the inbound budget, which may be the whole objective of 1 s."""
    more = f"inbound: {{budget: {{default: {default}}}}}"
    text = policy(f"{LOAD % ''}, {COUNT % ''}", "1s", more=more)
    assert len(lint_yaml(text, "GR004")) == count


def test_operations_are_judged_one_by_one() -> None:
    """An operation's own calls come on top of its service's."""
    more = (
        "operations:\n  open:\n    transport: local\n    calls: [{to: api.count}]\n"
        "  close: {transport: local}"
    )
    found = lint_yaml(policy(LOAD % "", "1500ms", more=more), "GR004")
    assert [d.message.partition(";")[0] for d in found] == [
        "the calls of one request can last 2s > objective 1.5s of page.open"
    ]


@pytest.mark.missing_facts
def test_without_an_objective_nothing_is_promised() -> None:
    """The rule needs the promise of a service that calls and waits, and of no other."""
    text = policy(LOAD % "").replace("facts: {objective: 3s}\n", "")
    result = run_yaml(text, "GR004")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == ["page.facts.objective"]
    detached = text.replace("api.load}", "api.load, mode: detached}")
    assert run_yaml(detached, "GR004").coverage.skipped == ()


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("api", "lacking"),
    [
        ("idempotent: true", ["api.operations.load.facts.latency.p99"]),
        ("attempt_timeout: 1s", []),
    ],
)
def test_missing_latencies_are_named(api: str, lacking: list[str]) -> None:
    """Where no limit bounds a call, its p99 could still be too long."""
    result = run_yaml(policy(LOAD % "", api=api), "GR004")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == lacking


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("own", "api", "count"),
    [
        ("budget: 2s", "budget: 5s", 0),
        ("budget: 2001ms", "budget: 5s", 1),
        ("budget: 2s", "budget: {total: 5s, inherit: false}", 1),
        ("budget: 2s", "attempt_timeout: 5s", 1),
        ("attempt_timeout: 2s", "budget: 5s", 1),
    ],
)
def test_a_local_operation_with_a_budget_bounds_its_calls(
    own: str, api: str, count: int
) -> None:
    """Calls in the same process inherit its budget of up to 2 s, unless they start afresh."""
    more = (
        f"operations:\n  open: {{transport: local, {own}, calls: [{{to: api.load}}]}}"
    )
    text = policy("", "2s", api=api, more=more).replace("calls: []\n", "")
    assert len(lint_yaml(text, "GR004")) == count
