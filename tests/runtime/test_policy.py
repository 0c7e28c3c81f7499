"""C1 to C3, C13 to C16, C25, C26, C30: whole calls, sync and async alike."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.budget import budget, detached_budget, remaining_budget
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    BulkheadFullError,
    CircuitOpenError,
    PolicyConfigError,
    PolicyError,
)
from policyctl.runtime.policy import Policy
from policyctl.runtime.run_sync import BlockingCallWarning
from policyctl.testing import fake_clock, no_sleep, record_events

NOW = settings.Backoff(initial=0.0, max=0.0)
RETRY = settings.Retry(max_attempts=3, backoff=NOW, retry_on=("ConnectionError",))
STEADY = settings.Backoff(initial=1.0, multiplier=2.0, max=60.0, jitter="none")


def _run_plain(policy: Policy, fn: Callable[..., Any], *args: Any) -> Any:
    return policy(fn)(*args)


def _run_task(policy: Policy, fn: Callable[..., Any], *args: Any) -> Any:
    async def body(*inner: Any) -> Any:
        return fn(*inner)

    return asyncio.run(policy(body)(*args))


def _call_plain(policy: Policy, fn: Callable[..., Any], *args: Any) -> Any:
    return policy.call(fn, *args)


def _call_task(policy: Policy, fn: Callable[..., Any], *args: Any) -> Any:
    async def body(*inner: Any) -> Any:
        return fn(*inner)

    async def main() -> Any:
        return await policy.call(body, *args)

    return asyncio.run(main())


Runner = Callable[..., Any]
both = pytest.mark.parametrize("run", [_run_plain, _run_task, _call_plain, _call_task])


class Script:
    """A function that does what a list says: an exception is raised, else returned."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        step = self.steps[min(self.calls, len(self.steps) - 1)]
        self.calls += 1
        if isinstance(step, BaseException) or (
            isinstance(step, type) and issubclass(step, BaseException)
        ):
            raise step
        return step


@both
def test_success_passes_through(run: Runner) -> None:
    """The result comes out, and nothing stays counted."""
    policy = Policy(
        retry=RETRY,
        circuit_breaker=settings.CircuitBreaker(),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        budget=settings.Budget(total=9.0),
    )
    assert run(policy, Script("value")) == "value"
    assert policy.gate.count == 0
    assert remaining_budget() is None


@both
def test_retries_until_success(run: Runner) -> None:
    """C13: two failures, then success: three entries."""
    script = Script(ConnectionError, ConnectionError, 7)
    policy = Policy(retry=RETRY, circuit_breaker=settings.CircuitBreaker())
    assert run(policy, script) == 7
    assert script.calls == 3
    assert policy.circuit_breaker.failures == 0


@both
def test_last_real_error_with_a_note(run: Runner) -> None:
    """C3: the last exception itself comes out; a note says how many and why."""
    errors = [ConnectionError(str(i)) for i in range(3)]
    with pytest.raises(ConnectionError) as caught:
        run(Policy(retry=RETRY), Script(*errors))
    assert caught.value is errors[2]
    (note,) = caught.value.__notes__
    assert "3 attempts in 0.0" in note
    assert note.endswith("stopped: max_attempts is 3")
    assert not hasattr(errors[0], "__notes__")


@both
def test_other_errors_are_not_retried(run: Runner) -> None:
    """C15: what retry_on does not name passes at once, without a note."""
    script = Script(ValueError("x"))
    with pytest.raises(ValueError) as caught:
        run(Policy(retry=RETRY), script)
    assert script.calls == 1
    assert not hasattr(caught.value, "__notes__")


@both
def test_delays_follow_the_backoff(run: Runner) -> None:
    """C14: 1 s and 2 s are slept, by the injected clock."""
    retry = settings.Retry(max_attempts=3, backoff=STEADY, retry_on=("OSError",))
    with fake_clock() as clock, pytest.raises(OSError):
        run(Policy(retry=retry), Script(OSError))
    assert clock.slept == [1.0, 2.0]


@both
def test_no_sleep_below_the_budgets_minimum(run: Runner) -> None:
    """C16: with 10 s and a minimum of 2.5 s, the sleep of 8 s is not started."""
    retry = settings.Retry(max_attempts=9, backoff=STEADY, retry_on=("OSError",))
    policy = Policy(retry=retry, budget=settings.Budget(total=10.0, minimum=2.5))
    script = Script(OSError)
    with fake_clock() as clock, pytest.raises(OSError) as caught:
        run(policy, script)
    assert clock.slept == [1.0, 2.0, 4.0]
    assert script.calls == 4
    assert "3.000 s of the budget left" in caught.value.__notes__[0]


