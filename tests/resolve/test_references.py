"""References from one policy to another's operations, and edges with overrides."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.resolve.policy import Call
from policyctl.resolve.project import Loaded

Load = Callable[..., Loaded]

LEDGER = """
service: ledger_api
operations:
  post_entry:
    transport: http
    attempt_timeout: 2s
    budget: 7s
    retry: {max_attempts: 3}
  read_entry: {}
"""


def test_edges_are_built_in_order(load: Load) -> None:
    """Edges of the service and of an operation keep their numbers and places."""
    loaded = load(
        LEDGER,
        """
        service: s
        calls: [{to: ledger_api.read_entry, per_request: 0.2, mode: detached}]
        operations:
          op:
            calls:
              - {to: ledger_api.post_entry}
        """,
    )
    service = loaded.project.services["s"]
    [outer] = service.calls
    [inner] = service.operations["op"].calls
    assert loaded.diagnostics == ()
    assert (outer.to, outer.service, outer.operation) == (
        "ledger_api.read_entry",
        "ledger_api",
        "read_entry",
    )
    assert (outer.per_request, outer.mode, outer.policy) == (0.2, "detached", None)
    assert (outer.path, str(outer.span)) == (
        "s.calls[ledger_api.read_entry]",
        "1.yaml:3:14",
    )
    assert (inner.per_request, inner.mode) == (1.0, "sequential")
    assert inner.path == "s.operations.op.calls[ledger_api.post_entry]"
    assert str(inner.span) == "1.yaml:7:14"


def edge(load: Load, override: str) -> tuple[Call, Loaded]:
    loaded = load(
        LEDGER,
        f"service: s\ncalls:\n  - to: ledger_api.post_entry\n    override: {override}",
    )
    assert loaded.diagnostics == ()
    return loaded.project.services["s"].calls[0], loaded


def test_an_override_lies_on_the_callees_operation(load: Load) -> None:
    """The caller's own settings are merged, and defaults derived from the result."""
    call, loaded = edge(load, "{attempt_timeout: 300ms, budget: 4s}")
    policy = call.policy
    callee = loaded.project.find_operation("ledger_api.post_entry")
    assert policy is not None
    assert policy.attempt_timeout is not None
    assert policy.retry is not None
    assert callee is not None
    assert callee.attempt_timeout is not None
    assert callee.retry is not None
    assert (policy.id, policy.path) == (
        "ledger_api.post_entry",
        "s.calls[ledger_api.post_entry].override",
    )
    assert policy.attempt_timeout.total == 0.3
    assert callee.attempt_timeout.total == 2.0
    assert policy.retry.max_attempts == 3
    assert policy.retry.retry_after is not None
    assert callee.retry.retry_after is not None
    assert (policy.retry.retry_after.max, callee.retry.retry_after.max) == (2.0, 3.5)
    assert policy.origin("attempt_timeout.total").label == "1.yaml:5:33"
    assert policy.origin("retry.max_attempts").label == "0.yaml:8:27"
    assert policy.calls == ()


def test_an_override_can_switch_off(load: Load) -> None:
    """retry: off takes the callee's retry away for this caller alone."""
    call, loaded = edge(load, "{retry: off}")
    callee = loaded.project.find_operation("ledger_api.post_entry")
    assert call.policy is not None
    assert callee is not None
    assert (call.policy.retry, callee.retry is None) == (None, False)


def test_an_override_is_checked_like_an_operation(load: Load) -> None:
    """What contradicts the callee's settings is shown at both places."""
    loaded = load(
        LEDGER,
        "service: s\ncalls:\n  - to: ledger_api.post_entry\n    override: {budget: {minimum: 8s}}",
    )
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA114", "1.yaml:5:34")
    assert str(found.related[0].span) == "0.yaml:7:13"
    assert found.policy_path == "s.calls[ledger_api.post_entry].override.budget.minimum"


