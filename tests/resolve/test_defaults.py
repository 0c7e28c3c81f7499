"""The table of built-in defaults, key by key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.resolve.policy import (
    Backoff,
    Bulkhead,
    Fallback,
    Hedge,
    Idempotency,
    Jitter,
    Operation,
    RateLimit,
    Recovery,
    RetryAfter,
    RetryBudget,
    Window,
)
from policyctl.runtime.fallback_rules import DEFAULT_FALLBACK_ON

Resolve = Callable[..., Operation]
CONDITIONS = ("not_sent", "connection_lost", "timeout")


def test_an_absent_block_stays_off(operation: Resolve) -> None:
    """Defaults fill blocks that are present and add none."""
    found = operation("idempotent: true")
    blocks = (
        *(found.attempt_timeout, found.budget, found.retry, found.circuit_breaker),
        *(found.bulkhead, found.rate_limit, found.hedge, found.fallback),
        found.idempotency,
    )
    assert blocks == (None,) * 9
    assert (found.kind, found.transport, found.calls) == ("unary", None, ())


def test_attempt_timeout_and_budget(operation: Resolve) -> None:
    """Short forms get the defaults of the long ones."""
    found = operation("{attempt_timeout: 5s, budget: 15s}")
    assert found.attempt_timeout is not None
    assert found.budget is not None
    assert (found.attempt_timeout.total, found.attempt_timeout.sync) == (5.0, "thread")
    budget = found.budget
    assert (budget.total, budget.inherit, budget.reserve) == (15.0, True, 0.0)
    assert (budget.minimum, budget.header) == (0.0, None)


def test_a_client_that_bounds_itself_is_cooperative(operation: Resolve) -> None:
    """With argument, sync defaults to cooperative."""
    found = operation("attempt_timeout: {total: 1s, argument: timeout}")
    assert found.attempt_timeout is not None
    assert found.attempt_timeout.sync == "cooperative"


def test_budget_header_is_in_seconds(operation: Resolve) -> None:
    """A header without a unit carries decimal seconds."""
    found = operation("budget: {total: 1s, header: {name: X-Timeout-Budget}}")
    assert found.budget is not None
    assert found.budget.header is not None
    assert found.budget.header.unit == "s"


def test_retry_of_an_idempotent_http_call(operation: Resolve) -> None:
    """Three attempts, full jitter, all conditions, 429 and 502 to 504, and a hint."""
    retry = operation("{transport: http, idempotent: true, retry: {}}").retry
    assert retry is not None
    assert retry.max_attempts == 3
    assert retry.backoff == Backoff(0.1, 2.0, 5.0, Jitter("full"))
    assert retry.retry_on == CONDITIONS
    assert retry.retry_on_status == ("429", "502-504")
    assert retry.retry_after == RetryAfter(10.0)
    assert retry.budget is None
    assert (retry.never_retry_on, retry.never_retry_on_status) == ((), ())


@pytest.mark.parametrize("idempotent", ["idempotent: false, ", ""])
def test_retry_of_what_may_not_be_repeated(operation: Resolve, idempotent: str) -> None:
    """Unknown counts as false: only what never reached the callee is retried."""
    retry = operation(f"{{{idempotent}transport: http, retry: {{}}}}").retry
    assert retry is not None
    assert (retry.retry_on, retry.retry_on_status) == (("not_sent",), ())


@pytest.mark.parametrize(
    ("transport", "statuses", "hint"),
    [
        ("grpc", (), RetryAfter(10.0)),
        ("sql", (), None),
        ("redis", (), None),
    ],
)
def test_retry_over_other_transports(
    operation: Resolve,
    transport: str,
    statuses: tuple[str, ...],
    hint: RetryAfter | None,
) -> None:
    """Statuses have defaults for http alone, hints for http and grpc."""
    found = operation(f"{{transport: {transport}, idempotent: true, retry: {{}}}}")
    assert found.retry is not None
    assert found.retry.retry_on == CONDITIONS
    assert (found.retry.retry_on_status, found.retry.retry_after) == (statuses, hint)


def test_local_retry_takes_what_is_given(operation: Resolve) -> None:
    """A local call has no default condition beside those that are stated."""
    retry = operation("{transport: local, retry: {retry_if: 'a.b:c'}}").retry
    assert retry is not None
    assert (retry.retry_on, retry.retry_if) == ((), "a.b:c")


@pytest.mark.parametrize(
    ("budget", "longest"), [("7s", 3.5), ("20s", 10.0), ("1m", 10.0)]
)
def test_retry_after_is_half_the_budget_or_ten_seconds(
    operation: Resolve, budget: str, longest: float
) -> None:
    """The smaller of 10 s and half the budget is the longest hint."""
    found = operation(f"{{transport: http, budget: {budget}, retry: {{}}}}")
    assert found.retry is not None
    assert found.retry.retry_after == RetryAfter(longest)


def test_retry_after_can_be_off_or_unbounded(operation: Resolve) -> None:
    """Off disables the hint; off for its max leaves the budget as the only bound."""
    off = operation("{transport: http, retry: {retry_after: off}}").retry
    unbounded = operation("{transport: http, retry: {retry_after: {max: off}}}").retry
    assert off is not None
    assert unbounded is not None
    assert off.retry_after is None
    assert unbounded.retry_after == RetryAfter(None)


def test_retry_budget(operation: Resolve) -> None:
    """A present retry budget is 10 %, refilled by success, 6/m, burst 10."""
    retry = operation("{transport: http, retry: {budget: {}}}").retry
    assert retry is not None
    assert retry.budget == RetryBudget(0.1, "success", 0.1, 10)


def test_circuit_breaker_over_http(operation: Resolve) -> None:
    """Five consecutive failures, 30 s, one probe, two good ones, faults of the server."""
    breaker = operation("{transport: http, circuit_breaker: {}}").circuit_breaker
    assert breaker is not None
    assert (breaker.failure_threshold, breaker.failure_ratio) == (5, None)
    assert breaker.slow_call is None
    assert (breaker.window, breaker.minimum_calls) == (Window(seconds=30.0), 20)
    assert breaker.recovery_timeout == Recovery(30.0, 1.0, None, 0.2)
    assert (breaker.half_open_max_calls, breaker.half_open_max_wait) == (1, 60.0)
    assert breaker.success_threshold == 2
    assert (breaker.record_on, breaker.ignore_on) == (CONDITIONS, ())
    assert breaker.record_on_status == ("408", "429", "500-599")
    assert breaker.ignore_on_status == ("400-407", "409-428", "430-499")
    assert (breaker.scope, breaker.max_keys) == ("operation", 1000)
    assert (breaker.store, breaker.mode) == ("memory", "enforce")


@pytest.mark.parametrize("transport", ["", "transport: local, "])
def test_circuit_breaker_of_a_local_call(operation: Resolve, transport: str) -> None:
    """Without a transport every Exception is a failure and no status is looked at."""
    breaker = operation(f"{{{transport}circuit_breaker: {{}}}}").circuit_breaker
    assert breaker is not None
    assert breaker.record_on == ("Exception",)
    assert (breaker.record_on_status, breaker.ignore_on_status) == ((), ())


@pytest.mark.parametrize(
    "rule",
    [
        "failure_ratio: 50%",
        "slow_call: {after: 2s, ratio: 80%}",
        "failure_threshold: off, failure_ratio: 50%",
    ],
)
def test_a_given_trip_rule_replaces_the_default(operation: Resolve, rule: str) -> None:
    """failure_threshold 5 is the default only where no rule is given."""
    breaker = operation(f"circuit_breaker: {{{rule}}}").circuit_breaker
    assert breaker is not None
    assert breaker.failure_threshold is None


@pytest.mark.parametrize(
    ("timeout", "window"), [("15s", 30.0), ("15001ms", 30.002), ("60s", 120.0)]
)
def test_window_is_twice_the_attempt_timeout(
    operation: Resolve, timeout: str, window: float
) -> None:
    """The larger of 30 s and twice the attempt timeout."""
    found = operation(f"{{attempt_timeout: {timeout}, circuit_breaker: {{}}}}")
    assert found.circuit_breaker is not None
    assert found.circuit_breaker.window.seconds == pytest.approx(window)


@pytest.mark.parametrize(("calls", "minimum"), [(10, 10), (20, 20), (100, 20)])
def test_minimum_calls_fits_a_count_window(
    operation: Resolve, calls: int, minimum: int
) -> None:
    """The smaller of 20 and the window."""
    found = operation(f"circuit_breaker: {{window: {calls} calls}}").circuit_breaker
    assert found is not None
    assert (found.window, found.minimum_calls) == (Window(calls=calls), minimum)


def test_stated_statuses_leave_the_default_of_the_other_list(
    operation: Resolve,
) -> None:
    """A status that one list names is taken out of the other list's default."""
    found = operation(
        "{transport: http, circuit_breaker: {record_on_status: [404, '500-599']}}"
    ).circuit_breaker
    assert found is not None
    assert found.ignore_on_status == ("400-403", "405-407", "409-428", "430-499")
    found = operation(
        "{transport: http, circuit_breaker: {ignore_on_status: [429, 501]}}"
    ).circuit_breaker
    assert found is not None
    assert found.record_on_status == ("408", "500", "502-599")


