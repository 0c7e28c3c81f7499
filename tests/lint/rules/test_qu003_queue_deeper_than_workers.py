"""QU003: queues that are deep for steady traffic."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml


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