@pytest.mark.parametrize(
    ("reference", "message", "help_text"),
    [
        (
            "ledger_api.post_entri",
            "service ledger_api has no operation 'post_entri', named by 'ledger_api.post_entri'",
            "did you mean ledger_api.post_entry?",
        ),
        (
            "ledger_api.zzz",
            "service ledger_api has no operation 'zzz', named by 'ledger_api.zzz'",
            "operations of ledger_api are post_entry, read_entry",
        ),
        (
            "leger_api.post_entry",
            "there is no service 'leger_api', named by 'leger_api.post_entry'",
            "did you mean ledger_api.post_entry?",
        ),
        (
            "leger_api.post_entri",
            "there is no service 'leger_api', named by 'leger_api.post_entri'",
            "did you mean ledger_api.post_entry?",
        ),
        (
            "xyz.op",
            "there is no service 'xyz', named by 'xyz.op'",
            "add a policy file for it, or correct the name",
        ),
    ],
)
@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("calls: [{to: %s}]\noperations: {op: {}}", "calls: [{to: ", "calls[%s]"),
        (
            "operations: {op: {calls: [{to: %s}]}}",
            "operations: {op: {calls: [{to: ",
            "operations.op.calls[%s]",
        ),
        (
            "operations: {op: {fallback: {operation: %s}}}",
            "operations: {op: {fallback: {operation: ",
            "operations.op.fallback.operation",
        ),
        (
            "queues: {q: {store: external, max_size: 5, consume: {operation: %s}}}",
            "queues: {q: {store: external, max_size: 5, consume: {operation: ",
            "queues.q.consume.operation",
        ),
        (
            "queues: {q: {store: external, max_size: 5, upload: {operation: %s}}}",
            "queues: {q: {store: external, max_size: 5, upload: {operation: ",
            "queues.q.upload.operation",
        ),
    ],
)
def test_an_unknown_operation(
    load: Load,
    reference: str,
    message: str,
    help_text: str,
    text: str,
    line: str,
    path: str,
) -> None:
    """Every kind of reference is checked, and the nearest name is suggested."""
    loaded = load(LEDGER, "service: s\n" + text % reference)
    [found] = loaded.diagnostics
    assert (found.code, found.message, found.help) == ("VA106", message, help_text)
    assert str(found.span) == f"1.yaml:3:{len(line) + 1}"
    assert found.policy_path == "s." + (path % reference if "%" in path else path)


def test_an_operation_called_twice_in_one_list(load: Load) -> None:
    """The second entry is the error, the first its other place."""
    loaded = load(
        LEDGER,
        "service: s\ncalls:\n  - {to: ledger_api.post_entry}\n  - {to: ledger_api.post_entry}",
    )
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA128", "1.yaml:5:10")
    assert str(found.related[0].span) == "1.yaml:4:10"


def test_fallbacks_that_lead_back(load: Load) -> None:
    """Each circle is found once, at its first operation, not at one that leads to it."""
    loaded = load("""
        service: s
        operations:
          a: {fallback: {operation: s.b}}
          b: {fallback: {operation: s.c}}
          c: {fallback: {operation: s.b}}
          d: {fallback: {operation: s.d}}
          e: {fallback: {operation: s.f}}
          f: {fallback: {value: 1}}
    """)
    first, second = loaded.diagnostics
    assert (first.code, first.message) == (
        "VA126",
        "fallbacks lead back to their start: s.b -> s.c -> s.b",
    )
    assert str(first.span) == "0.yaml:5:29"
    assert [str(related.span) for related in first.related] == ["0.yaml:6:29"]
    assert second.message == "fallbacks lead back to their start: s.d -> s.d"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("operations: {a: {fallback: {operation: t.stream}}}", "1.yaml:3:40"),
        (
            "operations: {a: {kind: stream, fallback: {operation: t.unary}}}",
            "1.yaml:3:54",
        ),
        (
            "queues: {q: {store: external, max_size: 1, consume: {operation: t.stream}}}",
            "1.yaml:3:65",
        ),
    ],
)
def test_a_reference_to_the_wrong_kind(load: Load, text: str, place: str) -> None:
    """A stream cannot answer for one value, nor one value for a stream."""
    target = "service: t\noperations: {unary: {}, stream: {kind: stream}}"
    loaded = load(target, f"service: s\n{text}")
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA135", place)
    assert found.related[0].span.path == "0.yaml"


