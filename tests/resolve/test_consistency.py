"""Settings that contradict each other: each error with both places."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.codes import CODES
from policyctl.resolve.policy import Operation
from policyctl.resolve.project import Loaded

Load = Callable[..., Loaded]
Only = Callable[..., Diagnostic]

# Settings of one operation; the code; the value at the error's place; the value at the
# second place; the message; the help. Places are given by what stands there.
CASES = {
    "backoff": (
        "{transport: http, retry: {backoff: {initial: 10s, max: 5s}}}",
        ("VA110", "10s", "5s"),
        "initial 10s is over max 5s",
        "lower initial to at most 5s, or raise max",
    ),
    "backoff over the default": (
        "{transport: http, retry: {backoff: {initial: 10s}}}",
        ("VA110", "10s", "backoff"),
        "initial 10s is over max 5s (the built-in default)",
        "lower initial to at most 5s, or raise max",
    ),
    "recovery": (
        "circuit_breaker: {recovery_timeout: {initial: 1m, max: 30s}}",
        ("VA110", "1m", "30s"),
        "initial 1m is over max 30s",
        "lower initial to at most 30s, or raise max",
    ),
    "minimum_calls": (
        "circuit_breaker: {failure_ratio: 50%, window: 5 calls, minimum_calls: 10}",
        ("VA111", "10", "5 calls"),
        "minimum_calls 10 is over the window of 5 calls, so the ratio can never be judged",
        "lower minimum_calls to at most 5, or widen the window",
    ),
    "hedge with retry": (
        "{transport: http, idempotent: true, hedge: {delay: 1s}, retry: {max_attempts: 2}}",
        ("VA112", "hedge", "retry"),
        "hedge and retry cannot be combined: both start further attempts",
        "keep one of them and write off for the other",
    ),
    "hedge of what may not be repeated": (
        "{idempotent: false, hedge: {delay: 1s}}",
        ("VA113", "hedge", "false"),
        "hedge starts a call twice, but idempotent is false",
        "add idempotent: true if calling twice does no harm, else remove hedge",
    ),
    "budget minimum": (
        "budget: {total: 1s, minimum: 2s}",
        ("VA114", "2s", "1s"),
        "minimum 2s is over total 1s",
        "lower minimum to less than 1s, or raise total",
    ),
    "budget reserve": (
        "budget: {total: 1s, reserve: 1s}",
        ("VA114", "1s}", "1s,"),
        "reserve 1s leaves nothing of total 1s",
        "lower reserve to less than 1s, or raise total",
    ),
    "connect": (
        "attempt_timeout: {total: 1s, connect: 2s}",
        ("VA115", "2s", "1s"),
        "connect 2s is over total 1s",
        "lower connect to at most 1s, or raise total",
    ),
    "first item": (
        "{kind: stream, attempt_timeout: {total: 1s, first_item: 2s}}",
        ("VA115", "2s", "1s"),
        "first_item 2s is over total 1s",
        "lower first_item to at most 1s, or raise total",
    ),
    "stream with hedge": (
        "{kind: stream, idempotent: true, hedge: {delay: 1s}}",
        ("VA116", "hedge", "stream"),
        "a stream cannot have hedge",
        "remove hedge, or write hedge: off",
    ),
    "stream with idempotency": (
        "{kind: stream, idempotency: {key: [a]}}",
        ("VA116", "idempotency", "stream"),
        "a stream cannot have idempotency",
        "remove idempotency, or write idempotency: off",
    ),
    "idle of a unary call": (
        "{kind: unary, attempt_timeout: {total: 5s, idle: 1s}}",
        ("VA117", "1s", "unary"),
        "idle bounds the waits of a stream, but this operation is unary",
        "add kind: stream, or remove idle",
    ),
    "sqlite path": (
        "idempotency: {key: [a], store: memory, path: keys.db}",
        ("VA133", "keys.db", "memory"),
        "path is for store: sqlite, but the store is memory",
        "write store: sqlite, or remove path",
    ),
    "median over the p99": (
        "facts: {latency: {p50: 900ms, p99: 300ms}}",
        ("VA138", "900ms", "300ms"),
        "p50 900ms is over p99 300ms",
        "correct one of the two: no measurement has both",
    ),
    "p99 over the p99.9": (
        "facts: {latency: {p50: 80ms, p99: 301ms, p999: 300ms}}",
        ("VA138", "301ms", "300ms"),
        "p99 301ms is over p999 300ms",
        "correct one of the two: no measurement has both",
    ),
    "median over the p99.9": (
        "facts: {latency: {p50: 301ms, p999: 300ms}}",
        ("VA138", "301ms", "300ms"),
        "p50 301ms is over p999 300ms",
        "correct one of the two: no measurement has both",
    ),
    "mean against the median": (
        "facts: {latency: {mean: 39ms, p50: 80ms}}",
        ("VA138", "39ms", "80ms"),
        "mean 39ms is too short for p50 80ms",
        (
            "correct one of the two: half of all calls take 80ms or longer, which makes "
            "the mean at least 40ms"
        ),
    ),
    "mean against the tail": (
        "facts: {latency: {mean: 8ms, p99: 900ms, p999: 1s}}",
        ("VA138", "8ms", "900ms"),
        "mean 8ms is too short for p99 900ms",
        (
            "correct one of the two: 1 % of all calls take 900ms or longer, which makes "
            "the mean at least 9ms"
        ),
    ),
    "mean against the far tail": (
        "facts: {latency: {mean: 8ms, p99: 100ms, p999: 9s}}",
        ("VA138", "8ms", "9s"),
        "mean 8ms is too short for p999 9s",
        (
            "correct one of the two: 0.1 % of all calls take 9s or longer, which makes "
            "the mean at least 9ms"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_two_places(only: Only, load: Load, name: str) -> None:
    """The error, and the setting that it contradicts, are both shown."""
    settings, (code, here, there), message, help_text = CASES[name]
    found = only(settings)
    assert (found.code, found.name) == (code, CODES[code][0])
    assert (found.message, found.help) == (message, help_text)
    line = "    " + settings
    assert line[found.span.column - 1 :].startswith(here)
    [related] = found.related
    assert line[related.span.column - 1 :].startswith(there)
    assert found.policy_path.startswith("s.operations.op.")


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ("hedge: {delay: 1s}", "VA113", "hedge starts a call twice, but idempotent is not stated"),
        ("attempt_timeout: {total: 5s, idle: 1s}", "VA117", "idle bounds the waits of a stream, but this operation is unary"),
        ("retry: {}", "VA119", "retry does not say what to retry and transport is absent, which has no default"),
        ("{transport: local, retry: {max_attempts: 2}}", "VA119", "retry does not say what to retry and transport local has no default"),
        ("{transport: http, retry: {retry_on: off}}", "VA119", "retry does not say what to retry"),
        ("{transport: http, retry: {max_attempts: unlimited}}", "VA120", "max_attempts is unlimited in a service of class online"),
        ("{transport: http, circuit_breaker: {store: redis}}", "VA123", "store: redis has no address to connect to"),
        ("rate_limit: {rate: 1/s, store: redis}", "VA123", "store: redis has no address to connect to"),
        ("idempotency: {key: [a], store: sqlite}", "VA124", "store: sqlite has no file"),
        ("circuit_breaker: {failure_threshold: off}", "VA125", "circuit_breaker has no rule left that opens it"),
        ("bulkhead: {max_queue: 3}", "VA127", "bulkhead has no max_concurrent"),
        ("bulkhead: {max_concurrent: off}", "VA127", "bulkhead has no max_concurrent"),
        ("rate_limit: {burst: 3}", "VA127", "rate_limit has no rate"),
        ("circuit_breaker: {slow_call: {after: 1s}}", "VA127", "slow_call has no ratio"),
        ("fallback: {fallback_on: [timeout]}", "VA127", "fallback has no value or call or operation"),
        ("idempotency: {ttl: 1h}", "VA127", "idempotency has no key"),
        ("idempotency: {key: [a], forward: {}}", "VA127", "forward has no header or argument"),
        ("attempt_timeout: {sync: thread}", "VA127", "attempt_timeout has no total or connect or first_item or idle"),
        ("budget: {total: 1s, header: {unit: s}}", "VA127", "header has no name"),
    ],
)  # fmt: skip
def test_one_place(only: Only, settings: str, code: str, message: str) -> None:
    """What is missing or refused on its own is one error with a change to make."""
    found = only(settings)
    assert (found.code, found.message) == (code, message)
    assert found.help
    assert found.related == ()


@pytest.mark.parametrize(
    "settings",
    [
        "{transport: http, retry: {backoff: {initial: 5s}}}",
        "circuit_breaker: {window: 10 calls, minimum_calls: 10}",
        "attempt_timeout: {total: 1s, connect: 1s}",
        "{idempotent: true, hedge: {delay: 1s}, retry: off}",
        "{kind: stream, attempt_timeout: {first_item: 1s, idle: 1s}}",
        "{transport: local, retry: {max_attempts: 1}}",
        "retry: {retry_on_status: [503]}",
        "budget: {total: 2s, minimum: 1s, reserve: 1s}",
        "fallback: {value: null}",
        "circuit_breaker: {store: memory}",
    ],
)
def test_on_the_boundary_nothing_is_wrong(
    operation: Callable[..., Operation], settings: str
) -> None:
    """Equal is not over, and what is off is not there."""
    operation(settings)


def test_an_inherited_value_is_shown_where_it_was_written(load: Load) -> None:
    """The second place may be in a preset."""
    loaded = load(
        "preset: base\ndefaults: {transport: http, retry: {backoff: {max: 2s}}}",
        "service: s\nextends: [base]\noperations:\n  op: {retry: {backoff: {initial: 3s}}}",
    )
    [found] = loaded.diagnostics
    assert (str(found.span), str(found.related[0].span)) == (
        "1.yaml:5:35",
        "0.yaml:3:52",
    )


def test_a_fault_of_a_preset_is_shown_once(load: Load) -> None:
    """Ten operations that inherit one mistake give one finding."""
    operations = "".join(f"  op_{index}: {{}}\n" for index in range(10))
    loaded = load(
        "preset: base\ndefaults: {budget: {total: 1s, minimum: 2s}}",
        f"service: s\nextends: [base]\noperations:\n{operations}",
    )
    assert [found.code for found in loaded.diagnostics] == ["VA114"]


def test_unlimited_attempts_are_for_control_loops(load: Load) -> None:
    """class: control_loop allows them, class: batch does not."""
    text = "service: s\nclass: {}\noperations: {{op: {{transport: http, retry: {{max_attempts: unlimited}}}}}}"
    assert load(text.format("control_loop")).diagnostics == ()
    [found] = load(text.format("batch")).diagnostics
    assert found.message == "max_attempts is unlimited in a service of class batch"


def test_redis_stores_take_the_address_of_the_service(load: Load) -> None:
    """redis.url_env of the service serves breakers, limits, keys and queues."""
    text = """
        service: s
        redis: {url_env: POLICY_REDIS_URL}
        operations:
          op:
            rate_limit: {rate: 5/s, store: redis}
            circuit_breaker: {store: redis}
            idempotency: {key: [a], store: redis}
        queues:
          q: {store: redis, key: k, max_size: 5}
    """
    assert load(text).diagnostics == ()
    without = load(text.replace("redis: {url_env: POLICY_REDIS_URL}", ""))
    assert [found.code for found in without.diagnostics] == ["VA123"] * 4


def test_blocks_of_service_scope_must_be_equal(load: Load) -> None:
    """The first key that differs is shown in both operations."""
    loaded = load("""
        service: s
        defaults:
          circuit_breaker: {scope: service, failure_threshold: 5}
        operations:
          a: {}
          b: {circuit_breaker: {recovery_timeout: 10s}}
          c: {circuit_breaker: {scope: operation, recovery_timeout: 9s}}
    """)
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA121", "0.yaml:7:43")
    assert found.message == (
        "circuit_breaker is shared by the service, but recovery_timeout.initial "
        "differs from operation a"
    )
    assert len(found.related) == 1


def test_blocks_of_service_scope_may_differ_in_order_alone(load: Load) -> None:
    """The order of keys is no difference."""
    loaded = load("""
        service: s
        operations:
          a: {bulkhead: {scope: service, max_concurrent: 3, max_wait: 1s}}
          b: {bulkhead: {max_wait: 1s, max_concurrent: 3, scope: service}}
    """)
    assert loaded.diagnostics == ()


@pytest.mark.parametrize(
    ("queue", "code", "here", "there"),
    [
        ("{store: sqlite, path: q.db}", "VA127", "q", None),
        ("{max_size: 5}", "VA127", "q", None),
        ("{store: redis, url_env: U, max_size: 5}", "VA127", "redis", None),
        ("{store: sqlite, path: x, key: k, max_size: 5}", "VA133", "k, ", "sqlite"),
        ("{store: sqlite, path: x, url_env: U, max_size: 5}", "VA133", "U", "sqlite"),
        ("{store: sqlite, max_size: 5}", "VA124", "sqlite", None),
        ("{store: redis, key: k, max_size: 5}", "VA123", "redis", None),
        ("{store: redis, key: k, url_env: U, max_size: 5, path: x}", "VA133", "x", "redis"),
        ("{store: external, max_size: 5, overflow: dead_letter, dead_letter: off}", "VA130", "dead_letter,", "off"),
        ("{store: external, max_size: 5, redelivery: {initial: 9s, max: 1s}}", "VA110", "9s", "1s"),
        ("{store: external, max_size: 5, consume: {operation: s.op}, upload: {operation: s.op}}", "VA131", "upload", "consume"),
        ("{store: external, max_size: 5, consume: {concurrency: 2}}", "VA127", "consume", None),
    ],
)  # fmt: skip
def test_queues(
    load: Load, queue: str, code: str, here: str, there: str | None
) -> None:
    """Contradictions of a queue are shown inside the queue."""
    loaded = load(f"service: s\noperations: {{op: {{}}}}\nqueues:\n  q: {queue}")
    [found] = loaded.diagnostics
    line = f"  q: {queue}"
    assert found.code == code
    assert found.span.line == 5
    assert line[found.span.column - 1 :].startswith(here)
    assert [
        line[r.span.column - 1 :].startswith(str(there)) for r in found.related
    ] == ([] if there is None else [True])


@pytest.mark.parametrize(
    ("inbound", "code", "here"),
    [
        ("{bulkhead: {max_queue: 5}}", "VA127", "bulkhead"),
        ("{rate_limit: {burst: 5}}", "VA127", "rate_limit"),
        ("{budget: {default: 9s, max: 5s}}", "VA114", "9s"),
        ("{budget: {header: {unit: s}}}", "VA127", "header"),
        ("{rate_limit: {rate: 1/s, store: redis}}", "VA123", "redis"),
    ],
)
def test_inbound(load: Load, inbound: str, code: str, here: str) -> None:
    """Contradictions of inbound limits are shown inside inbound."""
    loaded = load(f"service: s\ninbound: {inbound}")
    [found] = loaded.diagnostics
    assert found.code == code
    assert f"inbound: {inbound}"[found.span.column - 1 :].startswith(here)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("redis: {}", "redis has no url_env"),
        ("facts: {autoscale: {target: 60%}}", "autoscale has no metric"),
    ],
)
def test_settings_of_a_service(load: Load, settings: str, message: str) -> None:
    """Blocks of the service itself have required keys too."""
    loaded = load(f"service: s\n{settings}\noperations: {{op: {{}}}}")
    assert [found.message for found in loaded.diagnostics] == [message]


def test_every_environment_is_checked(load: Load) -> None:
    """A mistake in an overlay is found before that environment is loaded."""
    text = """
        service: s
        operations: {op: {budget: {total: 5s, minimum: 1s}}}
        environments:
          production: {defaults: {budget: 500ms}}
    """
    for environment in (None, "production", "staging"):
        found = [
            (found.code, str(found.span), str(found.related[0].span))
            for found in load(text, environment=environment).diagnostics
            if found.code != "VA109"
        ]
        assert found == [("VA114", "0.yaml:3:48", "0.yaml:5:35")]


def test_environment_variables_that_clash_show_both_limits(load: Load) -> None:
    """a.b_retry and a_b.retry would both be overridden by one variable."""
    loaded = load(
        "service: a\noperations: {b_budget: {bulkhead: {max_concurrent: 5}, budget: 1s}}",
        "service: a_b\noperations: {budget: {bulkhead: {max_concurrent: 5}}}",
    )
    [first] = loaded.diagnostics
    assert (first.code, first.policy_path) == (
        "VA122",
        "a_b.operations.budget.bulkhead.max_concurrent",
    )
    assert first.message == (
        "environment variable A_B_BUDGET_BULKHEAD_MAX_CONCURRENT would override this "
        "and a.operations.b_budget.bulkhead.max_concurrent"
    )
    assert {str(first.span), str(first.related[0].span)} == {
        "0.yaml:3:52",
        "1.yaml:3:50",
    }
    assert loaded.project.services == {}


def test_prefixes_without_equal_names_do_not_clash(load: Load) -> None:
    """A prefix that begins another is no clash as long as all names differ."""
    loaded = load(
        "service: a\noperations: {b: {budget: 1s}, b_c: {attempt_timeout: 1s}}",
        "service: a_b\noperations: {c: {budget: 1s}}",
    )
    assert loaded.diagnostics == ()


def test_an_operation_named_like_the_target_class(load: Load) -> None:
    """Both would be one name of the generated module."""
    loaded = load(
        "service: s\ntarget: no_such_package.client:client\noperations: {client: {}}"
    )
    [found] = loaded.diagnostics
    assert (found.code, found.help) == ("VA102", "rename client")
    assert (str(found.span), str(found.related[0].span)) == (
        "0.yaml:4:14",
        "0.yaml:3:9",
    )


def test_queues_and_records_need_files_of_their_own(load: Load) -> None:
    """What repairs one of them would lose the other; ./ before a path changes nothing."""
    text = """
        service: s
        operations:
          op: {idempotency: {key: [a], store: sqlite, path: ./var/x.db}}
          other: {idempotency: {key: [a], store: memory}}
        queues:
          jobs: {store: sqlite, path: var/x.db, max_size: 5}
          more: {store: sqlite, path: var/x.db, max_size: 5}
          far: {store: external, max_size: 5}
    """
    [found] = load(text).diagnostics
    assert (found.code, found.span.line) == ("VA137", 4)
    assert (
        found.message == "idempotency records are in var/x.db, the file of queue jobs"
    )
    assert [related.span.line for related in found.related] == [7]
    assert load(text.replace("./var/x.db", "var/keys.db")).diagnostics == ()


@pytest.mark.parametrize(
    "latency",
    [
        "{p50: 300ms, p99: 300ms, p999: 300ms}",
        "{mean: 40ms, p50: 80ms}",
        "{mean: 9ms, p99: 900ms}",
        "{mean: 9ms, p999: 9s}",
        "{mean: 10s, p50: 1ms, p99: 2ms, p999: 3ms}",
        "{mean: 0s}",
    ],
)
def test_facts_that_some_measurement_has(
    operation: Callable[..., Operation], latency: str
) -> None:
    """Equal quantiles, and a mean that the tail alone gives or that a few calls lift."""
    assert operation(f"facts: {{latency: {latency}}}").facts.latency is not None


def test_service_times_that_disagree(load: Load) -> None:
    """The service time of a service is checked like the latency of an operation."""
    loaded = load("""
        service: s
        facts:
          service_time:
            p50: 200ms
            p99: 100ms
        operations: {op: {transport: http}}
        """)
    (found,) = loaded.diagnostics
    assert (found.code, found.span.line) == ("VA138", 5)
    assert [related.span.line for related in found.related] == [6]
    assert found.policy_path == "s.facts.service_time.p50"


def test_facts_of_two_places_that_disagree(load: Load) -> None:
    """An environment's p99 below the document's median is shown beside it."""
    loaded = load("""
        service: s
        operations:
          op: {transport: http, facts: {latency: {p50: 200ms, p99: 300ms}}}
        environments:
          local: {operations: {op: {facts: {latency: {p99: 100ms}}}}}
        """)
    (found,) = loaded.diagnostics
    assert (found.code, found.span.line) == ("VA138", 4)
    assert [related.span.line for related in found.related] == [6]
