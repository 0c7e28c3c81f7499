"""RT-16: failures wrapped in exception groups."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

LOST, WRONG = ConnectionResetError(), ValueError()


@pytest.mark.parametrize(
    ("group", "entries"),
    [
        (ExceptionGroup("x", [LOST]), 3),
        (ExceptionGroup("x", [LOST, WRONG]), 1),
        (ExceptionGroup("x", [ExceptionGroup("y", [LOST, LOST])]), 3),
        (ExceptionGroup("x", [ExceptionGroup("y", [LOST, WRONG])]), 1),
        (BaseExceptionGroup("x", [LOST, asyncio.CancelledError()]), 1),
    ],
)
async def test_a_group_is_retried_if_every_leaf_would_be(
    form: Any, script: Any, clock: Any, group: BaseException, entries: int
) -> None:
    """And the group itself comes out in the end."""
    policy = Policy(retry=settings.Retry(retry_on=("connection_lost",)))
    function = script(group)
    raised: BaseException | None = None
    try:
        await form.guard(policy, function)()
    except BaseException as caught:
        raised = caught
    assert raised is group
    assert function.entries == entries
