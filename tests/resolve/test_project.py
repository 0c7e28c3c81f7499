"""Whole runs: many files, some of them broken, some of them context."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import has_errors
from policyctl.resolve.policy import (
    Consume,
    Inbound,
    InboundBudget,
    Jitter,
    Latency,
    LayerFacts,
    Redelivery,
    ServiceFacts,
    Upload,
)
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project

Load = Callable[..., Loaded]


def test_a_stream_of_two_documents(load: Load) -> None:
    """One file may hold several services; spans count within the file."""
    loaded = load("""
        version: 1
        service: a
        operations: {op: {}}
        ---
        version: 1
        service: b
        calls: [{to: a.op}]
    """)
    assert loaded.diagnostics == ()
    assert list(loaded.project.services) == ["a", "b"]
    assert [document.index for document in loaded.project.documents] == [0, 1]
    assert str(loaded.project.services["b"].span) == "0.yaml:6:10"


def test_all_findings_of_all_files_come_in_one_run(load: Load) -> None:
    """Errors of types, of contradictions and of references, sorted by place."""
    loaded = load(
        "service: a\noperations: {op: {budget: 5}}",
        "service: b\noperations: {op: {budget: {total: 1s, minimum: 2s}}}",
        "service: c\ncalls: [{to: b.nothing}]",
        "service: d\noperations: {op: {}}",
    )
    assert [found.span.path for found in loaded.diagnostics] == [
        "0.yaml",
        "1.yaml",
        "2.yaml",
    ]
    assert has_errors(loaded.diagnostics)
    assert list(loaded.project.services) == ["d"]


def test_context_is_loaded_and_not_reported(load: Load) -> None:
    """A context file resolves references; what is wrong with it stays unsaid."""
    texts = (
        "service: a\noperations: {op: {}, other: {bulkhead: {}}}",
        "service: b\ncalls: [{to: a.op}]",
    )
    loaded = load(*texts, context=(0,))
    assert loaded.diagnostics == ()
    assert loaded.project.reported == frozenset({"b"})
    assert [found.code for found in load(*texts).diagnostics] == ["VA127"]


def test_valid_context_is_part_of_the_project(load: Load) -> None:
    """Lint sees all services together; ``reported`` tells which were asked for."""
    loaded = load(
        "service: a\noperations: {op: {}}",
        "service: b\ncalls: [{to: a.op}]",
        context=(0,),
    )
    assert list(loaded.project.services) == ["a", "b"]
    assert loaded.project.reported == frozenset({"b"})


def test_the_environment_is_remembered(load: Load) -> None:
    """The project tells which environment it was resolved for."""
    assert load("service: s\noperations: {op: {}}").project.environment is None


def test_everything_of_a_service_is_built(load: Load) -> None:
    """Facts, inbound, queues, telemetry and ignores, in base units."""
    loaded = load("""
        service: s
        owner: a-team
        description: All of it.
        class: batch
        critical: true
        target: no_such_package.client:Client
        redis: {url_env: POLICY_REDIS_URL}
        facts:
          instances: 12
          workers: 40
          capacity: 600/m
          service_time: {mean: 30ms, p99: 200ms}
          objective: 3s
          as_of: 2026-11-01
          source: load test 41
          pool: {max: 10, acquire_timeout: 1s}
          shards: 3
          cache: {hit_ratio: 90%, coalesced: true}
          layers: [{name: mesh, max_attempts: 3, retry_on_status: [503]}]
          autoscale: {metric: concurrency, target: 60%}
          domain: db-1
          reconnect: {delay: 5s, window: 1m, jitter: full, accept_rate: 200/s}
        operations:
          handle:
            description: Handle one.
            facts: {rate: 40/s, callers: 24, latency: {p50: 80ms}, failure_ratio: 0.1%}
            attempt_timeout: 20s
            bulkhead: {max_concurrent: 2, max_wait: 1s}
        inbound:
          bulkhead: {max_concurrent: 20}
          rate_limit: {rate: 500/s}
          budget: {default: 10s, max: 30s, header: {name: X-Timeout-Budget, unit: ms}}
        queues:
          jobs:
            store: redis
            key: jobs
            max_size: 100
            max_bytes: 1MiB
            max_age: 1h
            consume: {operation: s.handle}
          batches:
            store: sqlite
            path: var/b.db
            max_size: 5
            dead_letter: off
            max_deliveries: off
            redelivery: {initial: 5s, jitter: 0.2}
            upload: {operation: s.handle, batch: 7}
        telemetry: {metrics: prometheus, heartbeat: 30s}
        ignore: [{rule: RT001, at: operations.handle, reason: lease loop, until: 2026-12-31}]
    """)
    assert loaded.diagnostics == ()
    service = loaded.project.services["s"]
    assert (service.owner, service.description) == ("a-team", "All of it.")
    assert (service.service_class, service.critical) == ("batch", True)
    assert (service.target, service.redis_url_env) == (
        "no_such_package.client:Client",
        "POLICY_REDIS_URL",
    )
    facts = service.facts
    assert isinstance(facts, ServiceFacts)
    assert (facts.instances, facts.workers, facts.capacity) == (12, 40, 10.0)
    assert facts.service_time == Latency(mean=0.03, p99=0.2)
    assert (facts.objective, facts.as_of, facts.source) == (
        3.0,
        "2026-11-01",
        "load test 41",
    )
    assert facts.pool is not None
    assert (facts.pool.max, facts.pool.acquire_timeout) == (10, 1.0)
    assert facts.cache is not None
    assert (facts.shards, facts.cache.hit_ratio, facts.cache.coalesced) == (
        3,
        0.9,
        True,
    )
    assert facts.layers == (LayerFacts("mesh", 3, ("503",)),)
    assert facts.autoscale is not None
    assert (facts.autoscale.metric, facts.autoscale.target) == ("concurrency", 0.6)
    assert facts.reconnect is not None
    assert (facts.domain, facts.reconnect.window) == ("db-1", 60.0)
    operation = service.operations["handle"]
    assert operation.facts.rate == 40.0
    assert operation.facts.latency == Latency(p50=0.08)
    assert operation.facts.failure_ratio == pytest.approx(0.001)
    assert isinstance(service.inbound, Inbound)
    assert service.inbound.bulkhead is not None
    assert service.inbound.bulkhead.max_queue == 20
    assert service.inbound.rate_limit is not None
    assert service.inbound.rate_limit.burst == 500
    assert isinstance(service.inbound.budget, InboundBudget)
    assert service.inbound.budget.header is not None
    assert (service.inbound.budget.max, service.inbound.budget.header.unit) == (
        30.0,
        "ms",
    )
    assert (service.telemetry.metrics, service.telemetry.heartbeat) == (
        "prometheus",
        30.0,
    )
    [ignore] = service.ignores
    assert (ignore.rule, ignore.at, ignore.reason, ignore.until) == (
        "RT001",
        "operations.handle",
        "lease loop",
        "2026-12-31",
    )


def test_queues_have_their_defaults(load: Load) -> None:
    """Reject, five deliveries, 80 %, dead letters, and a lease of twice the work."""
    loaded = load("""
        service: s
        operations:
          handle: {attempt_timeout: 20s, bulkhead: {max_concurrent: 2, max_wait: 1s}}
          endless: {}
        queues:
          jobs: {store: redis, key: jobs, url_env: JOBS_URL, max_size: 100, consume: {operation: s.handle}}
          batches: {store: sqlite, path: b.db, max_size: 5, dead_letter: off, max_deliveries: off, upload: {operation: s.endless}}
          facts_only: {store: external, max_size: 9}
    """)
    assert loaded.diagnostics == ()
    queues = loaded.project.services["s"].queues
    jobs, batches = queues["jobs"], queues["batches"]
    assert (jobs.store, jobs.key, jobs.url_env, jobs.file) == (
        "redis",
        "jobs",
        "JOBS_URL",
        None,
    )
    assert (jobs.overflow, jobs.max_deliveries, jobs.warn_at) == ("reject", 5, 0.8)
    assert (jobs.dead_letter_max_size, jobs.codec) == (10000, "json")
    assert jobs.redelivery == Redelivery(1.0, 2.0, 300.0, Jitter("full"))
    assert jobs.lease == 2 * (1 + 20)
    assert jobs.consume == Consume("s.handle", 1)
    assert (batches.file, batches.url_env, batches.dead_letter_max_size) == (
        "b.db",
        None,
        None,
    )
    assert batches.max_deliveries is None
    assert batches.lease == 30.0
    assert batches.upload == Upload("s.endless", 100, 5.0, 10.0)
    assert queues["facts_only"].lease == 30.0
    assert jobs.path == "s.queues.jobs"
    assert str(jobs.span) == "0.yaml:7:3"
    assert jobs.origins["max_size"].label == "0.yaml:7:64"
    assert jobs.origins["lease"].kind == "default"


def test_a_queue_in_redis_takes_the_address_of_its_service(load: Load) -> None:
    """Its own url_env wins over that of the service."""
    loaded = load("""
        service: s
        redis: {url_env: SERVICE_URL}
        queues:
          a: {store: redis, key: a, max_size: 1}
          b: {store: redis, key: b, max_size: 1, url_env: OWN_URL}
    """)
    queues = loaded.project.services["s"].queues
    assert (queues["a"].url_env, queues["b"].url_env) == ("SERVICE_URL", "OWN_URL")


def test_queues_are_merged_by_an_environment(load: Load) -> None:
    """An overlay changes single keys of a queue, and its origin says so."""
    loaded = load(
        """
        service: s
        queues: {q: {store: external, max_size: 10, max_age: 1h}}
        environments: {test: {queues: {q: {max_size: 5}}}}
        """,
        environment="test",
    )
    queue = loaded.project.services["s"].queues["q"]
    assert (queue.max_size, queue.max_age) == (5, 3600.0)
    assert queue.origins["max_size"].label == "environment test"
    assert str(queue.origins["max_size"].span) == "0.yaml:4:46"


def test_no_files_are_an_empty_project() -> None:
    """Nothing to read is the command line's matter, not an error here."""
    loaded = load_project(Inputs(()))
    assert (loaded.project.services, loaded.diagnostics) == ({}, ())


