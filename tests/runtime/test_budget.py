"""The budget: one deadline in a context variable (C25, C26)."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import AsyncGenerator, Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime.budget import (
    DEADLINE,
    NO_DEADLINE,
    budget,
    current_deadline,
    detached_budget,
    outgoing_budget,
    remaining_budget,
    require_budget,
)
from policyctl.runtime.errors import BudgetExhaustedError, PolicyConfigError
from policyctl.testing import fake_clock


def test_without_a_scope_there_is_no_limit() -> None:
    """Nothing is expired, nothing is limited, nothing is refused."""
    assert remaining_budget() is None
    assert outgoing_budget(1.0) is None
    assert current_deadline() == NO_DEADLINE
    require_budget(10_000.0)


def test_a_scope_counts_down_and_ends() -> None:
    """Remaining is what the clock leaves, at least 0.0, and None again after."""
    with fake_clock() as clock:
        with budget(30.0) as scope:
            clock.advance(12.5)
            assert remaining_budget() == scope.remaining == 17.5
            clock.advance(100.0)
            assert remaining_budget() == scope.remaining == 0.0
        assert remaining_budget() is None


def test_an_inner_scope_only_shortens() -> None:
    """A longer inner scope keeps the outer limit; leaving it restores the outer."""
    with fake_clock(), budget(10.0):
        with budget(30.0):
            assert remaining_budget() == 10.0
        with budget(3.0):
            assert remaining_budget() == 3.0
            with budget(2.0, inherit=False):
                assert remaining_budget() == 2.0
        assert remaining_budget() == 10.0


def test_detached_work_forgets_the_callers_limit() -> None:
    """detached_budget() has no limit, or its own even if that is longer."""
    with fake_clock(), budget(10.0):
        with detached_budget():
            assert remaining_budget() is None
        with detached_budget(60.0):
            assert remaining_budget() == 60.0
        assert remaining_budget() == 10.0


def test_outgoing_keeps_the_reserve_back() -> None:
    """What is passed on is the remainder minus the reserve, never below zero."""
    with fake_clock(), budget(1.0):
        assert outgoing_budget(0.25) == 0.75
        assert outgoing_budget(5.0) == 0.0


def test_require_says_by_how_much() -> None:
    """Too little left raises with both numbers; enough passes."""
    with fake_clock() as clock, budget(2.0):
        require_budget(2.0)
        clock.advance(1.5)
        with pytest.raises(BudgetExhaustedError) as caught:
            require_budget(1.0)
        assert (caught.value.remaining, caught.value.minimum) == (0.5, 1.0)
        require_budget()
        clock.advance(0.5)
        with pytest.raises(BudgetExhaustedError, match="budget exhausted: 0 s left"):
            require_budget()


@pytest.mark.parametrize("seconds", [0, -1, -1e9])
def test_zero_and_less_is_expired_at_once(seconds: float) -> None:
    """A negative remainder that a caller computed is an expired scope, not an error."""
    with fake_clock(), budget(seconds):
        assert remaining_budget() == 0.0


@pytest.mark.parametrize("seconds", [float("nan"), True, "5", None])
def test_what_is_no_number_is_refused(seconds: float) -> None:
    """NaN would compare false with everything and never expire."""
    with pytest.raises(PolicyConfigError, match="is not a number of seconds"):
        budget(seconds)


def test_a_scope_object_may_be_used_again_but_not_twice_at_once() -> None:
    """Each entry measures from its own start."""
    with fake_clock() as clock:
        scope = budget(5.0)
        for _ in range(2):
            with scope:
                assert remaining_budget() == 5.0
                with pytest.raises(RuntimeError, match="in use"):
                    scope.__enter__()
            clock.advance(3.0)
        for attempt in (lambda: scope.remaining, lambda: scope.__exit__(*[None] * 3)):
            with pytest.raises(RuntimeError, match="not entered"):
                attempt()


def test_tasks_keep_the_deadline_that_they_were_started_with() -> None:
    """A task inherits its creator's limit, also after the creator left the scope."""

    async def main() -> None:
        async def child() -> float | None:
            await asyncio.sleep(0)
            return remaining_budget()

        with fake_clock():
            with budget(5.0):
                inside = asyncio.create_task(child())
            outside = asyncio.create_task(child())
            assert (await inside, await outside) == (5.0, None)
            assert remaining_budget() is None

    asyncio.run(main())


