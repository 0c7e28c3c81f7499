"""CB-20: a minimum of calls over a count window is refused, and defaults are effective."""

from __future__ import annotations

import pytest

from policyctl.resolve.policy import CircuitBreaker
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project


def load(breaker: str) -> Loaded:
    text = (
        f"version: 1\nservice: s\noperations:\n  op:\n    circuit_breaker: {breaker}\n"
    )
    return load_project(Inputs((InputFile("s.yaml", text.encode()),)))


def breaker(settings: str) -> CircuitBreaker:
    loaded = load(settings)
    assert loaded.diagnostics == ()
    found = loaded.project.services["s"].operations["op"].circuit_breaker
    assert found is not None
    return found


def test_a_minimum_over_the_window_is_an_error_at_the_minimum() -> None:
    """Nothing is clamped in silence: the number itself is pointed at."""
    [found] = load(
        "{failure_ratio: 50%, window: 5 calls, minimum_calls: 10}"
    ).diagnostics
    assert (found.code, found.span.line, found.span.column) == ("VA111", 5, 75)


@pytest.mark.parametrize(
    ("calls", "effective"), [(5, 5), (19, 19), (20, 20), (500, 20)]
)
def test_the_default_minimum_is_one_that_the_window_can_reach(
    calls: int, effective: int
) -> None:
    """A small window lowers the default minimum with it."""
    assert (
        breaker(f"{{failure_ratio: 50%, window: {calls} calls}}").minimum_calls
        == effective
    )


def test_a_stated_minimum_is_the_effective_one() -> None:
    """An unset window does not bring a hidden minimum back in."""
    assert breaker("{failure_ratio: 100%, minimum_calls: 4}").minimum_calls == 4
