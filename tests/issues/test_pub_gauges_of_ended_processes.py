"""Gauges of processes that are gone: prometheus client_python #495, couchers PR 8855.

Workers that a server recycles leave their files, and every sum over them grows.
"""

from __future__ import annotations

import os
import sys
import textwrap
from math import isnan
from pathlib import Path
from subprocess import run

from prometheus_client.parser import text_string_to_metric_families

WORKER = """
    from policyctl.runtime import settings
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.telemetry import enable

    enable("shop", metrics="prometheus", heartbeat=30.0)
    policy = Policy(
        service="shop", operation="buy", bulkhead=settings.Bulkhead(max_concurrent=4),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
    )
    policy.call(lambda: None)
"""
SCRAPE = """
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    print(generate_latest(registry).decode())
"""


def python(text: str, **environment: str) -> str:
    """What a program prints."""
    done = run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_workers_that_ended_are_counted_and_in_no_state(tmp_path: Path) -> None:
    """Two after each other: two calls, no circuit, and heartbeats that say nothing."""
    directory = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        python(WORKER, **directory)
    samples = [
        sample
        for family in text_string_to_metric_families(python(SCRAPE, **directory))
        for sample in family.samples
    ]
    calls = [s.value for s in samples if s.labels.get("outcome") == "success"]
    states = [s.value for s in samples if "circuit_breaker_state" in s.name]
    beats = [s.value for s in samples if "heartbeat" in s.name]
    assert calls == [2.0]
    assert set(states) == {0.0}
    assert all(map(isnan, beats))


def test_a_folder_that_is_not_there_costs_no_call(tmp_path: Path) -> None:
    """The missing folder is reported; the answer is the function's."""
    end = """
    from policyctl.runtime.telemetry.beat import BEAT

    BEAT.stop()  # what it has begun to say is said before the program ends
    print("answered")
    """
    done = run(
        [sys.executable, "-c", textwrap.dedent(WORKER) + textwrap.dedent(end)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "missing")},
    )
    assert (done.returncode, done.stdout) == (0, "answered\n")
    assert "missing" in done.stderr