def test_lists_can_be_off(operation: Resolve) -> None:
    """A list that is off is empty; its default does not come back."""
    found = operation(
        "{transport: http, circuit_breaker: {ignore_on_status: off, record_on_status: off}}"
    ).circuit_breaker
    assert found is not None
    assert (found.record_on_status, found.ignore_on_status) == ((), ())


def test_bulkhead(operation: Resolve) -> None:
    """As many wait as run, for no time."""
    found = operation("bulkhead: {max_concurrent: 7}").bulkhead
    assert found == Bulkhead(7, 7, 0.0, "operation", 1000, "enforce")


def test_numbers_that_are_off_are_none_of_it(operation: Resolve) -> None:
    """Off on a queue, a wait, a jitter or a growth is none; on others the default."""
    found = operation("""
        transport: http
        budget: {total: 5s, reserve: off, minimum: off}
        bulkhead: {max_concurrent: 7, max_queue: off, max_wait: off, max_keys: off}
        retry: {backoff: {multiplier: off, max: off, jitter: off}}
        circuit_breaker: {recovery_timeout: {initial: off, jitter: off, max: off}}
    """)
    assert found.bulkhead == Bulkhead(7, 0, 0.0, "operation", 1000, "enforce")
    assert found.retry is not None
    assert found.retry.backoff == Backoff(0.1, 1.0, None, Jitter("none"))
    assert found.circuit_breaker is not None
    assert found.circuit_breaker.recovery_timeout == Recovery(30.0, 1.0, None, 0.0)


