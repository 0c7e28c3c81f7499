"""Scopes of breakers and bulkheads: by service and by argument."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.arguments import ArgumentPath
from policyctl.runtime.errors import (
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
)
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock, record_events


def _fails(tenant: object) -> None:
    raise OSError


def _breaker(**changes: Any) -> settings.CircuitBreaker:
    defaults: dict[str, Any] = {"failure_threshold": 1, "scope": "argument:tenant"}
    return settings.CircuitBreaker(**defaults | changes)


def test_each_value_has_its_own_breaker() -> None:
    """One tenant's failures do not refuse another's calls."""
    policy = Policy(circuit_breaker=_breaker())
    guarded = policy(_fails)
    for tenant in ("a", "a", "b"):
        with pytest.raises((OSError, CircuitOpenError)):
            guarded(tenant)
    breakers: Any = policy.circuit_breaker
    assert len(breakers) == 2
    assert breakers.of("a").rejected == 1
    assert breakers.of("c").state == "closed"
    assert breakers.state == "open"
    assert policy.statistics()["circuit_breaker"]["states"] == {"closed": 1, "open": 2}


def test_values_that_compare_equal_are_told_apart() -> None:
    """1, 1.0 and True are three values; a list is as good as any."""
    policy = Policy(circuit_breaker=_breaker(failure_threshold=2))
    guarded = policy(_fails)
    for value in (1, 1.0, True, [1], [1]):
        with pytest.raises(OSError):
            guarded(value)
    assert policy.circuit_breaker.of([1]).state == "open"  # type: ignore[attr-defined]
    assert policy.circuit_breaker.of(1).state == "closed"  # type: ignore[attr-defined]


def test_least_recently_used_idle_ones_are_dropped() -> None:
    """With max_keys 3 there are never more, and the open one is kept."""
    policy = Policy(circuit_breaker=_breaker(max_keys=3))

    @policy
    def work(tenant: int) -> None:
        if tenant == 0:
            raise OSError

    with pytest.raises(OSError):
        work(0)
    for tenant in range(1, 50):
        work(tenant)
        assert len(policy.circuit_breaker) <= 3  # type: ignore[arg-type]
    with pytest.raises(CircuitOpenError):
        work(0)


def test_busy_ones_are_not_dropped() -> None:
    """A breaker with an attempt inside keeps counting that attempt."""
    policy = Policy(circuit_breaker=_breaker(max_keys=1))

    @policy
    def work(tenant: str, inner: str | None = None) -> None:
        if inner is not None:
            work(inner)
            raise OSError

    with pytest.raises(OSError):
        work("a", "b")
    assert policy.circuit_breaker.of("a").state == "open"  # type: ignore[attr-defined]


def test_all_by_hand() -> None:
    """Forcing the whole reaches the breakers that are made later; reset undoes it."""
    policy = Policy(circuit_breaker=_breaker())

    @policy
    def guarded(tenant: str) -> str:
        return tenant

    guarded("a")
    policy.circuit_breaker.force_open()
    for tenant in ("a", "new"):
        with pytest.raises(CircuitOpenError):
            guarded(tenant)
    policy.circuit_breaker.reset()
    assert guarded("a") == "a"
    assert guarded("newer") == "newer"


def test_transitions_name_the_value() -> None:
    """C9: the event of a breaker by argument carries the argument."""
    policy = Policy(service="scoped", operation="named", circuit_breaker=_breaker())
    with record_events() as recorder, pytest.raises(OSError):
        policy.call(_fails, "a")
    (event,) = recorder.of("transition")
    assert event.data == {"old": "closed", "new": "open", "key": "a"}


def test_each_value_has_its_own_slots() -> None:
    """A bulkhead by argument bounds each value alone."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=1, scope="argument:order.tenant")
    )

    @policy
    def work(order: dict[str, str], inner: str | None = None) -> int:
        if inner is None:
            return 1
        return 1 + work({"tenant": inner})

    assert work({"tenant": "a"}, "b") == 2
    with pytest.raises(BulkheadFullError):
        work({"tenant": "a"}, "a")
    assert policy.bulkhead.in_use == 0
    assert policy.bulkhead.rejected == 1


def test_operations_share_a_services_breaker() -> None:
    """Scope service: failures of one operation refuse the other, on the fast path too."""
    block = _breaker(scope="service", failure_threshold=2)
    first = Policy(service="shared_a", operation="one", circuit_breaker=block)
    second = Policy(service="shared_a", operation="two", circuit_breaker=block)
    other = Policy(service="shared_b", operation="one", circuit_breaker=block)
    for policy in (first, second):
        with pytest.raises(OSError):
            policy.call(_fails, 1)
    for policy in (first, second):
        with pytest.raises(CircuitOpenError):
            policy.call(int)
    assert other.call(int) == 0
    with fake_clock(start=1e9):
        second.call(int)
        first.call(int)
    assert first.circuit_breaker.state == "closed"
    assert first.gate.count == second.gate.count == 0


