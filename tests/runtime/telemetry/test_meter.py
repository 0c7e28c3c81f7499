"""What is counted of guarded calls, on the fast path and off it."""

from __future__ import annotations

import asyncio
import dis
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import BulkheadFullError, CircuitOpenError
from policyctl.runtime.gate import HAS_GIL
from policyctl.runtime.policy import Policy
from policyctl.runtime.telemetry import enable
from policyctl.runtime.telemetry.meter import BOUNDS, BUCKETS, Meter, Reading
from policyctl.runtime.telemetry.switch import SWITCH
from policyctl.testing import FakeClock

NOW = settings.Backoff(initial=0.0, max=0.0)
RETRY = settings.Retry(max_attempts=3, backoff=NOW, retry_on=("ConnectionError",))
BREAKER = settings.CircuitBreaker(failure_threshold=2)


def metered(service: str, operation: str = "read", **blocks: Any) -> Policy:
    """A policy of a service with metrics."""
    enable(service, metrics="prometheus")
    return Policy(service=service, operation=operation, **blocks)


def reading(policy: Policy) -> Reading:
    """Its counts."""
    assert policy.meter is not None
    return policy.meter.read()


def calls(policy: Policy) -> dict[str, int]:
    """Its calls by outcome, those that there are."""
    return {name: count for name, count in reading(policy).calls.items() if count}


def one() -> int:
    """What is guarded where it does not matter."""
    return 1


class Script:
    """Raises or returns what it was given, one after the other."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def __call__(self) -> Any:
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step


def test_buckets_are_what_prometheus_calls_them() -> None:
    """The bounds ascend and the texts name each, with infinity at the end."""
    assert list(BOUNDS) == sorted(BOUNDS)
    assert [float(name) for name in BUCKETS] == [*BOUNDS, float("inf")]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_durations_fall_into_their_buckets(
    service: str, clock: FakeClock, asynchronous: bool
) -> None:
    """A bound belongs to its bucket; the first call, which is slow, counts alike."""
    policy = metered(service, bulkhead=settings.Bulkhead(max_concurrent=2))

    def work(seconds: float) -> None:
        clock.advance(seconds)

    async def work_async(seconds: float) -> None:
        clock.advance(seconds)

    guarded, guarded_async = policy(work), policy(work_async)
    for seconds in (0.0, 0.25, 0.3, 61.0):
        if asynchronous:
            asyncio.run(guarded_async(seconds))
        else:
            guarded(seconds)
    found = reading(policy)
    expected = [0] * len(BUCKETS)
    expected[0] = expected[BUCKETS.index("0.25")] = 1
    expected[BUCKETS.index("0.5")] = expected[-1] = 1
    assert found.buckets == expected
    assert found.seconds == pytest.approx(61.55)
    assert found.attempts == found.calls["success"] == 4


def test_each_outcome(service: str) -> None:
    """A call counts once, by what came out of it; rejections are no attempts.

    The ValueError and the second reset are two failures in a row, which open the circuit.
    """
    policy = metered(service, retry=RETRY, circuit_breaker=BREAKER)
    policy.call(Script(1))
    assert policy.call(Script(ConnectionResetError(), 2)) == 2
    with pytest.raises(ValueError):
        policy.call(Script(ValueError()))
    with pytest.raises(KeyboardInterrupt):
        policy.call(Script(KeyboardInterrupt()))
    with pytest.raises(ConnectionError):
        policy.call(Script(ConnectionResetError(), 3))
    with pytest.raises(CircuitOpenError):
        policy.call(Script(4))
    assert calls(policy) == {
        "success": 2,
        "failure": 2,
        "cancelled": 1,
        "rejected": 1,
    }
    found = reading(policy)
    assert found.attempts == 1 + 2 + 1 + 1 + 1
    assert found.retries == {"connection_lost": 2}
    assert found.rejected == {"circuit_open": 2}
    assert sum(found.buckets) == 5


def test_a_fallback_is_an_outcome_of_its_own(service: str) -> None:
    """The answer of a fallback is neither success nor failure; a broken one fails."""
    answering = metered(service, fallback=settings.FallbackValue(value=7))
    assert answering.call(Script(OSError())) == 7
    assert calls(answering) == {"fallback": 1}
    broken = metered(service, "broken", fallback=settings.FallbackCall(call=_broken))
    with pytest.raises(RuntimeError):
        broken.call(Script(OSError()))
    assert calls(broken) == {"failure": 1}


def _broken() -> None:
    raise RuntimeError("no answer either")


def test_a_recorded_result_is_a_failure(service: str) -> None:
    """A result with a status that the breaker records came back, but not for good."""
    policy = metered(
        service,
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=5, record_on_status=("500-599",)
        ),
    )

    class Response:
        status_code = 503

    policy.call(Script(Response()))
    assert calls(policy) == {"failure": 1}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(111, "refused"), "not_sent"),
        (ConnectionResetError(104, "reset"), "connection_lost"),
        (TimeoutError(), "timeout"),
        (RuntimeError("odd"), "error"),
    ],
)
def test_reasons_of_retries(service: str, error: Exception, reason: str) -> None:
    """A retry is counted by the condition that it follows."""
    retry = settings.Retry(max_attempts=2, backoff=NOW, retry_on=("Exception",))
    policy = metered(service, retry=retry)
    policy.call(Script(error, 1))
    assert reading(policy).retries == {reason: 1}


def test_statuses_and_results_are_reasons(service: str) -> None:
    """A status wins over the class that carries it; a predicate's is a result."""

    class Answer(Exception):
        status_code = 429

    retry = settings.Retry(
        max_attempts=2,
        backoff=NOW,
        retry_on_status=("429",),
        retry_if_result=lambda result: result == "again",
    )
    policy = metered(service, retry=retry)
    policy.call(Script(Answer(), 1))
    policy.call(Script("again", 1))
    assert reading(policy).retries == {"status": 1, "result": 1}


