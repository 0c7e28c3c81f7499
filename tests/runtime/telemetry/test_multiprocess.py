"""Metrics of several processes, in the files of prometheus_client."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from subprocess import run

import pytest
from prometheus_client.parser import text_string_to_metric_families

PREFORK = """
    import os, sys, time
    from policyctl.runtime import settings
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.telemetry import enable, multiprocess
    from policyctl.runtime.telemetry.beat import BEAT

    enable("shop", metrics="prometheus", heartbeat=30.0)
    policy = Policy(
        service="shop", operation="buy", bulkhead=settings.Bulkhead(max_concurrent=4),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
    )

    @policy
    def buy(works=True):
        if not works:
            raise OSError

    buy()
    children = []
    for number in range(2):
        child = os.fork()
        if child == 0:
            buy()
            buy()
            if number:
                try:
                    buy(False)
                except OSError:
                    pass
            multiprocess._files.write()
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    buy()
    multiprocess._files.write()
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_add_up(tmp_path: Path) -> None:
    """A parent with 2 calls and two children with 2 and 3: 7 in all, none twice."""
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    read = """
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        print(generate_latest(registry).decode())
    """
    texts = [PREFORK, read]
    for text in texts:
        done = run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(done.stdout)
        for sample in family.samples
    }
    names = (("operation", "buy"), ("service", "shop"))

    def value(name: str, *labels: tuple[str, str]) -> float:
        return samples[(name, *sorted((*names, *labels)))]

    assert value("policyctl_calls_total", ("outcome", "success")) == 6
    assert value("policyctl_calls_total", ("outcome", "failure")) == 1
    assert value("policyctl_call_seconds_count") == 7
    assert value("policyctl_call_seconds_bucket", ("le", "+Inf")) == 7
    assert value("policyctl_attempts_total") == 7
    assert value("policyctl_circuit_breaker_state", ("state", "open")) == 1
    assert value("policyctl_circuit_breaker_state", ("state", "closed")) == 2
    assert value("policyctl_bulkhead_in_use") == 0
    beats = [key for key in samples if "heartbeat" in key[0]]
    assert len(beats) == 3
