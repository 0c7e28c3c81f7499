"""Settings change in place: nothing that was counted, held or owed is lost (C40)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.breaker import Breaker
from policyctl.runtime.chance import RANDOM
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BulkheadFullError,
    CircuitOpenError,
    RateLimitedError,
)
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.reload import RefusedError, plan_changes, read_document
from policyctl.runtime.reload.change import carry_over, change_breaker
from policyctl.runtime.window import CountWindow, TimeWindow
from policyctl.testing import fake_clock


def apply(fleet: Any, **changes: str) -> list[str]:
    """Take over a document; what it changed, as text."""
    plan = plan_changes(read_document(fleet.lock(**changes)))
    plan.apply()
    return [str(change) for change in plan.changes]


def fail(policy: Policy, times: int) -> None:
    """Let calls fail, one attempt each."""

    def failing() -> None:
        raise RuntimeError

    for _ in range(times):
        with pytest.raises(RuntimeError):
            policy.call(failing)


def test_nothing_differs_from_what_was_generated(fleet: Any) -> None:
    """The document of the generated code itself changes nothing."""
    fleet.policies()
    assert apply(fleet) == []


def test_changes_are_told_by_path(fleet: Any) -> None:
    """Each value that differs, with what it was and what it is."""
    fleet.policies()
    assert apply(fleet, slots="9", attempt_timeout="3s") == [
        "pay.charge attempt_timeout.total: 2.0 -> 3.0",
        "pay.charge bulkhead.max_concurrent: 4 -> 9",
        "pay.charge bulkhead.max_queue: 4 -> 9",
    ]
    assert apply(fleet, slots="9", attempt_timeout="3s") == []


@pytest.mark.parametrize("slots", [2, 6])
async def test_slots_in_use_stay_in_use(fleet: Any, slots: int) -> None:
    """C20: three calls run; the new limit counts them, by spare capacity."""
    charge: Policy = fleet.policies()["charge"]
    gate = asyncio.Event()
    started: list[int] = []

    async def hold(number: int) -> None:
        started.append(number)
        await gate.wait()

    running = [asyncio.ensure_future(charge.call(hold, n)) for n in range(3)]
    await asyncio.sleep(0.02)
    apply(fleet, slots=str(slots))
    more = [asyncio.ensure_future(charge.call(hold, n)) for n in range(3, 9)]
    await asyncio.sleep(0.02)
    assert len(started) == max(3, slots)
    assert charge.bulkhead.in_use == max(3, slots)
    gate.set()
    await asyncio.gather(*running, *more, return_exceptions=True)
    assert charge.bulkhead.in_use == 0


async def test_waiters_are_served_by_a_larger_bulkhead(fleet: Any) -> None:
    """Who waits for a slot gets one of the new ones at once."""
    charge: Policy = fleet.policies(slots="1")["charge"]
    gate = asyncio.Event()

    async def hold() -> None:
        await gate.wait()

    first = asyncio.ensure_future(charge.call(hold))
    second = asyncio.ensure_future(charge.call(hold))
    await asyncio.sleep(0.02)
    assert (charge.bulkhead.in_use, charge.bulkhead.waiting) == (1, 1)
    apply(fleet, slots="2")
    await asyncio.sleep(0.02)
    assert (charge.bulkhead.in_use, charge.bulkhead.waiting) == (2, 0)
    gate.set()
    await asyncio.gather(first, second)


@pytest.mark.timing
def test_an_open_circuit_stays_open(fleet: Any) -> None:
    """State and break go on; the new rules hold from the next time on."""
    charge: Policy = fleet.policies(breaker="failure_threshold: 3")["charge"]
    fail(charge, 3)
    before = charge.circuit_breaker.retry_after
    apply(fleet, breaker="failure_threshold: 7")
    assert charge.circuit_breaker.state == "open"
    assert charge.circuit_breaker.retry_after == pytest.approx(before, abs=0.5)
    charge.circuit_breaker.reset()
    fail(charge, 6)
    assert charge.circuit_breaker.state == "closed"
    fail(charge, 1)
    assert charge.circuit_breaker.state == "open"


def test_failures_in_a_row_are_kept(fleet: Any) -> None:
    """Four failures so far; with a threshold of five the next one opens."""
    charge: Policy = fleet.policies(breaker="failure_threshold: 9")["charge"]
    fail(charge, 4)
    apply(fleet, breaker="failure_threshold: 5")
    fail(charge, 1)
    with pytest.raises(CircuitOpenError):
        charge.call(lambda: None)


@pytest.mark.parametrize(
    "breaker",
    [
        "failure_ratio: 60%, window: 30s, minimum_calls: 10",
        "failure_ratio: 60%, window: 2m, minimum_calls: 10",
        "failure_ratio: 60%, window: 40 calls, minimum_calls: 10",
    ],
)
def test_the_window_is_kept(fleet: Any, breaker: str) -> None:
    """Three successes and five failures so far, whatever becomes of the window."""
    charge: Policy = fleet.policies()["charge"]
    guarded: Any = charge(lambda works: None if works else fail_now())
    for _ in range(3):
        guarded(True)
    fail(charge, 5)
    assert charge.circuit_breaker.state == "closed"
    apply(fleet, breaker=breaker)
    counts = charge.circuit_breaker.statistics()["window"]
    assert counts == {"calls": 8, "failures": 5, "slow": 0}
    guarded(True)
    assert charge.circuit_breaker.statistics()["window"]["calls"] == 9
    fail(charge, 1)  # 6 of 10 is the ratio
    assert charge.circuit_breaker.state == "open"


def fail_now() -> None:
    """Fail."""
    raise RuntimeError


def test_tokens_are_kept(fleet: Any) -> None:
    """A rate limit that is used up is not filled by a change."""
    with fake_clock() as clock:
        charge: Policy = fleet.policies(rate="10/s")["charge"]
        for _ in range(10):
            charge.call(lambda: None)
        apply(fleet, rate="20/s")
        with pytest.raises(RateLimitedError):
            charge.call(lambda: None)
        clock.advance(0.075)
        charge.call(lambda: None)
        assert charge.rate_limit.tokens == pytest.approx(0.5)


@pytest.mark.parametrize(("burst", "left"), [("20", 7.0), ("5", 5.0)])
def test_retry_tokens_are_kept(fleet: Any, burst: str, left: float) -> None:
    """Seven of ten tokens left: no more with a larger bucket, at most a smaller one."""
    with fake_clock():
        charge: Policy = fleet.policies()["charge"]
        assert charge.retry_budget is not None
        for _ in range(3):
            assert charge.retry_budget.take()
        apply(fleet, burst=burst, max_attempts="5")
        assert charge.retry_budget.tokens == left
        assert charge.retry.settings.max_attempts == 5


def test_a_full_retry_budget_stays_full(fleet: Any) -> None:
    """And flags nothing, so that success goes on to cost nothing."""
    charge: Policy = fleet.policies()["charge"]
    assert charge.retry_budget is not None
    apply(fleet, burst="25")
    assert charge.retry_budget.tokens == 25.0
    assert not charge.retry_budget._flagged


@pytest.mark.timing
async def test_compiled_wrappers_follow(fleet: Any) -> None:
    """Functions that were decorated before have the new limits, sync and async."""
    charge: Policy = fleet.policies(attempt_timeout="5s", max_attempts="1")["charge"]

    @charge
    async def slow() -> str:
        await asyncio.sleep(0.3)
        return "done"

    @charge
    def slow_sync() -> str:
        time.sleep(0.3)
        return "done"

    assert await slow() == "done"
    answer = "{value: x, fallback_on: [timeout]}"
    apply(fleet, attempt_timeout="50ms", max_attempts="1", fallback=answer)
    start = time.monotonic()
    assert await slow() == "x"
    assert await asyncio.to_thread(slow_sync) == "x"
    assert time.monotonic() - start < 0.25
    apply(fleet, attempt_timeout="5s", max_attempts="1")
    assert await slow() == "done"
    assert await asyncio.to_thread(slow_sync) == "done"


def test_attempts_follow(fleet: Any) -> None:
    """More attempts than the wrapper was made with."""
    charge: Policy = fleet.policies(max_attempts="1")["charge"]
    assert charge.retry.settings.max_attempts == 1
    apply(fleet, max_attempts="4")
    calls: list[int] = []

    @charge
    def flaky() -> str:
        calls.append(1)
        raise ConnectionRefusedError

    with fake_clock(), pytest.raises(ConnectionRefusedError):
        flaky()
    assert len(calls) == 4


def test_changes_under_load_lose_nothing(fleet: Any) -> None:
    """Threads call while limits go up and down: never over the limit, all slots free."""
    charge: Policy = fleet.policies(slots="8", rate="100000/s")["charge"]
    inside, most, wrong = [0], [0], []
    lock = threading.Lock()
    stop = threading.Event()

    @charge
    def work() -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.0005)
        with lock:
            inside[0] -= 1

    def hammer() -> None:
        while not stop.is_set():
            try:
                work()
            except BulkheadFullError:
                continue
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=hammer, daemon=True) for _ in range(12)]
    for thread in threads:
        thread.start()
    try:
        for slots in (3, 8, 1, 5, 2, 8) * 3:
            apply(fleet, slots=str(slots), rate="100000/s")
            time.sleep(0.02)
    finally:  # threads that never stop would keep the process from ending
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert most[0] <= 8
    assert charge.bulkhead.in_use == 0
    assert charge.gate.in_use == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"slots": "4, scope: service"}, "bulkhead.scope: it cannot change while"),
        ({"breaker": "failure_threshold: 3, scope: service"}, "circuit_breaker.scope"),
    ],
)
def test_what_cannot_change_under_way(
    fleet: Any, changes: dict[str, str], reason: str
) -> None:
    """Refused whole: not even the possible part of it is applied."""
    charge: Policy = fleet.policies()["charge"]
    with pytest.raises(RefusedError, match=reason.replace(".", r"\.")):
        apply(fleet, attempt_timeout="3s", **changes)
    assert charge.attempt_limit == 2.0


def test_blocks_cannot_come_or_go(fleet: Any) -> None:
    """A breaker that the process was not built with needs a deployment."""
    Policy(service="pay", operation="charge", attempt_timeout=None)
    with pytest.raises(RefusedError) as caught:
        apply(fleet)
    text = str(caught.value)
    assert "pay.charge.circuit_breaker: this block cannot come while" in text
    assert "pay.charge.bulkhead: this block cannot come while" in text


def test_what_the_document_does_not_know_stays(fleet: Any) -> None:
    """Other operations of the process keep their settings and are named."""
    fleet.policies()
    other = Policy(service="other", operation="one")
    plan = plan_changes(read_document(fleet.lock(slots="7")))
    plan.apply()
    assert plan.unknown == ["other.one"]
    assert set(other.settings) <= {"kind"}


def test_the_environment_still_overrides(
    fleet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that was set at start wins over every document."""
    from policyctl.runtime import overrides

    overrides.read_environment({"PAY_CHARGE_BULKHEAD_MAX_CONCURRENT": "6"})
    try:
        charge: Policy = fleet.policies()["charge"]
        assert charge.bulkhead.max_concurrent == 6
        apply(fleet, slots="9", attempt_timeout="3s")
        assert charge.bulkhead.max_concurrent == 6
        assert charge.attempt_limit == 3.0
    finally:
        overrides.read_environment(None)


