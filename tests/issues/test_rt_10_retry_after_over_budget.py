"""RT-10: a server asks to wait for longer than the caller has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


class Unavailable(Exception):
    """A 503 that asks for an hour."""

    response = SimpleNamespace(status_code=503, headers={"Retry-After": "3600"})


async def test_the_call_ends_at_once_with_the_last_error(
    form: Any, script: Any, settle: Any, clock: Any
) -> None:
    """One entry, no sleep, and a note that names the wait and what was left."""
    policy = Policy(
        transport="http",
        budget=settings.Budget(total=5.0),
        retry=settings.Retry(
            max_attempts=3,
            retry_on_status=("503",),
            retry_after=settings.RetryAfter(max=None),
        ),
    )
    error = Unavailable()
    function = script(error)
    assert await settle(form.guard(policy, function)()) is error
    assert (function.entries, clock.slept) == (1, [])
    notes = " ".join(getattr(error, "__notes__", []))
    assert "3600" in notes
    assert "5" in notes