def test_a_budget_that_runs_out(service: str, clock: FakeClock) -> None:
    """Refused before the call or stopped before a retry: each is one call."""
    policy = metered(
        service, retry=settings.Retry(max_attempts=3, retry_on=("OSError",))
    )
    with budget(0.01), pytest.raises(OSError):
        policy.call(_slow(clock))
    with budget(1.0):
        clock.advance(2.0)
        with pytest.raises(TimeoutError):
            policy.call(Script(1))
    found = reading(policy)
    assert found.budget_exhausted == 2
    assert found.rejected == {"budget_exhausted": 1}
    assert calls(policy) == {"failure": 1, "rejected": 1}


def _slow(clock: FakeClock) -> Any:
    def work() -> None:
        clock.advance(0.009)
        raise OSError

    return work


def test_a_full_bulkhead(service: str) -> None:
    """Who finds no slot is rejected with that reason."""
    policy = metered(
        service, bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=0.0)
    )

    def nested() -> None:
        with pytest.raises(BulkheadFullError):
            policy.call(Script(1))

    policy.call(nested)
    assert calls(policy) == {"success": 1, "rejected": 1}
    assert reading(policy).rejected == {"bulkhead_full": 1}


def test_an_awaitable_in_disguise_counts_once(service: str) -> None:
    """A plain function that returns a coroutine is one call with one attempt."""
    policy = metered(service, retry=RETRY)

    async def inner() -> int:
        return 5

    def disguised() -> Any:
        return inner()

    for _ in range(2):
        assert asyncio.run(_await(policy(disguised))) == 5
    found = reading(policy)
    assert (calls(policy), found.attempts) == ({"success": 2}, 2)


async def _await(function: Any) -> Any:
    return await function()


def test_functions_decorated_before_count_too(service: str) -> None:
    """Metrics that come later lose nothing; new functions are fast again."""
    policy = Policy(service=service, operation="early", retry=RETRY)
    early = policy(one)
    early()
    policy.call(one)
    enable(service, metrics="prometheus")
    for _ in range(3):
        early()
        policy.call(one)
    assert calls(policy) == {"success": 6}


def test_metrics_off_cost_no_line(service: str) -> None:
    """Without metrics the compiled wrapper has no trace of them."""
    off = Policy(service=service, operation="off", retry=RETRY)(one)
    on = metered(service, "on", retry=RETRY)(one)
    assert "_pc_meter" not in off.__code__.co_freevars
    assert "_pc_meter" in on.__code__.co_freevars


def test_a_redefined_policy_goes_on_counting(service: str) -> None:
    """Counters belong to names, so that reloading code never sets them back."""
    from policyctl.runtime.registry import registry

    metered(service).call(one)
    registry.forget(f"{service}.read")
    policy = metered(service)
    policy.call(one)
    policy(one)()
    assert calls(policy) == {"success": 3}


