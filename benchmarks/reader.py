"""How much the reader costs over draining PyYAML's C events, on the same files.

Run: python benchmarks/reader.py [FOLDER]. Prints the median of interleaved rounds.
Without a folder, policies of one shape are made up: 68 lines, 5 operations each.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from policyctl.source.events import event_source
from policyctl.source.reader import read

ROUNDS = 15

OPERATION = """\
  operation_{n}:
    idempotent: true
    transport: http
    attempt_timeout: 5s
    budget: 15s  # the caller's promise
    retry:
      max_attempts: 3
      backoff: {{initial: 100ms, multiplier: 2, max: 5s, jitter: full}}
      retry_on: [not_sent, connection_lost, timeout]
    circuit_breaker:
      failure_threshold: 5
      recovery_timeout: 30s
    bulkhead: {{max_concurrent: 10, max_queue: 20, max_wait: 50ms}}
"""


def made_up(count: int) -> list[bytes]:
    """``count`` service documents as bytes."""
    operations = "".join(OPERATION.format(n=n) for n in range(5))
    return [
        f"version: 1\nservice: service_{i}\nowner: team\noperations:\n{operations}".encode()
        for i in range(count)
    ]


def drain(files: list[bytes]) -> None:
    """Only take the events."""
    for data in files:
        next_event = event_source(data)
        try:
            while next_event() is not None:
                pass
        except yaml.YAMLError:
            continue


def build(files: list[bytes]) -> None:
    """Read the files as the product does."""
    for data in files:
        read(data, "file.yaml")


def seconds(work: Callable[[list[bytes]], None], files: list[bytes]) -> float:
    """How long one pass takes."""
    begin = time.perf_counter()
    work(files)
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 1:
        paths = sorted(Path(sys.argv[1]).rglob("*.y*ml"))
        files = [path.read_bytes() for path in paths]
    else:
        files = made_up(200)
    drain(files)
    build(files)
    gc.collect()
    pairs = [(seconds(drain, files), seconds(build, files)) for _ in range(ROUNDS)]
    drained, read_whole = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(whole / part for part, whole in pairs)
    print(f"{len(files)} files, {sum(map(len, files)):,} bytes")
    print(f"drain {drained * 1e3:8.1f} ms")
    print(f"read  {read_whole * 1e3:8.1f} ms")
    print(f"ratio {ratio:8.2f}")


if __name__ == "__main__":
    main()