@both
def test_below_minimum_nothing_is_called(run: Runner) -> None:
    """C26: with 1 s left of 2 s wanted, BudgetExhaustedError says by how much."""
    policy = Policy(budget=settings.Budget(total=9.0, minimum=2.0))
    script = Script(1)
    with fake_clock(), budget(1.0), pytest.raises(BudgetExhaustedError) as caught:
        run(policy, script)
    assert script.calls == 0
    assert (caught.value.remaining, caught.value.minimum) == (1.0, 2.0)


@both
def test_budget_is_visible_and_only_shortens(run: Runner) -> None:
    """C25: the call's own budget, the caller's if shorter, afresh where detached."""
    own = Policy(budget=settings.Budget(total=8.0))
    afresh = Policy(budget=settings.Budget(total=8.0, inherit=False))
    with fake_clock():
        assert run(own, remaining_budget) == 8.0
        with budget(5.0):
            assert run(own, remaining_budget) == 5.0
            assert run(afresh, remaining_budget) == 8.0
            with detached_budget():
                assert run(own, remaining_budget) == 8.0
            assert remaining_budget() == 5.0
        assert remaining_budget() is None


@both
def test_open_circuit_rejects_without_retry(run: Runner) -> None:
    """TD-17, C15: one CircuitOpenError, no sleep, no entry."""
    retry = settings.Retry(max_attempts=3, backoff=STEADY, retry_on=("OSError",))
    policy = Policy(
        retry=retry, circuit_breaker=settings.CircuitBreaker(failure_threshold=1)
    )
    with fake_clock() as clock:
        with pytest.raises(OSError):
            policy.call(Script(OSError))
        assert clock.slept == [1.0]
        script = Script(1)
        with pytest.raises(CircuitOpenError) as caught:
            run(policy, script)
    assert script.calls == 0
    assert clock.slept == [1.0]
    assert 20 < caught.value.retry_after < 36


@both
def test_rejected_later_attempt_keeps_the_cause(run: Runner) -> None:
    """C3: the breaker opens on attempt 2; the real error comes out and says so."""
    policy = Policy(
        retry=RETRY, circuit_breaker=settings.CircuitBreaker(failure_threshold=2)
    )
    with pytest.raises(ConnectionError) as caught:
        run(policy, Script(ConnectionError("real")))
    assert "2 attempts" in caught.value.__notes__[0]
    assert "circuit open" in caught.value.__notes__[0]


@both
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]
)
def test_base_exceptions_pass_and_are_neutral(
    run: Runner, error: type[BaseException]
) -> None:
    """C2, RT-11: one entry, no fallback, nothing recorded, nothing held."""
    policy = Policy(
        retry=settings.Retry(max_attempts=3, backoff=NOW, retry_on=("BaseException",)),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1, record_on=("BaseException",)
        ),
        bulkhead=settings.Bulkhead(max_concurrent=1),
        fallback=settings.FallbackValue(value=1, fallback_on=("BaseException",)),
    )
    script = Script(error)
    with pytest.raises(error):
        run(policy, script)
    assert script.calls == 1
    assert policy.circuit_breaker.state == "closed"
    assert policy.gate.count == 0


@both
def test_fallback_runs_once_after_everything(run: Runner) -> None:
    """TD-16: three entries, then one fallback with the same arguments."""
    answers: list[Any] = []

    def answer(*args: Any) -> str:
        answers.append(args)
        return "fallback"

    policy = Policy(retry=RETRY, fallback=settings.FallbackCall(call=answer))
    script = Script(ConnectionError)
    assert run(policy, script, "a") == "fallback"
    assert (script.calls, answers) == (3, [("a",)])
    assert run(policy, Script(ConnectionError, ConnectionError, 5)) == 5
    assert len(answers) == 1


@both
def test_fallback_answers_when_the_circuit_opens_during_the_call(run: Runner) -> None:
    """C30: `circuit_open` covers the rejection that ended the retries."""
    policy = Policy(
        retry=RETRY,
        circuit_breaker=settings.CircuitBreaker(failure_threshold=2),
        fallback=settings.FallbackValue(value="no", fallback_on=("circuit_open",)),
    )
    assert run(policy, Script(ConnectionError)) == "no"
    assert run(policy, Script(1)) == "no"


@both
def test_static_value_is_copied_for_each_call(run: Runner) -> None:
    """C30: what one caller does to the value is not seen by the next."""
    policy = Policy(fallback=settings.FallbackValue(value={"items": []}))
    first = run(policy, Script(OSError))
    first["items"].append(1)
    assert run(policy, Script(OSError)) == {"items": []}