def test_the_garbage_collector_is_left_as_it_was() -> None:
    """Loading pauses collection and restores what was set."""
    load_project(Inputs(()))
    assert gc.isenabled()
    gc.disable()
    try:
        load_project(Inputs(()))
        assert not gc.isenabled()
    finally:
        gc.enable()


SNIPPETS = st.sampled_from(
    [
        "version: 1\nservice: a\noperations: {op: {}}\n",
        "version: 1\nservice: b\ncalls: [{to: a.op, override: {retry: off}}]\n",
        "version: 1\npreset: p\nextends: [q]\n",
        "version: 1\npreset: q\nextends: [p]\ndefaults: {retry: {}}\n",
        "version: 1\nservice: c\nextends: [p, http-client]\noperations: {op: {extends: [q]}}\n",
        "version: 1\nservice: a\noperations: {op: {fallback: {operation: d.op}}}\n",
        "version: 1\nservice: d\noperations: {op: {fallback: {operation: a.op}, hedge: {}}}\n",
        "version: 1\nservice: e\nqueues: {q: {consume: {operation: a.op}}}\nenvironments: {x: {defaults: off}}\n",
        "{[",
        "",
        "- 1\n",
        "service: a\n---\npreset: a\n",
        "version: 1\nservice: f\noperations: {op: {idempotency: {}, retry: {}, rate_limit: {}}}\n",
        "version: 1\nservice: g\ncalls: [{to: d.op, override: {hedge: {}, idempotency: {key: [a]}}}]\n",
    ]
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(SNIPPETS, st.booleans()), max_size=5),
    st.sampled_from([None, "x", "y"]),
)
def test_whatever_is_loaded_gives_findings_and_never_raises(
    parts: list[tuple[str, bool]], environment: str | None
) -> None:
    """Any mix of good and bad documents is loaded, sorted and free of doubles."""
    files = tuple(
        InputFile(f"{index}.yaml", text.encode(), reported)
        for index, (text, reported) in enumerate(parts)
    )
    loaded = load_project(Inputs(files, environment=environment))
    findings = loaded.diagnostics
    assert list(findings) == sorted(findings, key=lambda found: found.sort_key)
    assert len(set(findings)) == len(findings)
    for name in loaded.project.reported:
        assert name in loaded.project.services
    if not any(reported for _, reported in parts):
        assert [found.code for found in findings if found.code != "VA109"] == []
    for operation in loaded.project.operations():
        assert all(origin.label for origin in operation.origins.values())