def test_a_module_that_is_loaded_later(fleet: Any) -> None:
    """Its declared settings are compared with what was declared, not what is live."""
    charge: Policy = fleet.policies()["charge"]
    apply(fleet, slots="9")
    again: Policy = fleet.policies()["charge"]
    assert again is charge
    assert charge.bulkhead.max_concurrent == 9


def test_shared_by_a_service(fleet: Any) -> None:
    """Scope service: one breaker for all, changed once, and later operations join it."""
    block = "failure_threshold: 3, scope: service"
    charge: Policy = fleet.policies(breaker=block)["charge"]
    fail(charge, 2)
    apply(fleet, breaker="failure_threshold: 4, scope: service")
    late = Policy(
        service="pay",
        operation="late",
        circuit_breaker=read_document(fleet.lock(breaker=block)).operations[
            "pay.charge"
        ]["circuit_breaker"],
    )
    assert late.breaker is charge.breaker
    fail(charge, 1)
    assert charge.circuit_breaker.state == "closed"
    fail(charge, 1)
    assert charge.circuit_breaker.state == "open"


def test_by_argument_old_and_new(fleet: Any) -> None:
    """Scope argument: breakers there are and breakers to come have the new rules."""
    block = "failure_threshold: 3, scope: 'argument:tenant'"
    charge: Policy = fleet.policies(breaker=block, max_attempts="1")["charge"]

    def call(tenant: str) -> None:
        raise RuntimeError

    def failures(tenant: str) -> int:
        for count in range(20):
            try:
                charge.call(call, tenant)
            except CircuitOpenError:
                return count
            except RuntimeError:
                pass
        return 20

    for _ in range(2):
        with pytest.raises(RuntimeError):
            charge.call(call, "old")
    more = "failure_threshold: 5, scope: 'argument:tenant'"
    apply(fleet, breaker=more, max_attempts="1")
    assert failures("old") == 3
    assert failures("new") == 5


