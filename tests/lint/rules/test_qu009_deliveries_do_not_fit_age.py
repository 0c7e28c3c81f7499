"""QU009: deliveries that the age limit leaves no time for."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("age", "started"),
    [
        ("160s", 3),
        ("160001ms", 4),
        ("240s", 4),
        ("240001ms", None),
        ("1h", None),
        (None, None),
    ],
)
def test_deliveries_that_begin(age: str | None, started: int | None) -> None:
    """Leases of 30 s, waits of 10, 20, 40 and 50 s: at 0, 40, 90, 160 and 240 s."""
    limit = "" if age is None else f"    max_age: {age}\n"
    text = (
        "version: 1\nservice: worker\nowner: w\nqueues:\n  jobs:\n    store: sqlite\n"
        f"    path: jobs.db\n    max_size: 100\n{limit}    lease: 30s\n"
        "    max_deliveries: 5\n    redelivery: {initial: 10s, multiplier: 2, max: 50s}\n"
    )
    found = lint_yaml(text, "QU009")
    if started is None:
        assert found == []
        return
    assert found[0].message.startswith(f"only {started} of 5 deliveries of 30s each")
    assert found[0].help == f"set max_deliveries: {started}, or raise max_age"