def test_attempts_that_are_off_are_no_retry(operation: Resolve) -> None:
    """Nobody who switches attempts off wants the three of the default."""
    found = operation("{transport: http, retry: {max_attempts: off}}").retry
    assert found is not None
    assert found.max_attempts == 1


@pytest.mark.parametrize(("rate", "burst"), [("100/s", 100), ("2.5/s", 3), ("6/m", 1)])
def test_rate_limit(operation: Resolve, rate: str, burst: int) -> None:
    """The burst is one second's worth, at least one call."""
    found = operation(f"rate_limit: {{rate: {rate}}}").rate_limit
    assert found is not None
    assert found == RateLimit(found.rate, burst, 0.0, "memory", "enforce")


def test_hedge(operation: Resolve) -> None:
    """One hedge, for 2 % of calls."""
    found = operation("{idempotent: true, hedge: {delay: 200ms}}").hedge
    assert found == Hedge(0.2, 1, 0.02)


@pytest.mark.parametrize("settings", ["", "transport: http, ", "circuit_breaker: {}, "])
def test_fallback_on(operation: Resolve, settings: str) -> None:
    """What the breaker records, time-outs, and every rejection, as in the runtime."""
    found = operation(f"{{{settings}fallback: {{value: null}}}}").fallback
    assert found == Fallback("value", None, None, None, DEFAULT_FALLBACK_ON)


def test_a_fallback_value_may_be_the_word_off(operation: Resolve) -> None:
    """The value is data: nothing in it is read as a setting."""
    found = operation("fallback: {value: 'off'}").fallback
    assert found is not None
    assert (found.kind, found.value) == ("value", "off")


def test_idempotency_is_in_progress_for_the_worst_case(operation: Resolve) -> None:
    """3 x 2 s and 0.1 s + 0.2 s of waits; memory, a day, wait, JSON."""
    found = operation("""
        transport: sql
        idempotent: true
        attempt_timeout: 2s
        retry: {}
        idempotency: {key: [order.id]}
    """).idempotency
    assert found is not None
    assert found.in_progress == pytest.approx(6.3)
    assert found == Idempotency(
        key=("order.id",),
        key_call=None,
        forward=None,
        ttl=86400.0,
        in_progress=found.in_progress,
        on_conflict="wait",
        store="memory",
        path=None,
        codec="json",
    )


def test_in_progress_of_an_unbounded_call_is_open(operation: Resolve) -> None:
    """Nothing bounds the call, so nothing can be derived from it."""
    found = operation("idempotency: {key: {call: 'a.b:c'}}").idempotency
    assert found is not None
    assert (found.in_progress, found.key, found.key_call) == (None, (), "a.b:c")


def test_unlimited_attempts_of_a_control_loop(operation: Resolve) -> None:
    """Unlimited is None."""
    found = operation(
        "{transport: http, retry: {max_attempts: unlimited}}",
        service="class: control_loop",
    ).retry
    assert found is not None
    assert found.max_attempts is None