def test_the_mode_changes(fleet: Any) -> None:
    """disabled and back, forced_open and back; what a person forced stays forced."""
    charge: Policy = fleet.policies(breaker="failure_threshold: 3")["charge"]
    apply(fleet, breaker="failure_threshold: 3, mode: forced_open")
    assert charge.circuit_breaker.state == "forced_open"
    apply(fleet, breaker="failure_threshold: 3, mode: enforce")
    assert charge.circuit_breaker.state == "closed"
    charge.circuit_breaker.force_open()
    apply(fleet, breaker="failure_threshold: 3, mode: disabled")
    assert charge.circuit_breaker.state == "forced_open"


def test_inbound_limits(fleet: Any) -> None:
    """A service's own protection follows, with the requests inside counted."""
    inbound = Inbound(
        service="pay",
        bulkhead=settings.Bulkhead(max_concurrent=1),
        rate_limit=settings.RateLimit(rate=100.0),
    )
    assert inbound.enter() is None
    plan = plan_changes(read_document(_with_inbound(3)))
    assert [str(change) for change in plan.changes] == [
        "pay.inbound bulkhead.max_concurrent: 1 -> 3",
        "pay.inbound bulkhead.max_queue: 1 -> 3",
    ]
    plan.apply()
    assert [inbound.enter() is None for _ in range(3)] == [True, True, False]


