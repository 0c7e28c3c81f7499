"""What a scrape shows, and how its collector gets into a registry."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, Counter

from policyctl.generate.bundle import bundled_runtime
from policyctl.runtime import queues, settings
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.policy import Policy
from policyctl.runtime.telemetry import enable, names, prometheus
from policyctl.runtime.telemetry.queue_numbers import PAUSE
from policyctl.runtime.telemetry.start import beat
from policyctl.runtime.telemetry.switch import SWITCH, Sinks

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
Scrape = Callable[..., Samples]
CONTRACT = {
    "policyctl_calls_total": ("service", "operation", "outcome"),
    "policyctl_call_seconds": ("service", "operation"),
    "policyctl_attempts_total": ("service", "operation"),
    "policyctl_retries_total": ("service", "operation", "reason"),
    "policyctl_circuit_breaker_state": ("service", "operation", "state"),
    "policyctl_circuit_breaker_transitions_total": (
        *("service", "operation", "old", "new"),
    ),
    "policyctl_bulkhead_in_use": ("service", "operation"),
    "policyctl_bulkhead_waiting": ("service", "operation"),
    "policyctl_rejected_total": ("service", "operation", "reason"),
    "policyctl_budget_exhausted_total": ("service", "operation"),
    "policyctl_queue_depth": ("service", "queue"),
    "policyctl_queue_oldest_seconds": ("service", "queue"),
    "policyctl_dead_letters_total": ("service", "queue"),
    "policyctl_heartbeat_timestamp_seconds": ("service",),
}
BREAKER = settings.CircuitBreaker(failure_threshold=1)


def one() -> int:
    """What is guarded."""
    return 1


def sample(samples: Samples, name: str, **labels: str) -> float | None:
    """The value of one sample, None where there is none."""
    return samples.get((name, frozenset(labels.items())))


def states(samples: Samples, service: str, operation: str) -> dict[str, float]:
    """The states of a breaker that are not 0."""
    return {
        dict(labels)["state"]: value
        for (name, labels), value in samples.items()
        if name == "policyctl_circuit_breaker_state"
        and dict(labels)["service"] == service
        and dict(labels)["operation"] == operation
        and value
    }


def test_the_names_are_those_of_the_contract() -> None:
    """C38's names, with their labels."""
    assert {metric.name: metric.labels for metric in names.METRICS} == CONTRACT
    assert {m.name for m in names.METRICS if m.kind == "counter"} == {
        name for name in CONTRACT if name.endswith("_total")
    }


def test_what_a_scrape_shows(service: str, scrape: Scrape) -> None:
    """Counters, states, slots and transitions of a policy, exactly."""
    enable(service, metrics="prometheus")
    bulkhead = settings.Bulkhead(max_concurrent=3)
    policy = Policy(
        service=service,
        operation="read",
        circuit_breaker=BREAKER,
        bulkhead=bulkhead,
    )
    inside: Samples = {}
    policy.call(lambda: inside.update(scrape()))
    with pytest.raises(OSError):
        policy.call(_fail)
    names = {"service": service, "operation": "read"}
    assert sample(inside, "policyctl_bulkhead_in_use", **names) == 1
    found = scrape()
    assert sample(found, "policyctl_bulkhead_in_use", **names) == 0
    assert sample(found, "policyctl_bulkhead_waiting", **names) == 0
    calls = {
        outcome: sample(found, "policyctl_calls_total", outcome=outcome, **names)
        for outcome in ("success", "failure", "rejected", "fallback", "cancelled")
    }
    assert calls == {
        "success": 1,
        "failure": 1,
        "rejected": 0,
        "fallback": 0,
        "cancelled": 0,
    }
    assert sample(found, "policyctl_call_seconds_count", **names) == 2
    assert sample(found, "policyctl_call_seconds_bucket", le="+Inf", **names) == 2
    assert sample(found, "policyctl_attempts_total", **names) == 2
    assert states(found, service, "read") == {"open": 1}
    total = "policyctl_circuit_breaker_transitions_total"
    assert sample(found, total, old="closed", new="open", **names) == 1


def _fail() -> None:
    raise OSError


def test_an_elapsed_break_reads_half_open(
    service: str, clock: Any, scrape: Scrape
) -> None:
    """C5: the state is derived when it is read."""
    enable(service, metrics="prometheus")
    policy = Policy(service=service, operation="read", circuit_breaker=BREAKER)
    with pytest.raises(OSError):
        policy.call(_fail)
    assert states(scrape(), service, "read") == {"open": 1}
    clock.advance(120.0)
    assert states(scrape(), service, "read") == {"half_open": 1}


