"""The call graph: edges, order, cycles, and linear time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import Span
from policyctl.lint.graph import CallGraph, build
from policyctl.lint.testing import load_yaml
from policyctl.lint.traffic import Traffic
from policyctl.resolve.policy import (
    Call,
    Operation,
    OperationFacts,
    Project,
    Service,
    ServiceFacts,
    Telemetry,
)
from policyctl.source.nodes import Document, MappingNode, Source

DOCUMENT = Document(Source("policy.yaml", "", line_starts=[0]), MappingNode(0, 0))


def service(name: str, callees: Iterable[str], rate: float | None = None) -> Service:
    """A service with one operation ``run`` that calls ``run`` of other services."""
    span = Span("policy.yaml")
    calls = tuple(
        Call(f"{to}.run", to, "run", 1.0, "sequential", None, f"{name}.calls", span)
        for to in callees
    )
    path = f"{name}.operations.run"
    facts = OperationFacts(rate=rate)
    run = Operation(name, "run", span, path, DOCUMENT, calls=calls, facts=facts)
    return Service(
        name=name,
        document=DOCUMENT,
        span=span,
        owner="team",
        description=None,
        service_class="online",
        critical=False,
        target=None,
        redis_url_env=None,
        facts=ServiceFacts(),
        operations={"run": run},
        calls=(),
        inbound=None,
        queues={},
        telemetry=Telemetry(),
        ignores=(),
    )


def project(edges: dict[int, list[int]], rate: float | None = None) -> Project:
    """A project of services ``s0``, ``s1`` … with these calls; s0 has the rate."""
    services = [
        service(f"s{node}", [f"s{to}" for to in callees], rate if node == 0 else None)
        for node, callees in edges.items()
    ]
    return Project({s.name: s for s in services})


def shown(graph: CallGraph) -> list[str]:
    """Cycles as text."""
    return [
        " -> ".join([cycle[0].caller, *(edge.callee for edge in cycle)])
        for cycle in graph.cycles()
    ]


def test_calls_of_a_service_and_of_an_operation() -> None:
    """Both levels are edges; operations lead into their service's own calls."""
    project = load_yaml(
        "version: 1\nservice: shop\ncalls: [{to: tax.compute, per_request: 2}]\n"
        "operations:\n  buy: {transport: http, calls: [{to: tax.refund}]}\n"
        "---\nversion: 1\nservice: tax\noperations:\n"
        "  compute: {transport: http}\n  refund: {transport: http}\n"
    )
    graph = build(project)
    assert [(e.caller, e.callee, e.per_request) for e in graph.edges()] == [
        ("shop", "tax.compute", 2.0),
        ("shop.buy", "tax.refund", 1.0),
    ]
    step = [e for e in graph.outgoing["shop.buy"] if e.call is None]
    assert [(e.caller, e.callee) for e in step] == [("shop.buy", "shop")]
    assert graph.callers("tax.compute")[0].service.name == "shop"
    assert graph.callers("shop.buy") == []


def test_override_is_the_policy_of_its_edge() -> None:
    """An edge without an override has the callee's settings."""
    project = load_yaml(
        "version: 1\nservice: shop\ncalls:\n"
        "  - {to: tax.compute, override: {attempt_timeout: 300ms}}\n  - {to: tax.refund}\n"
        "---\nversion: 1\nservice: tax\ndefaults: {attempt_timeout: 2s}\noperations:\n"
        "  compute: {transport: http}\n  refund: {transport: http}\n"
    )
    totals = [
        edge.policy.attempt_timeout.total
        for edge in build(project).edges()
        if edge.policy is not None and edge.policy.attempt_timeout is not None
    ]
    assert totals == [0.3, 2.0]


def test_callers_come_before_callees() -> None:
    """Without cycles the order is topological."""
    graph = build(project({0: [1, 2], 1: [3], 2: [3], 3: []}))
    order = graph.callers_first()
    for edge in graph.edges():
        assert order.index(edge.caller) < order.index(edge.callee)


def test_shortest_cycles_are_shown_as_paths() -> None:
    """Each component shows one shortest way from its first node back to it."""
    graph = build(project({0: [1], 1: [2, 0], 2: [0], 3: [3], 4: [0]}))
    assert shown(graph) == ["s0.run -> s1.run -> s0.run", "s3.run -> s3.run"]
    assert graph.on_cycle() == {"s0.run", "s1.run", "s2.run", "s3.run"}


@given(
    st.lists(
        st.lists(st.integers(0, 7), max_size=4, unique=True), min_size=8, max_size=8
    )
)
@settings(max_examples=80, deadline=None)
def test_cycles_agree_with_reachability(callees: list[list[int]]) -> None:
    """A node is on a cycle exactly if it can reach itself (by brute force)."""
    edges = dict(enumerate(callees))
    reach = {node: set(to) for node, to in edges.items()}
    for _ in edges:
        for node in edges:
            reach[node] |= {far for near in reach[node] for far in reach[near]}
    graph = build(project(edges))
    looping = {f"s{node}.run" for node in edges if node in reach[node]}
    assert graph.on_cycle() == looping
    for cycle in graph.cycles():
        assert cycle[0].caller == cycle[-1].callee
        assert all(a.callee == b.caller for a, b in itertools.pairwise(cycle))
    for node in edges:
        for other in edges:
            if other in reach[node] and node not in reach[other]:
                order = graph.callers_first()
                assert order.index(f"s{node}.run") < order.index(f"s{other}.run")


def test_a_chain_of_ten_thousand_services() -> None:
    """Long chains neither overflow the stack nor take long."""
    chain = {node: [node + 1] for node in range(9_999)} | {9_999: []}
    started = time.process_time()
    loaded = project(chain, rate=7.0)
    graph = build(loaded)
    order = graph.callers_first()
    assert order.index("s0.run") < order.index("s5000.run") < order.index("s9999.run")
    assert graph.cycles() == []
    assert Traffic(loaded, graph).rate("s9999.run") == 7.0
    assert time.process_time() - started < 20


def test_a_long_cycle() -> None:
    """A cycle over 5,000 services is found once, whole."""
    ring = {node: [(node + 1) % 5_000] for node in range(5_000)}
    (cycle,) = build(project(ring)).cycles()
    assert len(cycle) == 5_000


def test_a_wide_fan_out() -> None:
    """One service that calls two thousand others."""
    fan = {0: list(range(1, 2_001))} | {node: [] for node in range(1, 2_001)}
    loaded = project(fan, rate=3.0)
    graph = build(loaded)
    traffic = Traffic(loaded, graph)
    assert {traffic.rate(f"s{node}.run") for node in fan} == {3.0}


def test_a_dense_layered_graph() -> None:
    """60 layers of 10 services have 10^59 paths; the rates are sums over all of them."""
    layers = [[layer * 10 + i for i in range(10)] for layer in range(60)]
    edges = {
        node: (layers[i + 1] if i + 1 < len(layers) else [])
        for i, layer in enumerate(layers)
        for node in layer
    }
    services = {
        f"s{node}": service(
            f"s{node}", [f"s{to}" for to in to_nodes], 1.0 if node < 10 else None
        )
        for node, to_nodes in edges.items()
    }
    loaded = Project(services)
    traffic = Traffic(loaded, build(loaded))
    rate = traffic.rate("s599.run")
    assert rate is not None
    assert abs(rate / 10.0**59 - 1) < 1e-9
