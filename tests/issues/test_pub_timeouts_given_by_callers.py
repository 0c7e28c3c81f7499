"""Timeouts that callers pass themselves: grpc #26236, urllib3 #3401's kind.

A value that was handed on was replaced by a longer one, or by one of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from policyctl.runtime.budget import budget
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATION = """
get:
  attempt_timeout: {total: 2s, argument: timeout}
"""
OWN = httpx.Timeout(0.5)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (None, 2.0),
        (0.5, 0.5),
        (30, 2.0),
        ((0.5, 30), (0.5, 2.0)),
        ((None, 1), (2.0, 1)),
        (OWN, OWN),
        (True, 2.0),
    ],
)
def test_what_is_given_is_never_made_longer(
    given: Any, passed: Any, generated: Generated, clock: Any
) -> None:
    """By position as by name."""

    @generated(OPERATION)["get"]
    def get(url: str, timeout: Any = None) -> Any:
        return timeout

    assert get("/", given) == passed
    assert get("/", timeout=given) == passed


def test_the_budget_counts_too_and_nothing_is_made_up(
    generated: Generated, clock: Any
) -> None:
    """Half a second left is the timeout; without a budget it is the attempt's."""

    @generated(OPERATION)["get"]
    def get(url: str, **options: Any) -> Any:
        return options

    with budget(0.5):
        assert get("/") == {"timeout": 0.5}
    assert get("/") == {"timeout": 2.0}
