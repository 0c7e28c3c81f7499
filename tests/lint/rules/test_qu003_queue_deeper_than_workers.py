"""QU003: queues that are deep for steady traffic."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("bulkhead", "message"),
    [
        ("{max_concurrent: 100, max_queue: 50, max_wait: 50ms}", None),
        (
            "{max_concurrent: 100, max_queue: 51, max_wait: 50ms}",
            "max_queue 51 > 0.5 x max_concurrent 100",
        ),
        ("{max_concurrent: 100, max_wait: 50ms}", None),
        ("{max_concurrent: 100, max_queue: 500}", None),
    ],
)
def test_boundaries(bulkhead: str, message: str | None) -> None:
    """Half is allowed; the default and queues nobody waits in are not measured."""
    text = f"version: 1\nservice: search_api\nowner: s\ninbound: {{bulkhead: {bulkhead}}}\n"
    found = lint_yaml(text, "QU003")
    assert [d.message for d in found] == ([] if message is None else [message])
    if found:
        assert found[0].severity is Severity.INFO
        assert found[0].help == "set max_queue: 50 unless traffic comes in bursts"


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("queue", "message"),
    [(200, None), (201, "max_queue 201 > 2 x max_concurrent 100")],
)
def test_threshold_can_be_set(queue: int, message: str | None) -> None:
    """A project may allow two waiting requests for each slot."""
    text = (
        "version: 1\nservice: search_api\nowner: s\ninbound:\n"
        f"  bulkhead: {{max_concurrent: 100, max_queue: {queue}, max_wait: 50ms}}\n"
    )
    found = lint_yaml(text, "QU003", thresholds={"QU003": {"share": 2}})
    assert [d.message for d in found] == ([] if message is None else [message])


@pytest.mark.boundary
@pytest.mark.parametrize(("wait", "count"), [("0s", 0), ("1us", 1)])
def test_queues_that_nobody_waits_in(wait: str, count: int) -> None:
    """Without a wait the queue is never used; the shortest wait uses it."""
    text = (
        "version: 1\nservice: search_api\nowner: s\ninbound:\n"
        f"  bulkhead: {{max_concurrent: 100, max_queue: 51, max_wait: {wait}}}\n"
    )
    assert len(lint_yaml(text, "QU003")) == count
