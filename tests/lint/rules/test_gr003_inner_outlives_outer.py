"""GR003: work that goes on after the caller gave up."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


def policy(
    outer: str = "attempt_timeout: 1s",
    inner: str = "attempt_timeout: 2s",
    inbound: str = "",
    mode: str = "sequential",
) -> str:
    """web calls api.load, which calls store.read."""
    return f"""\
version: 1
service: web
calls: [{{to: api.load}}]
---
version: 1
service: api
{inbound}
operations:
  load:
    transport: http
    {outer}
    calls: [{{to: store.read, mode: {mode}}}]
---
version: 1
service: store
operations:
  read:
    transport: http
    {inner}
"""


RETRY = "retry: {max_attempts: 2, backoff: {initial: %s}, retry_on: [not_sent], retry_after: off}"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("inner", "count"),
    [
        (["attempt_timeout: 1s"], 0),
        (["attempt_timeout: 1001ms"], 1),
        (["attempt_timeout: 5s", "budget: 1s"], 0),
        (["attempt_timeout: 400ms", RETRY % "200ms"], 0),
        (["attempt_timeout: 400ms", RETRY % "201ms"], 1),
        (["budget: {inherit: true}"], 0),
    ],
)
def test_boundaries(inner: list[str], count: int) -> None:
    """The inner worst case may last the 1 s of the outer attempt.

    2 x 0.4 s and a wait of 0.2 s are 1 s.
    """
    assert len(lint_yaml(policy(inner="\n    ".join(inner)), "GR003")) == count


def test_message_and_places() -> None:
    """Both calls are shown, and both ways out are named."""
    (found,) = lint_yaml(policy(), "GR003")
    assert found.severity is Severity.WARNING
    assert found.message == (
        "store.read can last 2s, but web waits 1s for api.load, which calls it: "
        "the rest is done for nobody"
    )
    assert (found.span.line, found.related[-1].span.line) == (12, 3)
    assert found.help is not None
    assert found.help.endswith("or shorten the inner budget to 1s")


def test_effects_after_the_failure_are_an_error() -> None:
    """The caller was told that nothing happened."""
    inner = "attempt_timeout: 2s\n    idempotent: false"
    (found,) = lint_yaml(policy(inner=inner), "GR003")
    assert found.severity is Severity.ERROR


HEADER = "header: {name: X-Budget, unit: s}"
OUTER = f"budget: {{total: 1s, {HEADER}}}"


@pytest.mark.parametrize(
    ("outer", "inbound", "inner", "count"),
    [
        (OUTER, f"inbound: {{budget: {{{HEADER}}}}}", "budget: 6s", 0),
        (OUTER, "", "budget: 6s", 1),
        ("budget: 1s", f"inbound: {{budget: {{{HEADER}}}}}", "budget: 6s", 1),
        (
            OUTER,
            f"inbound: {{budget: {{{HEADER}}}}}",
            "budget: {total: 6s, inherit: false}",
            1,
        ),
        (
            OUTER.replace("X-Budget", "X-Other"),
            f"inbound: {{budget: {{{HEADER}}}}}",
            "budget: 6s",
            1,
        ),
        (OUTER, f"inbound: {{budget: {{{HEADER}}}}}", "attempt_timeout: 6s", 1),
    ],
)
def test_a_deadline_that_is_passed_on(
    outer: str, inbound: str, inner: str, count: int
) -> None:
    """Sent, taken, and inherited: all three are needed."""
    assert len(lint_yaml(policy(outer, inner, inbound), "GR003")) == count


def test_detached_work_may_last() -> None:
    """Nobody waits for a detached call."""
    assert lint_yaml(policy(mode="detached"), "GR003") == []


def test_the_least_patient_caller_counts() -> None:
    """An override with a shorter attempt is the one that gives up first."""
    text = policy("attempt_timeout: 5s")
    assert lint_yaml(text, "GR003") == []
    hasty = (
        "---\nversion: 1\nservice: hasty\ncalls:\n"
        "  - {to: api.load, override: {attempt_timeout: 500ms}}\n"
    )
    (found,) = lint_yaml(text + hasty, "GR003")
    assert "but hasty waits 500ms for api.load" in found.message


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("outer", "inner", "count"),
    [
        ("attempt_timeout: 1s", "attempt_timeout: 1s", 0),
        ("attempt_timeout: 1s", "attempt_timeout: 1001ms", 1),
        ("transport: local\n    attempt_timeout: 1s", "attempt_timeout: 2s", 0),
    ],
)
def test_callers_that_nobody_declares_wait_as_long_as_the_operation_says(
    outer: str, inner: str, count: int
) -> None:
    """An operation that no document calls is called under its own settings: 1 s here."""
    text = policy(outer, inner).partition("---\n")[2]
    text = text.replace(
        "    transport: http\n    transport: local\n", "    transport: local\n"
    )
    found = lint_yaml(text, "GR003")
    assert len(found) == count
    if found:
        assert found[0].message.startswith(
            "store.read can last 1.001s, but callers wait 1s for api.load, which"
        )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("outer", "count"),
    [
        ("attempt_timeout: 3s\n    budget: 2s", 0),
        ("attempt_timeout: 3s\n    budget: 1999ms", 1),
    ],
)
def test_a_budget_may_end_the_wait_first(outer: str, count: int) -> None:
    """The outer call waits for min(3 s, its budget), the inner one lasts 2 s."""
    assert len(lint_yaml(policy(outer), "GR003")) == count


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("idempotent: true", "attempt_timeout: 2s"),
        ("attempt_timeout: 1s", "idempotent: true"),
    ],
)
def test_without_a_timeout_there_is_nothing_to_compare(outer: str, inner: str) -> None:
    """A caller that waits for ever gives up on nothing; TB001 speaks of endless calls."""
    assert lint_yaml(policy(outer, inner), "GR003") == []


@pytest.mark.boundary
@pytest.mark.parametrize(("default", "count"), [("1s", 0), ("1001ms", 1)])
@pytest.mark.parametrize("inherit", [True, False])
def test_what_a_request_gets_bounds_calls_that_inherit(
    default: str, count: int, inherit: bool
) -> None:
    """A caller that names no time gives the request the default of the service."""
    inner = f"budget: {{total: 2s, inherit: {str(inherit).lower()}}}"
    found = lint_yaml(
        policy(inner=inner, inbound=f"inbound: {{budget: {{default: {default}}}}}"),
        "GR003",
    )
    assert len(found) == (count if inherit else 1)


def several(calls: str, outer: str = "attempt_timeout: 1s", inbound: str = "") -> str:
    """web calls api.load, which makes these calls, each of at most 400 ms."""
    return (
        policy(outer, "attempt_timeout: 400ms", inbound).replace(
            "[{to: store.read, mode: sequential}]", calls
        )
        + "  list: {transport: http, budget: 601ms}\n"
        + "  find: {transport: http, budget: 600ms}\n"
    )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("calls", "longest"),
    [
        ("[{to: store.read}, {to: store.find}]", None),
        ("[{to: store.read}, {to: store.list}]", "1.001s"),
        ("[{to: store.read, mode: parallel}, {to: store.list, mode: parallel}]", None),
        ("[{to: store.read, per_request: 2}]", None),
        ("[{to: store.read, per_request: 3}]", "1.2s"),
        ("[{to: store.read}, {to: store.list, mode: detached}]", None),
    ],
)
def test_calls_of_a_request_together(calls: str, longest: str | None) -> None:
    """0.4 s and 0.6 s one after the other are the 1 s that web waits."""
    found = lint_yaml(several(calls), "GR003")
    messages = [d.message for d in found]
    expected = (
        f"the calls of one request to api.load can last {longest} together, but web "
        "waits 1s for api.load: the rest is done for nobody"
    )
    assert messages == ([] if longest is None else [expected])


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("inbound", "count"),
    [
        ("inbound: {budget: {default: 1s}}", 0),
        ("inbound: {budget: {default: 1001ms}}", 1),
    ],
)
def test_one_budget_for_all_calls_together(inbound: str, count: int) -> None:
    """Calls that all inherit the time of the request end with it."""
    calls = "[{to: store.find}, {to: store.list}]"
    assert len(lint_yaml(several(calls, inbound=inbound), "GR003")) == count


def test_what_is_too_long_alone_is_told_once() -> None:
    """One call of 2 s says enough; the sum is not told too."""
    text = several("[{to: store.read}, {to: store.find}]", "attempt_timeout: 500ms")
    assert len(lint_yaml(text, "GR003")) == 1
