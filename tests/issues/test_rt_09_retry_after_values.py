"""RT-09: what servers put into Retry-After."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


class Throttled(Exception):
    """A 429 with a header."""

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.response = SimpleNamespace(status_code=429, headers={"Retry-After": value})


@pytest.mark.parametrize(
    "value",
    [
        "-5",
        "1e400",
        "nan",
        "inf",
        "",
        " 3 ",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "٣",
        "soon",
        "3.5",
        "\x00",
        "9" * 5000,
        "9999999999",
        "1893456000",
        "Fri, 31 Dec 2100 23:59:59 GMT",
    ],
)
async def test_no_value_makes_the_delay_fail_or_pass_the_cap(
    form: Any, script: Any, settle: Any, clock: Any, value: str
) -> None:
    """Every delay is from 0 to the cap, or the call ends; never another exception."""
    policy = Policy(
        transport="http",
        retry=settings.Retry(
            max_attempts=2,
            retry_on_status=("429",),
            backoff=settings.Backoff(initial=0.1, max=1.0, jitter="none"),
            retry_after=settings.RetryAfter(max=10.0),
        ),
    )
    function = script(Throttled(value), "ok")
    outcome = await settle(form.guard(policy, function)())
    assert all(0 <= delay <= 10 for delay in clock.slept)
    if value in ("9999999999", "1893456000") or "2100" in value:
        assert (type(outcome), function.entries) == (Throttled, 1)
    else:
        assert (outcome, function.entries) == ("ok", 2)
    if value == " 3 ":
        assert clock.slept == [3.0]
