"""ID-06: an entry lives for exactly its ttl, whatever the unit it was written in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock
from policyctl.units import parse_duration


@pytest.mark.parametrize("ttl", ["1500ms", "1.5s"])
async def test_a_second_and_a_half(form: Any, script: Any, ttl: str) -> None:
    """There at 1.4 s, gone at 1.6 s."""
    block = settings.Idempotency(key_call=lambda: "k", ttl=parse_duration(ttl))
    function = script(1, 2)
    call = form.guard(Policy(idempotency=block), function)
    with fake_clock() as clock:
        assert await call() == 1
        clock.advance(1.4)
        assert await call() == 1
        clock.advance(0.2)
        assert await call() == 2


@hypothesis_settings(max_examples=50)
@given(st.integers(2, 10**8), st.integers(-1000, 1000).filter(bool))
def test_the_edge_is_at_the_ttl(milliseconds: int, around: int) -> None:
    """For any ttl, a millisecond or more before it is early and after it is late."""
    entries: list[int] = []
    ttl = parse_duration(f"{milliseconds}ms", maximum=1e9)

    @Policy(idempotency=settings.Idempotency(key_call=lambda: "k", ttl=ttl))
    def call() -> None:
        entries.append(1)

    with fake_clock(start=0.0) as clock:
        call()
        clock.advance(max(1, milliseconds + around) / 1000)
        call()
    assert len(entries) == (1 if around < 0 else 2)