@both
def test_failing_fallback_shows_both(run: Runner) -> None:
    """C30: the fallback's own error comes out with the first as its context."""

    def broken(*args: Any) -> None:
        raise LookupError("second")

    policy = Policy(fallback=settings.FallbackCall(call=broken))
    with pytest.raises(LookupError, match="second") as caught:
        run(policy, Script(OSError("first")))
    assert str(caught.value.__context__) == "first"


async def test_async_fallback_is_awaited() -> None:
    """C30: a coroutine function may answer for a coroutine function."""

    async def answer() -> str:
        await asyncio.sleep(0)
        return "fallback"

    async def fail() -> str:
        raise OSError

    policy = Policy(fallback=settings.FallbackCall(call=answer))
    assert await policy.call(fail) == "fallback"


@both
def test_results_can_be_failures(run: Runner) -> None:
    """CB-15: a returned status counts for breaker and retry like a raised one."""

    class Response:
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code

    policy = Policy(
        transport="http",
        retry=settings.Retry(
            max_attempts=2, backoff=NOW, retry_on=(), retry_on_status=("502-504",)
        ),
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=4,
            record_on_status=("500-599",),
            ignore_on_status=("400-499",),
        ),
    )
    script = Script(Response(503), Response(200))
    assert run(policy, script).status_code == 200
    assert script.calls == 2
    script = Script(Response(503))
    assert run(policy, script).status_code == 503
    assert script.calls == 2
    assert policy.circuit_breaker.failures == 2
    run(policy, Script(Response(401)))
    assert policy.circuit_breaker.failures == 2
    run(policy, Script(Response(500)))
    run(policy, Script(Response(500)))
    assert policy.circuit_breaker.state == "open"


@both
def test_window_counts_fast_successes(run: Runner) -> None:
    """C4: 3 of 6 fail, the other 3 are counted too: 50 % of 6 opens at the sixth."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_ratio=0.5, window=settings.Window(calls=10), minimum_calls=6
        )
    )
    for step in (1, OSError, 1, OSError, 1):
        try:
            run(policy, Script(step))
        except OSError:
            continue
    assert policy.circuit_breaker.state == "closed"
    with pytest.raises(OSError):
        run(policy, Script(OSError))
    assert policy.circuit_breaker.state == "open"


@both
def test_nested_policys_errors_are_failures(run: Runner) -> None:
    """C2: another policy's rejection is a failure here and is not retried."""
    inner = Policy(
        service="inner",
        operation="open",
        circuit_breaker=settings.CircuitBreaker(mode="forced_open"),
    )
    outer = Policy(
        retry=settings.Retry(max_attempts=3, backoff=NOW, retry_on=("Exception",)),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=9),
    )
    with pytest.raises(CircuitOpenError):
        run(outer, lambda: inner.call(print))
    assert outer.circuit_breaker.failures == 1


@both
def test_same_exception_object_does_not_grow(run: Runner) -> None:
    """RT-17: one instance raised by each attempt keeps one traceback and one note."""
    error = ConnectionError("same")
    lengths = set()
    policy = Policy(
        retry=settings.Retry(max_attempts=20, backoff=NOW, retry_on=("OSError",))
    )
    for _ in range(3):
        error.__traceback__ = None
        with pytest.raises(ConnectionError) as caught:
            run(policy, Script(error))
        depth, traceback = 0, caught.value.__traceback__
        while traceback is not None:
            depth, traceback = depth + 1, traceback.tb_next
        lengths.add(depth)
        assert len(caught.value.__notes__) == 1
    assert len(lengths) == 1
    assert max(lengths) < 15


def test_rejections_are_fresh_and_leave_nothing() -> None:
    """RT-17: 2,000 rejections make no garbage cycles and carry short tracebacks."""
    policy = Policy(circuit_breaker=settings.CircuitBreaker(failure_threshold=1))
    guarded = policy(Script(OSError))
    with pytest.raises(OSError):
        guarded()
    gc.collect()
    gc.disable()
    try:
        for _ in range(2000):
            try:
                guarded()
            except CircuitOpenError as error:
                traceback = error.__traceback__
                assert traceback is not None
        assert gc.collect() < 50
    finally:
        gc.enable()


