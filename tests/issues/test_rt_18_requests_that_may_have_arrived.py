"""RT-18: what had reached the server is not sent again by default."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


@pytest.mark.parametrize(
    ("error", "entries"),
    [
        (httpx.ConnectError("refused"), 3),
        (httpx.PoolTimeout("full"), 3),
        (httpx.ConnectTimeout("slow"), 3),
        (httpx.ReadTimeout("slow"), 1),
        (httpx.ReadError("reset"), 1),
        (httpx.RemoteProtocolError("closed"), 1),
        (httpx.WriteTimeout("slow"), 1),
    ],
    ids=repr,
)
async def test_only_what_was_not_sent_is_sent_again(
    form: Any, script: Any, settle: Any, clock: Any, error: Exception, entries: int
) -> None:
    """A retry without further settings repeats connect errors alone."""
    policy = Policy(transport="http", retry=settings.Retry())
    function = script(error)
    assert await settle(form.guard(policy, function)()) is error
    assert function.entries == entries