def test_a_stream_falls_back_to_a_stream(load: Load) -> None:
    """Equal kinds go together."""
    loaded = load("""
        service: s
        operations:
          a: {kind: stream, fallback: {operation: s.b}}
          b: {kind: stream}
    """)
    assert loaded.diagnostics == ()


def test_a_long_circle_of_fallbacks_is_one_short_finding(load: Load) -> None:
    """Three thousand operations in a circle take one walk and one line."""
    lines = [
        f"  o{n}: {{fallback: {{operation: s.o{(n + 1) % 3000}}}}}" for n in range(3000)
    ]
    loaded = load("service: s\noperations:\n" + "\n".join(lines))
    [found] = loaded.diagnostics
    assert found.message == (
        "fallbacks lead back to their start: "
        "s.o0 -> s.o1 -> s.o2 -> s.o3 -> s.o4 -> s.o5 -> … -> s.o0"
    )
    assert len(found.related) == 5


BROKEN = "service: ledger_api\noperations: {post_entry: {retry: {max_attempts: 0}}}"


def test_a_broken_service_causes_no_further_noise(load: Load) -> None:
    """Its own error is enough; nobody is told that its operations do not exist."""
    loaded = load(BROKEN, "service: s\ncalls: [{to: ledger_api.post_entry}]")
    assert [found.span.path for found in loaded.diagnostics] == ["0.yaml"]
    assert list(loaded.project.services) == ["s"]


@pytest.mark.parametrize(
    "text", ["service: ledger_api\nretry: [", "a: b: c\nservice: ledger_api\n"]
)
def test_a_file_that_is_no_yaml_still_tells_its_service(load: Load, text: str) -> None:
    """The name is read from the text, so that references to it are not unknown."""
    loaded = load(text, "service: s\ncalls: [{to: ledger_api.post_entry}]")
    assert {found.span.path for found in loaded.diagnostics} == {"0.yaml"}


def test_a_file_without_any_name_silences_unknown_services(load: Load) -> None:
    """It may declare any service; a wrong operation of a known one is still found."""
    loaded = load(
        "{[",
        LEDGER,
        "service: s\ncalls: [{to: other.op}, {to: ledger_api.nothing}]",
    )
    assert [
        (found.span.path, found.code)
        for found in loaded.diagnostics
        if found.span.path != "0.yaml"
    ] == [("2.yaml", "VA106")]


def test_a_broken_context_file_is_named_by_who_refers_to_it(load: Load) -> None:
    """Its errors are not asked for, but what depends on it cannot be resolved."""
    loaded = load(
        BROKEN, "service: s\ncalls: [{to: ledger_api.post_entry}]", context=(0,)
    )
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA107", "1.yaml:3:14")
    assert found.message == (
        "cannot follow 'ledger_api.post_entry': the policy of ledger_api has errors"
    )
    assert found.help == "mend 0.yaml first"
    assert found.related[0].span.path == "0.yaml"


def test_an_override_needs_a_valid_callee(load: Load) -> None:
    """A context service with contradictions cannot be overridden, and that is said."""
    callee = "service: ledger_api\noperations: {post_entry: {budget: {total: 1s, minimum: 2s}}}"
    plain = "service: s\ncalls: [{to: ledger_api.post_entry}]"
    override = (
        "service: s\ncalls: [{to: ledger_api.post_entry, override: {budget: 9s}}]"
    )
    assert load(callee, plain, context=(0,)).diagnostics == ()
    [found] = load(callee, override, context=(0,)).diagnostics
    assert (found.code, found.span.path) == ("VA107", "1.yaml")