@both
def test_failed_calls_keep_no_arguments(run: Runner) -> None:
    """Memory: after a failed call has been handled, its arguments are free at once."""

    class Big:
        pass

    def fail(big: Any) -> None:
        raise ConnectionError

    policy = Policy(
        retry=RETRY,
        circuit_breaker=settings.CircuitBreaker(failure_threshold=50),
        attempt_timeout=(
            settings.AttemptTimeout(total=5.0) if "task" in run.__name__ else None
        ),
    )
    gc.collect()
    gc.disable()
    try:
        big = Big()
        seen = weakref.ref(big)
        with contextlib.suppress(ConnectionError):
            run(policy, fail, big)
        del big
        if "task" in run.__name__:
            gc.collect()  # asyncio.run itself leaves cycles
        assert seen() is None
    finally:
        gc.enable()


def test_concurrent_calls_count_their_own_attempts() -> None:
    """RT-13: 50 tasks that fail make exactly 150 entries, each call sees 1, 2, 3."""
    policy = Policy(retry=RETRY)
    entries: dict[int, int] = {}

    async def fail(number: int) -> None:
        entries[number] = entries.get(number, 0) + 1
        await asyncio.sleep(0)
        raise ConnectionError

    async def main() -> None:
        guarded = policy(fail)
        await asyncio.gather(*(guarded(i) for i in range(50)), return_exceptions=True)

    asyncio.run(main())
    assert set(entries.values()) == {3}