def test_what_operations_share_is_shown_once(service: str, scrape: Scrape) -> None:
    """A breaker of scope service has an empty operation; by argument they add up."""
    enable(service, metrics="prometheus")
    shared = settings.CircuitBreaker(failure_threshold=1, scope="service")
    for operation in ("read", "write"):
        Policy(service=service, operation=operation, circuit_breaker=shared)
    keyed = settings.CircuitBreaker(failure_threshold=1, scope="argument:tenant")
    by_tenant = Policy(service=service, operation="list", circuit_breaker=keyed)

    @by_tenant
    def work(tenant: str) -> None:
        if tenant == "bad":
            raise OSError

    for tenant in ("a", "b", "bad"):
        try:
            work(tenant)
        except OSError:
            continue
    found = scrape()
    assert states(found, service, "") == {"closed": 1}
    assert states(found, service, "read") == {}
    assert states(found, service, "list") == {"closed": 2, "open": 1}


def test_services_without_metrics_are_not_shown(service: str, scrape: Scrape) -> None:
    """Neither a service that logs alone nor one that was never switched on."""
    enable(service, logs="text")
    for name in (service, f"{service}_quiet"):
        policy = Policy(service=name, operation="read", circuit_breaker=BREAKER)
        with pytest.raises(OSError):
            policy.call(_fail)
    shown = {dict(labels).get("service") for _, labels in scrape()}
    assert shown.isdisjoint({service, f"{service}_quiet"})


def test_the_first_call_shows_the_metrics(service: str, scrape: Scrape) -> None:
    """Switching on registers nothing; the first call does, the default registry shows."""
    enable(service, metrics="prometheus")
    policy = Policy(service=service, operation="read")
    assert not prometheus._collectors(REGISTRY)
    policy.call(one)
    found = scrape(REGISTRY)
    labels = {"service": service, "operation": "read", "outcome": "success"}
    assert sample(found, "policyctl_calls_total", **labels) == 1