def test_concurrent_tasks_do_not_see_each_others_scopes() -> None:
    """Scopes opened by interleaved tasks of one loop stay apart."""

    async def main() -> None:
        async def one(seconds: float) -> list[float | None]:
            seen: list[float | None] = []
            with budget(seconds):
                for _ in range(3):
                    await asyncio.sleep(0)
                    seen.append(remaining_budget())
            return [*seen, remaining_budget()]

        with fake_clock():
            results = await asyncio.gather(*(one(n) for n in range(1, 20)))
        assert results == [[n, n, n, None] for n in range(1, 20)]

    asyncio.run(main())


def test_threads_have_no_scope_unless_their_context_is_copied() -> None:
    """A plain thread starts without limit; one that runs in a copy inherits."""
    seen: list[float | None] = []
    with fake_clock(), budget(5.0):
        context = contextvars.copy_context()
        plain = threading.Thread(
            target=lambda: seen.append(remaining_budget()), daemon=True
        )
        plain.start()
        plain.join()
        copied = threading.Thread(
            target=context.run,
            args=(lambda: seen.append(remaining_budget()),),
            daemon=True,
        )
        copied.start()
        copied.join()
    assert seen == [None, 5.0]


def scoped_items() -> Generator[int, None, None]:
    """A generator that opens a scope around its items."""
    with budget(5.0):
        yield 1
        yield 2


def test_scopes_left_out_of_order_leave_no_expired_limit_behind() -> None:
    """A generator that ends inside a consumer's later scope does not bind it after."""
    with fake_clock() as clock:
        items = scoped_items()
        next(items)
        with budget(60.0):
            assert remaining_budget() == 5.0
            items.close()
            clock.advance(10.0)
        assert remaining_budget() is None


async def async_items() -> AsyncGenerator[int, None]:
    """An async generator that opens a scope around its items."""
    with budget(5.0):
        yield 1
        yield 2


async def test_a_generator_closed_from_another_task_harms_nobody() -> None:
    """TD-11: no error, the closer unharmed, the first consumer free of the dead scope."""
    with fake_clock():
        items = async_items()
        closed, opened = asyncio.Event(), asyncio.Event()

        async def first() -> list[float | None]:
            with budget(60.0):
                await anext(items)
                opened.set()
                await closed.wait()
                seen = [remaining_budget()]
                require_budget(30.0)
            return [*seen, remaining_budget()]

        async def second() -> float | None:
            await opened.wait()
            with budget(20.0):
                await items.aclose()
                left = remaining_budget()
            closed.set()
            return left

        limits, closer = await asyncio.gather(first(), second())
        assert (limits, closer) == ([60.0, None], 20.0)


async def test_a_generator_that_is_collected_unfinished_is_silent() -> None:
    """No error reaches the loop when a scoped generator is garbage."""
    problems: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))

    async def consume() -> None:
        await anext(async_items())

    await asyncio.create_task(consume())
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)
    assert problems == []
    assert remaining_budget() is None


def test_plain_deadlines_of_the_engine_mix_with_scopes() -> None:
    """A deadline published by set and reset bounds later scopes and is restored."""
    with fake_clock():
        token = DEADLINE.set(1004.0)
        with budget(10.0):
            assert remaining_budget() == 4.0
        assert DEADLINE.get() == 1004.0
        DEADLINE.reset(token)
        assert remaining_budget() is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["open", "detach", "advance"]), st.integers(0, 50)),
        max_size=12,
    )
)
def test_nested_scopes_agree_with_a_list_of_deadlines(
    steps: list[tuple[str, int]],
) -> None:
    """Any nesting gives the minimum since the last detached scope, and unwinds."""
    with fake_clock(start=0.0) as clock:

        def run(rest: list[tuple[str, int]], deadlines: list[float]) -> None:
            expected = min(deadlines, default=NO_DEADLINE)
            assert current_deadline() == expected
            if not rest:
                return
            (kind, number), later = rest[0], rest[1:]
            if kind == "advance":
                clock.advance(number)
                run(later, deadlines)
                return
            end = clock.now() + number
            inherit = kind == "open"
            with budget(number, inherit=inherit):
                run(later, [*deadlines, end] if inherit else [end])
            assert current_deadline() == expected

        run(steps, [])
        assert remaining_budget() is None
