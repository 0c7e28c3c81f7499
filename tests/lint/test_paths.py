"""Products along paths, against a walk over every path."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.lint.context import Context
from policyctl.lint.engine import LintSettings, lint
from policyctl.lint.testing import load_yaml
from policyctl.resolve.policy import Project


def graph(
    edges: dict[int, list[int]], attempts: dict[int, int], refused: set[int]
) -> str:
    """Services s<i>; the call to s<i> has attempts[i], of refused connections alone or not."""
    documents = []
    for node, callees in edges.items():
        calls = ", ".join(f"{{to: s{to}.run}}" for to in callees)
        only = ", retry_on: [not_sent], retry_on_status: []" if node in refused else ""
        documents.append(
            f"version: 1\nservice: s{node}\noperations:\n  run: {{transport: http, "
            f"idempotent: true, retry: {{max_attempts: {attempts[node]}{only}}}"
            + (f", calls: [{calls}]" if calls else "")
            + "}\n"
        )
    return "---\n".join(documents)


def brute_force(
    edges: dict[int, list[int]], attempts: dict[int, int], refused: set[int]
) -> dict[str, int]:
    """The largest product of every path with at least two retrying edges, by its end."""
    best: dict[str, int] = {}

    def walk(node: int, product: int, retrying: int) -> None:
        for callee in edges[node]:
            full = attempts[callee]
            if retrying + (full > 1) >= 2:
                key = f"s{callee}.run"
                best[key] = max(best.get(key, 0), product * full)
            passed = 1 if callee in refused else full
            walk(callee, product * passed, retrying + (passed > 1))

    for node in edges:
        walk(node, 1, 0)
    return best


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_products_agree_with_every_path(data: st.DataObject) -> None:
    """On random acyclic graphs the largest products are found."""
    size = data.draw(st.integers(2, 6))
    edges = {
        node: (
            sorted(data.draw(st.sets(st.integers(node + 1, size - 1), max_size=3)))
            if node + 1 < size
            else []
        )
        for node in range(size)
    }
    attempts = {node: data.draw(st.integers(1, 4)) for node in range(size)}
    refused = data.draw(st.sets(st.integers(0, size - 1)))
    context = Context(load_yaml(graph(edges, attempts, refused)))
    found = {
        node: round(math.exp(way.weight))
        for node, way in context.retry_paths.ending.items()
    }
    assert found == brute_force(edges, attempts, refused)


def test_a_cycle_does_not_grow_for_ever() -> None:
    """Edges inside a cycle are left out; what leads in and out counts."""
    edges = {0: [1], 1: [2], 2: [1, 3], 3: []}
    text = graph(edges, dict.fromkeys(edges, 3), set())
    context = Context(load_yaml(text))
    assert context.retry_paths.ending == {}
    assert set(context.worst_loads) == {
        *(f"s{i}" for i in edges),
        *(f"s{i}.run" for i in edges),
    }


LOADS = """\
version: 1
service: web
operations:
  view: {transport: http, facts: {rate: 10/s}, calls: [{to: api.load, per_request: 2}]}
---
version: 1
service: api
operations:
  load: {transport: http, idempotent: true, API, calls: [{to: store.read}]}
---
version: 1
service: store
operations:
  read: {transport: http, idempotent: true, retry: {max_attempts: 3}STORE}
"""


@pytest.mark.parametrize(
    ("api", "store", "loads"),
    [
        ("retry: {max_attempts: 4}", "", (80, 240)),
        (
            "retry: {max_attempts: 4, retry_on: [not_sent], retry_on_status: []}",
            "",
            (80, 60),
        ),
        (
            "retry: {max_attempts: 4}",
            ", rate_limit: {rate: 50/s, store: redis}",
            (80, 50),
        ),
        ("budget: 1s", "", (20, 60)),
    ],
)
def test_loads_when_everything_fails(
    api: str, store: str, loads: tuple[int, int]
) -> None:
    """10 x 2 calls x 4 reach api and x 3 store: less where only refused connections are
    tried again, which reached nothing behind, or where a rate limit stands in between.
    """
    redis = "" if "redis" not in store else "redis: {url_env: REDIS_URL}\n"
    text = LOADS.replace("API", api).replace("STORE", store)
    head, tail = text.rsplit("service: store\n", 1)
    context = Context(load_yaml(f"{head}service: store\n{redis}{tail}"))
    found = context.worst_loads
    assert (found["api.load"], found["store.read"]) == pytest.approx(loads)


def layered(layers: int, width: int) -> Project:
    """Every service of a layer calls every one of the next."""
    edges = {
        layer * width
        + i: (
            [(layer + 1) * width + j for j in range(width)]
            if layer + 1 < layers
            else []
        )
        for layer in range(layers)
        for i in range(width)
    }
    return load_yaml(graph(edges, dict.fromkeys(edges, 3), set()))


@pytest.mark.parametrize(
    ("layers", "width", "product"), [(31, 8, "10^14"), (2000, 1, "10^954")]
)
def test_dense_and_deep_graphs_are_quick(layers: int, width: int, product: str) -> None:
    """8^30 paths, and a chain of 2,000 services: one pass over the edges."""
    project = layered(layers, width)
    started = time.process_time()
    result = lint(project, LintSettings(select=("GR",)))
    assert time.process_time() - started < 40
    found = [d for d in result.diagnostics if d.code == "GR001"]
    assert len(found) == width
    assert all(f"about {product} attempts" in d.message for d in found)