def test_names_that_are_taken(service: str, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else's metric of our name is reported; calls go on."""
    taken = Counter("policyctl_attempts", "not ours")
    try:
        enable(service, metrics="prometheus")
        policy = Policy(service=service, operation="read")
        assert [policy.call(one) for _ in range(3)] == [1, 1, 1]
    finally:
        REGISTRY.unregister(taken)
    assert caplog.text.count("their names are taken") == 1
    registry = CollectorRegistry()
    Counter("policyctl_attempts", "not ours", registry=registry)
    with pytest.raises(ValueError, match="policyctl_attempts"):
        prometheus.register(registry)


def test_queues(service: str, scrape: Scrape, tmp_path: Path) -> None:
    """Depth, age and dead letters of a queue that is open; others are left alone."""
    enable(service, metrics="prometheus")
    queue: queues.Queue[Any] = queues.Queue(
        service=service,
        queue="jobs",
        store=queues.Sqlite(path=str(tmp_path / "jobs.db")),
        max_size=10,
        max_deliveries=1,
        redelivery=queues.Redelivery(initial=0.0, max=0.0),
    )
    labels = {"service": service, "queue": "jobs"}
    assert sample(scrape(), "policyctl_queue_depth", **labels) is None
    for number in range(3):
        queue.put({"number": number})
    found = scrape()
    assert sample(found, "policyctl_queue_depth", **labels) == 3
    age = sample(found, "policyctl_queue_oldest_seconds", **labels)
    assert age is not None
    assert 0 <= age < 60
    item = queue.take()
    assert item is not None
    item.nack()
    found = scrape()
    assert sample(found, "policyctl_dead_letters_total", **labels) == 1
    assert sample(found, "policyctl_queue_depth", **labels) == 2
    queues_live_forget(service)


def queues_live_forget(service: str) -> None:
    """Close the test's queue."""
    from policyctl.runtime.queues import live

    live.forget(f"{service}.jobs")


def test_a_queue_that_cannot_be_read(
    service: str, scrape: Scrape, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its samples are missing, the others are there, and the log says so once.

    A store that is away is asked again after a while, not by every scrape.
    """
    from policyctl.runtime.queues import live

    enable(service, metrics="prometheus")
    Policy(service=service, operation="read").call(one)

    asked: list[int] = []

    class Broken:
        name = f"{service}.jobs"
        queue = "jobs"
        _store = object()

        def __init__(self) -> None:
            self.service = service

        def stats(self) -> None:
            asked.append(1)
            raise OSError("disk is gone")

        def close(self) -> None:
            pass

    live._queues[Broken.name] = (None, Broken())  # type: ignore[assignment]
    try:
        found = scrape()
        scrape()
        assert len(asked) == 1
        clock.advance(PAUSE)
        scrape()
        assert len(asked) == 2
    finally:
        live.forget(Broken.name)
    labels = {"service": service, "operation": "read"}
    assert sample(found, "policyctl_attempts_total", **labels) == 1
    assert caplog.text.count("cannot be read") == 1


def test_a_heartbeat(
    service: str, scrape: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gauge is the time of the last beat."""
    monkeypatch.setattr("time.time", lambda: 1234.5)
    enable(service, metrics="prometheus", heartbeat=30.0)
    beat(service, Sinks("prometheus", None, 30.0))
    name = "policyctl_heartbeat_timestamp_seconds"
    assert sample(scrape(), name, service=service) == 1234.5
    assert SWITCH.beats[service] == 1234.5


def test_a_service_as_a_server(service: str, scrape: Scrape) -> None:
    """Slots in use and refused requests stand under the operation ``inbound``."""
    enable(service, metrics="prometheus")
    guard = Inbound(
        service=service, bulkhead=settings.Bulkhead(max_concurrent=1, max_wait=0.0)
    )
    guard.budget_of([])
    assert service in SWITCH.awake
    assert guard.enter() is None
    assert guard.enter() is not None
    guard.expired()
    found = scrape()
    labels = {"service": service, "operation": "inbound"}
    assert sample(found, "policyctl_bulkhead_in_use", **labels) == 1
    assert sample(found, "policyctl_bulkhead_waiting", **labels) == 0
    rejected = "policyctl_rejected_total"
    assert sample(found, rejected, reason="bulkhead_full", **labels) == 1
    assert sample(found, rejected, reason="budget_exhausted", **labels) == 1
    guard.leave()


LAZY = """
    import sys
    from policyctl.runtime.telemetry import enable
    from policyctl.runtime.policy import Policy

    enable("shop", metrics="prometheus", logs="json", heartbeat=0.5)
    policy = Policy(service="shop", operation="buy")

    @policy
    def buy():
        return 1

    import threading
    before = threading.active_count(), sorted(
        {"prometheus_client", "logging", "asyncio", "socket"} & sys.modules.keys()
    )
    assert before == (1, []), before
    assert buy() == 1
    assert "prometheus_client" in sys.modules
    assert [t.name for t in threading.enumerate() if t.daemon] == ["policyctl-telemetry"]
"""


def _python(code: str, *options: str) -> Any:
    return run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_nothing_before_the_first_call() -> None:
    """C41: switching on imports no library and starts no thread; one daemon after."""
    done = _python(LAZY)
    assert (done.returncode, done.stderr.count("Error")) == (0, 0), done.stderr


MISSING = """
    import sys
    sys.modules["prometheus_client"] = None
    from policyctl.runtime.telemetry import enable
    from policyctl.runtime.policy import Policy

    for name in ("shop", "stock"):
        enable(name, metrics="prometheus")
        policy = Policy(service=name, operation="buy")
        assert [policy.call(lambda: 1) for _ in range(3)] == [1, 1, 1]
        assert policy.meter.read().calls["success"] == 3
"""


def test_without_the_package() -> None:
    """One warning for each service says what to install; calls go on and count."""
    done = _python(MISSING)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["shop", "stock"]
    assert all("pip install 'policyctl[prometheus]'" in line for line in lines)


def test_two_runtimes_in_one_process(tmp_path: Path) -> None:
    """A copy inside a generated package and the library share one exposition."""
    for path, content in bundled_runtime().items():
        target = tmp_path / "acme" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    (tmp_path / "acme" / "__init__.py").touch()
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from acme._runtime import policy as theirs, telemetry as their_telemetry
        from policyctl.runtime import policy as ours, telemetry as our_telemetry

        for number, (policy, telemetry) in enumerate(
            [(theirs, their_telemetry), (ours, our_telemetry)]
        ):
            for name in ("shared", f"own_{{number}}"):
                telemetry.enable(name, metrics="prometheus")
                guarded = policy.Policy(service=name, operation="buy")
                guarded.call(int)
        from prometheus_client import generate_latest
        print(generate_latest().decode())
    """
    done = _python(code)
    assert (done.returncode, done.stderr) == (0, "")
    for service, calls in (("shared", 2), ("own_0", 1), ("own_1", 1)):
        labels = f'operation="buy",outcome="success",service="{service}"'
        line = f"policyctl_calls_total{{{labels}}} {calls}.0"
        assert line in done.stdout.splitlines()
