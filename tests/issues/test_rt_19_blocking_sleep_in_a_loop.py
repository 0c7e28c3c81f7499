"""RT-19: a sync wrapper that is called from a running event loop."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.run_sync import BlockingCallWarning


def make() -> Policy:
    """Two attempts with a back-off."""
    return Policy(retry=settings.Retry(max_attempts=2, retry_on=("timeout",)))


async def test_sleeping_on_the_loop_is_warned_about(script: Any, clock: Any) -> None:
    """The back-off of a plain function inside a coroutine names the way out."""
    call = make()(script(TimeoutError(), "ok"))
    with pytest.warns(BlockingCallWarning):
        assert call() == "ok"


async def test_the_async_form_does_not_warn(script: Any, clock: Any) -> None:
    """A coroutine function's back-off lets the loop go on."""
    function = script(TimeoutError(), "ok")

    @make()
    async def call() -> Any:
        return function()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await call() == "ok"


def test_without_a_loop_nothing_is_said(script: Any, clock: Any) -> None:
    """Threads without an event loop may sleep."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make()(script(TimeoutError(), "ok"))() == "ok"