def _with_inbound(slots: int) -> bytes:
    import json

    from policyctl.generate.digest import policy_digest

    policy = {
        "operations": {},
        "inbound": {
            "bulkhead": {"max_concurrent": slots, "max_queue": slots, "max_wait": 0.0},
            "rate_limit": {"rate": 100.0, "burst": 100},
        },
    }
    entry = {"digest": policy_digest(policy, {}), "source": "x", "policy": policy}
    return json.dumps(
        {"format": 1, "options": {}, "services": {"pay": entry}, "files": {}}
    ).encode()


@hypothesis_settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60),
    st.integers(1, 80),
    st.booleans(),
    st.booleans(),
)
def test_any_window_into_any_other(
    outcomes: list[tuple[bool, bool]], size: int, from_time: bool, to_time: bool
) -> None:
    """Totals stay, or stay in proportion where the new window is smaller."""
    old: Any = TimeWindow(30.0) if from_time else CountWindow(60)
    new: Any = TimeWindow(float(size)) if to_time else CountWindow(size)
    for failed, slow in outcomes:
        old.add(5.0, failed, slow)
    carry_over(old, new, 5.0)
    if to_time or old.total <= size:
        assert (new.total, new.failed, new.slow) == (old.total, old.failed, old.slow)
    else:
        assert new.total == size
        assert abs(new.failed - old.failed * size / old.total) <= 0.5
        assert abs(new.slow - old.slow * size / old.total) <= 0.5


def test_a_change_alone_never_opens() -> None:
    """A stricter ratio is judged at the next attempt, not by the change."""
    block = settings.CircuitBreaker(failure_ratio=0.9, minimum_calls=2)
    seen: list[tuple[str, str]] = []
    breaker = Breaker(block, lambda old, new: seen.append((old, new)), RANDOM)
    for failed in (True, True, False):
        episode = breaker.admit(0.0, 1)
        (breaker.failure if failed else breaker.success)(episode, 1, 0.0, 0.0)
    if seen:
        breaker.reset()
    change_breaker(breaker, block.replace(failure_ratio=0.1))
    assert breaker.state(0.0) == "closed"


def test_nothing_live_is_no_error(fleet: Any) -> None:
    """A process that has not loaded any policy yet takes any good document."""
    assert list(registry) == []
    assert apply(fleet, slots="9") == []


async def test_timeouts_name_the_new_limit(fleet: Any) -> None:
    """The error says the number that decided."""
    fleet.policies()
    lookup = registry["pay.lookup"]

    @lookup
    async def slow() -> None:
        await asyncio.sleep(5)

    document = fleet.lock().replace(b'"total": 1.0', b'"total": 0.05')
    with pytest.raises(RefusedError, match="digest does not match"):
        read_document(document)
    lookup.settings["attempt_timeout"]
    apply(fleet)
    change = settings.AttemptTimeout(total=0.05)
    from policyctl.runtime.reload.change import change_policy

    change_policy(lookup, {**lookup.settings, "attempt_timeout": change}, set())
    with pytest.raises(AttemptTimeoutError, match=r"0\.05 s"):
        await slow()