def test_threads_lose_no_failure() -> None:
    """C10, CB-17: 64 threads x 500 failing calls are 32,000 failures."""
    policy = Policy(circuit_breaker=settings.CircuitBreaker(failure_threshold=10**9))
    guarded = policy(Script(OSError))

    def work() -> None:
        for _ in range(500):
            try:
                guarded()
            except OSError:
                continue

    threads = [threading.Thread(target=work, daemon=True) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert policy.circuit_breaker.failures == 32_000


def test_half_open_admits_exactly_its_permits() -> None:
    """CB-02: of 32 threads at the end of the break exactly two run."""
    policy = Policy(
        circuit_breaker=settings.CircuitBreaker(
            failure_threshold=1, half_open_max_calls=2
        )
    )
    with fake_clock() as clock:
        for _ in range(10):
            with pytest.raises(OSError):
                policy.call(Script(OSError))
            clock.advance(60.0)
            assert _rush(policy, 32) == (2, 30)
            assert policy.circuit_breaker.state == "closed"


def _rush(policy: Policy, count: int) -> tuple[int, int]:
    """Call from that many threads in one instant; how many ran and were refused."""
    entered: list[int] = []
    refused: list[int] = []
    barrier, hold = threading.Barrier(count + 1, timeout=60), threading.Event()

    def probe() -> None:
        entered.append(1)
        hold.wait(60)

    def caller() -> None:
        barrier.wait()
        try:
            policy.call(probe)
        except CircuitOpenError:
            refused.append(1)

    threads = [threading.Thread(target=caller, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    while len(refused) + len(entered) < count:
        threading.Event().wait(0.001)
    hold.set()
    for thread in threads:
        thread.join()
    return len(entered), len(refused)


def test_sync_retry_in_a_running_loop_warns() -> None:
    """RT-19: a blocking sleep in a thread that runs a loop is told."""
    policy = Policy(
        retry=settings.Retry(max_attempts=2, backoff=STEADY, retry_on=("OSError",))
    )

    async def main() -> None:
        with pytest.warns(BlockingCallWarning, match="runs an event loop"):
            with pytest.raises(OSError):
                policy.call(Script(OSError))

    with no_sleep():
        asyncio.run(main())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(OSError):
                policy.call(Script(OSError))


def test_events_come_outside_locks() -> None:
    """C9: a listener may call the breaker again, be slow, or raise."""
    policy = Policy(
        service="events",
        operation="test",
        retry=RETRY,
        circuit_breaker=settings.CircuitBreaker(failure_threshold=2),
    )
    with record_events() as recorder:
        from policyctl.runtime.events import EVENTS

        def nosy(event: Any) -> None:
            assert policy.circuit_breaker.state in ("closed", "open")
            raise RuntimeError("broken listener")

        stop = EVENTS.listen(nosy)
        try:
            with pytest.raises(ConnectionError):
                policy.call(Script(ConnectionError))
        finally:
            stop()
        kinds = recorder.kinds
    assert kinds == [
        "attempt_failed",
        "retry",
        "transition",
        "attempt_failed",
        "retry",
        "rejected",
        "stopped",
        "failed",
    ]


def test_parts_that_are_not_declared_say_so() -> None:
    """C37: a view of an absent block raises with the block's name."""
    policy = Policy()
    for name in ("circuit_breaker", "bulkhead", "retry", "fallback"):
        with pytest.raises(PolicyConfigError, match=f"{name}: this policy"):
            getattr(policy, name)


def test_unserved_settings_are_refused() -> None:
    """A setting that has no engine is an error at construction, never ignored."""
    with pytest.raises(PolicyConfigError, match=r"circuit_breaker\.store"):
        Policy(circuit_breaker=settings.CircuitBreaker(store="redis"))
    with pytest.raises(PolicyConfigError, match=r"rate_limit\.store"):
        Policy(rate_limit=settings.RateLimit(rate=1.0, store="redis"))


def test_same_name_is_one_live_object() -> None:
    """CB-21, CB-22: equal settings give the object that is there; others an error."""

    def make(threshold: int) -> Policy:
        return Policy(
            service="shared",
            operation="one",
            circuit_breaker=settings.CircuitBreaker(failure_threshold=threshold),
        )

    first = make(1)
    with pytest.raises(OSError):
        first.call(Script(OSError))
    assert make(1) is first
    assert make(1).circuit_breaker.state == "open"
    with pytest.raises(PolicyConfigError, match="circuit_breaker"):
        make(2)


@both
def test_idempotency_key_gives_one_effect(run: Runner) -> None:
    """C29: the second call with the key gets the first result and calls nothing."""
    calls: list[Any] = []

    def charge(order: str) -> dict[str, str]:
        calls.append(order)
        if len(calls) < 3:
            raise ConnectionError
        return {"order": order}

    policy = Policy(
        retry=RETRY,
        fallback=settings.FallbackValue(value="never"),
        idempotency=settings.Idempotency(key_call=lambda *args: args[0]),
    )
    assert run(policy, charge, "a") == run(policy, charge, "a") == {"order": "a"}
    assert calls == ["a", "a", "a"]
    run(policy, charge, "b")
    assert calls[3:] == ["b"]


@both
def test_failed_call_frees_its_key(run: Runner) -> None:
    """C29, C30: an error frees the key, a fallback's value is never stored."""
    policy = Policy(
        fallback=settings.FallbackValue(value="fallback"),
        idempotency=settings.Idempotency(key_call=lambda *args: args[0]),
    )
    script = Script(OSError, "real")
    assert run(policy, script, "a") == "fallback"
    assert run(policy, script, "a") == "real"
    with pytest.raises(KeyboardInterrupt):
        run(policy, Script(KeyboardInterrupt), "b")
    assert run(policy, Script(1), "b") == 1


def test_errors_survive_pickling_and_copying() -> None:
    """C3: an error of ours from a call is the same after a round trip."""
    policy = Policy(
        service="pickled",
        operation="one",
        circuit_breaker=settings.CircuitBreaker(mode="forced_open"),
    )
    with pytest.raises(PolicyError) as caught:
        policy.call(print)
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(again) == str(caught.value)
        assert again.service == "pickled"


def test_full_bulkhead_is_no_failure_of_the_callee() -> None:
    """C2: our own rejection leaves the breaker's count alone."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=1),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=5),
    )

    def nested() -> None:
        with pytest.raises(BulkheadFullError):
            policy.call(print)

    policy.call(nested)
    assert policy.circuit_breaker.failures == 0
    assert policy.gate.count == 0


def test_timeouts_are_retried_as_timeouts() -> None:
    """C2, C15: our own AttemptTimeoutError is what `timeout` means."""
    policy = Policy(
        attempt_timeout=settings.AttemptTimeout(total=0.01),
        retry=settings.Retry(max_attempts=2, backoff=NOW, retry_on=("timeout",)),
        circuit_breaker=settings.CircuitBreaker(record_on=("ValueError",)),
    )
    hold = threading.Event()
    with pytest.raises(AttemptTimeoutError):
        policy.call(hold.wait, 5)
    hold.set()
    assert policy.circuit_breaker.failures == 2


def test_nothing_is_made_at_import() -> None:
    """C41: a policy costs no asyncio, thread or tenacity until it needs them."""
    import subprocess

    code = (
        "import sys\n"
        "from policyctl.runtime.policy import Policy\n"
        "from policyctl.runtime import settings as s\n"
        "p = Policy(service='a', operation='b', bulkhead=s.Bulkhead(max_concurrent=1),"
        " circuit_breaker=s.CircuitBreaker(), attempt_timeout=s.AttemptTimeout(total=1.0))\n"
        "@p\n"
        "async def f(): return 1\n"
        "@p\n"
        "def g(): return 1\n"
        "print([m for m in ('asyncio', 'tenacity', 'threading', 'inspect')"
        " if m in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
