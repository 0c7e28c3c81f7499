"""Policies for benchmarks: valid, different from each other, with facts and calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

OPERATIONS = 5

_HEAD = """\
version: 1
service: service_{i}
owner: team_{team}
description: service {i}, made up
facts:
  {{instances: 4, workers: 40, capacity: {capacity}/s, objective: 60s,
   service_time: {{mean: 30ms, p99: 200ms}}}}
  # capacity and latency are from the load test of last quarter; rates are
  # those of the busiest hour, all clients together
class: online
operations:
"""

_OPERATION = """\
  operation_{n}:
    idempotent: true
    transport: http
    facts: {{rate: {rate}/s, callers: 4, latency: {{mean: 80ms, p50: 70ms, p99: 400ms}}}}
    attempt_timeout: {timeout}ms
    budget: 20s  # what the caller was promised
    retry:
      max_attempts: {attempts}
      backoff: {{initial: 100ms, multiplier: 2, max: 5s, jitter: full}}
      budget: {{ratio: 10%}}
    circuit_breaker: {{failure_threshold: 10, recovery_timeout: {recovery}s}}
"""

_CALLS = """\
calls:
  - {{to: service_{other}.operation_0, per_request: 0.01, mode: detached}}
"""


def policy(i: int) -> str:
    """The document of service ``i`` of ``count``: 68 lines, 5 operations.

    Every other service calls its neighbour, and one in 20 has a finding.
    """
    operations = "".join(
        _OPERATION.format(
            n=n,
            rate=5 + (i + n) % 7,
            timeout=1200 + i % 50,
            recovery=30 + i % 20,
            attempts=4 if i % 20 == 7 and n == 0 else 3,
        )
        for n in range(OPERATIONS)
    )
    head = _HEAD.format(i=i, team=i % 40, capacity=300 + i % 100)
    body = head + operations
    return body if i % 2 else body + _CALLS.format(other=i + 1)


def write(folder: Path, count: int) -> list[Path]:
    """Write ``count`` services below ``folder``; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(folder / f"service_{i}.yaml", i) for i in range(count)]


def _written(path: Path, i: int) -> Path:
    path.write_text(policy(i), "utf-8")
    return path


def texts(count: int) -> Iterator[bytes]:
    """The documents of ``count`` services as bytes."""
    return (policy(i).encode() for i in range(count))
