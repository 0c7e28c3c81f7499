"""CB-15: what is returned can be a failure, what is raised can be the caller's fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


class StatusError(Exception):
    """An HTTP error."""

    def __init__(self, status_code: int) -> None:
        super().__init__(status_code)
        self.status_code = status_code


@pytest.mark.parametrize("raised", [True, False], ids=["raised", "returned"])
@pytest.mark.parametrize(
    ("status", "state"),
    [(401, "closed"), (404, "closed"), (429, "open"), (408, "open"), (500, "open")],
)
async def test_the_status_decides(
    form: Any, script: Any, settle: Any, status: int, state: str, raised: bool
) -> None:
    """4xx but 408 and 429 are neutral, 5xx are failures, whether raised or returned."""
    policy = Policy(
        transport="http",
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=4,
            record_on=("timeout",),
            record_on_status=("408", "429", "500-599"),
            ignore_on_status=("400-407", "409-428", "430-499"),
        ),
    )
    outcome = StatusError(status) if raised else SimpleNamespace(status_code=status)
    call = form.guard(policy, script(outcome))
    for _ in range(4):
        assert await settle(call()) is outcome
    assert policy.circuit_breaker.state == state


async def test_neutral_outcomes_do_not_clear_the_count(
    form: Any, script: Any, settle: Any
) -> None:
    """A 401 between failures is no success."""
    policy = Policy(
        transport="http",
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=2,
            record_on_status=("500-599",),
            ignore_on_status=("400-499",),
        ),
    )
    statuses = [SimpleNamespace(status_code=s) for s in (500, 401, 500)]
    call = form.guard(policy, script(*statuses))
    for _ in range(3):
        await settle(call())
    assert policy.circuit_breaker.state == "open"


async def test_a_rule_over_results_decides(form: Any, script: Any) -> None:
    """record_if_result turns an error envelope into a failure."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=2, record_if_result=lambda body: "error" in body
        )
    )
    call = form.guard(policy, script({"error": "x"}))
    for _ in range(2):
        assert await call() == {"error": "x"}
    assert policy.circuit_breaker.state == "open"