def test_differing_blocks_of_a_service_are_an_error() -> None:
    """Scope service with another threshold is refused, and says both."""
    Policy(
        service="shared_c",
        operation="one",
        circuit_breaker=_breaker(scope="service"),
        bulkhead=settings.Bulkhead(max_concurrent=1, scope="service"),
    )
    with pytest.raises(PolicyConfigError, match="failure_threshold=2"):
        Policy(
            service="shared_c",
            operation="two",
            circuit_breaker=_breaker(scope="service", failure_threshold=2),
        )
    with pytest.raises(PolicyConfigError, match="max_concurrent=2"):
        Policy(
            service="shared_c",
            operation="two",
            bulkhead=settings.Bulkhead(max_concurrent=2, scope="service"),
        )


async def test_operations_share_a_services_slots() -> None:
    """Scope service: one slot for both operations, waiters in order of arrival."""
    block = settings.Bulkhead(
        max_concurrent=1, max_queue=9, max_wait=9.0, scope="service"
    )
    policies = [
        Policy(service="shared_d", operation=name, bulkhead=block) for name in "ab"
    ]
    release, order = asyncio.Event(), list[int]()

    async def work(number: int) -> None:
        order.append(number)
        await release.wait()

    tasks = [asyncio.create_task(policies[i % 2].call(work, i)) for i in range(2)]
    await asyncio.sleep(0.001)
    assert order == [0]
    assert policies[1].bulkhead.waiting == 1
    release.set()
    await asyncio.gather(*tasks)
    assert order == [0, 1]
    assert policies[0].bulkhead.in_use == 0


async def test_opening_turns_away_only_its_own_waiters() -> None:
    """C6: in a shared queue, another operation's circuit opens without harm to ours."""
    block = settings.Bulkhead(
        max_concurrent=1, max_queue=9, max_wait=9.0, scope="service"
    )
    bad, good = (
        Policy(
            service="shared_e",
            operation=name,
            bulkhead=block,
            circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
        )
        for name in ("bad", "good")
    )
    release = asyncio.Event()

    async def fail() -> None:
        await release.wait()
        raise OSError

    async def work() -> str:
        return "done"

    failing = asyncio.create_task(bad.call(fail))
    await asyncio.sleep(0.001)
    refused = asyncio.create_task(bad.call(work))
    waiting = asyncio.create_task(good.call(work))
    await asyncio.sleep(0.001)
    release.set()
    with pytest.raises(OSError):
        await failing
    with pytest.raises(CircuitOpenError):
        await refused
    assert await waiting == "done"
    assert bad.bulkhead.in_use == 0


def test_threads_share_keyed_breakers_exactly() -> None:
    """C10: 8 threads x 200 failures on 4 keys are 1,600 failures, 400 each."""
    policy = Policy(circuit_breaker=_breaker(failure_threshold=10**6))
    guarded = policy(_fails)

    def work() -> None:
        for number in range(200):
            with pytest.raises(OSError):
                guarded(number % 4)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [policy.circuit_breaker.of(k).failures for k in range(4)]  # type: ignore[attr-defined]
    assert counts == [400] * 4


class Order:
    """Something with an attribute."""

    def __init__(self, id: int) -> None:
        self.id = id

    def method(self, order: Any, tenant: str = "default") -> None:
        """A method whose parameters are looked at."""


def test_argument_paths() -> None:
    """Positional, keyword, default, attribute, key, method, partial and starred."""
    import functools

    def fn(a: Any, b: Any = 2, *rest: Any, c: Any = 3, **more: Any) -> None: ...

    def value(path: str, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return ArgumentPath(path, "test").value(fn, args, kwargs)

    assert value("a", fn, 1) == 1
    assert value("a", fn, a=5) == 5
    assert value("b", fn, 1) == 2
    assert value("c", fn, 1) == 3
    assert value("extra", fn, 1, extra=7) == 7
    assert value("a.id", fn, Order(4)) == 4
    assert value("a.id", fn, {"id": 5}) == 5
    bound = Order(1).method
    assert value("order", bound, 9) == 9
    assert value("tenant", bound, 9) == "default"
    assert value("tenant", Order.method, Order(1), 9, "t") == "t"
    assert value("a", functools.partial(fn, 6)) == 6
    for path in ("zzz", "a.zzz", "a.id.zzz"):
        with pytest.raises(PolicyConfigError, match="names nothing"):
            value(path, fn, Order(1))