def test_no_count_is_lost_between_threads(service: str) -> None:
    """64 threads with 500 calls each, every third of which fails (C10)."""
    policy = metered(service)
    start = threading.Barrier(64, timeout=60)

    @policy
    def work(number: int) -> None:
        if number % 3 == 0:
            raise ValueError

    def run() -> None:
        start.wait()
        for number in range(500):
            try:
                work(number)
            except ValueError:
                continue

    threads = [threading.Thread(target=run, daemon=True) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls(policy) == {"success": 64 * 333, "failure": 64 * 167}
    assert reading(policy).attempts == sum(reading(policy).buckets) == 32_000


def test_tasks_and_loops_count_together(service: str) -> None:
    """Calls of several event loops end in the same counters."""
    policy = metered(service, attempt_timeout=settings.AttemptTimeout(total=5.0))

    @policy
    async def work() -> None:
        await asyncio.sleep(0)

    async def many() -> None:
        await asyncio.gather(*(work() for _ in range(50)))

    asyncio.run(many())
    asyncio.run(many())
    assert calls(policy) == {"success": 100}


def test_cancelled_calls(service: str) -> None:
    """A caller that goes away is an outcome of its own."""
    policy = metered(service, retry=RETRY)

    @policy
    async def work() -> None:
        await asyncio.sleep(60)

    async def cancel() -> None:
        for _ in range(2):
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel())
    assert calls(policy) == {"cancelled": 2}
    assert reading(policy).attempts == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_counts_from_zero(service: str) -> None:
    """After a fork each process shows its own calls, so that their sum is right."""
    policy = metered(service)
    work = policy(one)
    for _ in range(3):
        work()
    child = os.fork()
    if child == 0:
        work()
        work()
        os._exit(reading(policy).calls["success"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert calls(policy) == {"success": 3}


def test_counting_without_a_gil() -> None:
    """The method that stands in for the two statements counts the same."""
    meter = Meter()
    meter.success(0.25)
    meter.success(100.0)
    found = meter.read()
    assert found.buckets[BUCKETS.index("0.25")] == found.buckets[-1] == 1
    assert (found.seconds, found.calls["success"]) == (100.25, 2)


def test_services_without_metrics_have_no_meter(service: str) -> None:
    """Logs alone count nothing."""
    enable(service, logs="text")
    policy = Policy(service=service, operation="read")
    assert policy.meter is None
    assert policy.asleep
    policy.call(one)
    assert not policy.asleep
    assert service in SWITCH.awake


class Broken(Exception):
    """An error of a stream."""


def numbers(fail_after: int | None = None) -> Iterator[int]:
    """A stream of three numbers."""
    for number in range(3):
        if number == fail_after:
            raise Broken
        yield number


async def numbers_async(fail_after: int | None = None) -> AsyncIterator[int]:
    """The same, async."""
    for number in numbers(fail_after):
        yield number


@pytest.mark.parametrize("asynchronous", [False, True])
def test_streams(service: str, asynchronous: bool) -> None:
    """Exhausted, failed before and after the first item, closed early, answered."""
    retry = settings.Retry(max_attempts=2, backoff=NOW, retry_on=(Broken,))
    policy = metered(service, kind="stream", retry=retry)
    answering = metered(
        service,
        "answering",
        kind="stream",
        fallback=settings.FallbackValue(value=[7], fallback_on=(Broken,)),
    )

    def consume(
        policy: Policy, fail_after: int | None = None, most: int = 9
    ) -> list[int]:
        found: list[int] = []
        if not asynchronous:
            stream = policy(numbers)(fail_after)
            for number in stream:
                found.append(number)
                if len(found) == most:
                    stream.close()  # type: ignore[attr-defined]
            return found

        async def run() -> None:
            stream = policy(numbers_async)(fail_after)
            async for number in stream:
                found.append(number)
                if len(found) == most:
                    await stream.aclose()  # type: ignore[attr-defined]

        asyncio.run(run())
        return found

    assert consume(policy) == [0, 1, 2]
    for fail_after in (0, 1):
        with pytest.raises(Broken):
            consume(policy, fail_after)
    assert consume(policy, most=1) == [0]
    assert calls(policy) == {"success": 1, "failure": 2, "cancelled": 1}
    assert reading(policy).attempts == 1 + 2 + 1 + 1
    assert reading(policy).retries == {"error": 1}
    assert consume(answering, 0) == [7]
    assert calls(answering) == {"fallback": 1}


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL wrappers take the lock")
def test_counting_cannot_be_interrupted(service: str) -> None:
    """From reading a bucket to writing it threads do not switch, nor with the seconds."""
    function: Any = metered(service)(one)
    found = list(dis.get_instructions(function))
    ends = [index for index, i in enumerate(found) if i.opname == "STORE_SUBSCR"]
    starts = [
        index
        for index, i in enumerate(found)
        if i.opname == "BINARY_SUBSCR"
        or (i.opname == "BINARY_OP" and i.argrepr == "[]")
    ]
    seconds = [
        index
        for index, i in enumerate(found)
        if i.argval == "seconds" and i.opname in ("LOAD_ATTR", "STORE_ATTR")
    ]
    pairs = [
        *zip(starts, ends, strict=True),
        *zip(seconds[::2], seconds[1::2], strict=True),
    ]
    assert len(pairs) == 4  # the way out is written for plain and for judged results
    for start, end in pairs:
        names = [instruction.opname for instruction in found[start : end + 1]]
        assert start < end
        assert not [name for name in names if name.startswith(("CALL", "PRECALL"))]
        assert not [name for name in names if "JUMP_BACKWARD" in name]


def test_statistics_hold_the_counts(service: str) -> None:
    """The registry shows them in the process (C37); without metrics there are none."""
    policy = metered(service)
    policy.call(one)
    numbers = policy.statistics()
    assert numbers["calls"]["success"] == numbers["attempts"] == 1
    assert json.dumps(numbers)
    assert "calls" not in Policy(service="", operation="").statistics()


def test_hedges_are_attempts(service: str) -> None:
    """A call whose hedge wins is one success with two attempts."""
    hedge = settings.Hedge(delay=0.001, max_hedges=1, budget=1.0)
    policy = metered(service, idempotent=True, hedge=hedge)
    tries: list[int] = []

    @policy
    async def work() -> int:
        tries.append(1)
        if len(tries) == 1:
            await asyncio.sleep(60)
        return 1

    assert asyncio.run(work()) == 1
    assert calls(policy) == {"success": 1}
    assert reading(policy).attempts == 2
