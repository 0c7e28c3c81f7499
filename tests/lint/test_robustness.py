"""No valid policy makes a rule crash, and every finding can be shown."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import Severity
from policyctl.lint.engine import lint
from policyctl.resolve.project import InputFile, Inputs, load_project

DURATIONS = st.sampled_from(
    ["0s", "1us", "5ms", "250ms", "1s", "3s", "30s", "10m", "1h"]
)
RATES = st.sampled_from(["1/h", "6/m", "1/s", "40/s", "5000/s"])
RATIOS = st.sampled_from(["1%", "33%", "50%", "100%"])
COUNTS = st.sampled_from([1, 2, 3, 10, 1000])
STATUSES = st.lists(
    st.sampled_from([404, 429, 503, "400-499", "500-599"]), max_size=3, unique=True
)
ERRORS = st.lists(
    st.sampled_from(["not_sent", "timeout", "Exception", "OSError", "TypeError"]),
    min_size=1,
    max_size=3,
    unique=True,
)


def block(**optional: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """A mapping with any of these keys."""
    return st.fixed_dictionaries({}, optional=optional)


LATENCY = block(mean=DURATIONS, p50=DURATIONS, p99=DURATIONS, p999=DURATIONS)
BACKOFF = block(
    initial=DURATIONS,
    multiplier=st.sampled_from([1, 2, 10]),
    max=DURATIONS | st.just("off"),
    jitter=st.sampled_from(["none", "full", "equal", "decorrelated", 0.5]),
)
RETRY = block(
    max_attempts=COUNTS,
    backoff=BACKOFF,
    retry_on=ERRORS,
    retry_on_status=STATUSES,
    retry_after=st.just("off") | block(max=DURATIONS | st.just("off")),
    budget=block(
        ratio=RATIOS, refill=st.sampled_from(["success", "request"]), floor=RATES
    ),
)
BREAKER = block(
    failure_threshold=COUNTS,
    failure_ratio=RATIOS,
    window=DURATIONS | st.just("100 calls"),
    minimum_calls=COUNTS,
    recovery_timeout=DURATIONS,
    half_open_max_wait=DURATIONS,
    success_threshold=COUNTS,
    record_on=ERRORS,
)
OPERATION = block(
    transport=st.sampled_from(["http", "grpc", "redis", "local"]),
    idempotent=st.booleans(),
    facts=block(rate=RATES, callers=COUNTS, latency=LATENCY, failure_ratio=RATIOS),
    attempt_timeout=DURATIONS,
    budget=DURATIONS,
    retry=RETRY,
    circuit_breaker=BREAKER,
    bulkhead=st.fixed_dictionaries(
        {"max_concurrent": COUNTS}, optional={"max_wait": DURATIONS}
    ),
    rate_limit=st.fixed_dictionaries({"rate": RATES}, optional={"max_wait": DURATIONS}),
    fallback=st.sampled_from([{"value": None}, {"operation": "b.one"}]),
)
CALLS = st.lists(
    st.builds(
        lambda to, mode, times: {"to": to, "mode": mode, "per_request": times},
        st.sampled_from(["a.one", "a.two", "b.one", "b.two"]),
        st.sampled_from(["sequential", "parallel", "detached"]),
        st.sampled_from([0.2, 1, 3]),
    ),
    max_size=2,
    unique_by=lambda call: str(call["to"]),
)
FACTS = block(
    instances=COUNTS,
    workers=COUNTS,
    capacity=RATES,
    service_time=LATENCY,
    objective=DURATIONS,
    shards=COUNTS,
    domain=st.sampled_from(["x", "y"]),
    cache=block(hit_ratio=RATIOS, coalesced=st.booleans()),
    pool=block(max=COUNTS, acquire_timeout=DURATIONS),
    reconnect=block(delay=DURATIONS, window=DURATIONS, accept_rate=RATES),
)
INBOUND = st.fixed_dictionaries(
    {},
    optional={
        "bulkhead": st.fixed_dictionaries(
            {"max_concurrent": COUNTS},
            optional={"max_queue": COUNTS, "max_wait": DURATIONS},
        ),
        "budget": block(default=DURATIONS),
    },
)
QUEUE = st.fixed_dictionaries(
    {"store": st.just("external"), "max_size": COUNTS},
    optional={
        "lease": DURATIONS,
        "max_age": DURATIONS,
        "max_deliveries": COUNTS | st.just("off"),
        "consume": st.just({"operation": "a.one"}),
    },
)


def service(name: str) -> st.SearchStrategy[dict[str, object]]:
    """A document of a service with two operations."""
    required: dict[str, st.SearchStrategy[object]] = {
        "version": st.just(1),
        "service": st.just(name),
        "operations": st.fixed_dictionaries({"one": OPERATION, "two": OPERATION}),
    }
    return st.fixed_dictionaries(
        required,
        optional={
            "facts": FACTS,
            "calls": CALLS,
            "critical": st.booleans(),
            "class": st.sampled_from(["online", "batch", "control_loop"]),
            "inbound": INBOUND,
            "queues": st.fixed_dictionaries({"jobs": QUEUE}),
        },
    )


@given(a=service("a"), b=service("b"))
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_no_rule_crashes_on_what_validation_accepts(
    a: dict[str, object], b: dict[str, object]
) -> None:
    """Operations that are invalid are dropped, and the rest is linted whole."""
    files = [
        InputFile("a.yaml", json.dumps(a).encode()),
        InputFile("b.yaml", json.dumps(b).encode()),
    ]
    result = lint(load_project(Inputs(tuple(files))).project)
    assert not result.failed, result.diagnostics[0].message
    for finding in result.diagnostics:
        assert finding.message == " ".join(finding.message.split())
        assert finding.help
        assert not finding.message.endswith(".")
        assert re.search(r"[0-9]e-[0-9]", finding.message) is None
        assert finding.severity in Severity
