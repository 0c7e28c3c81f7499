"""Speed of validate on call graphs of extreme shapes.

python -m benchmarks.graphs

A chain of 10,000 services, one service that calls 2,000 others which all call the same
one, and 31 layers of 10 services each of which calls all of the next layer: 10^30 paths.
Every call is tried twice, so that the rules have products to print. Doubling each shape
shows whether the time grows in proportion to services and calls.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.lint import OURS, environment, timed

POLICY = """\
version: 1
service: {name}
owner: team
defaults:
  transport: http
  idempotent: true
  attempt_timeout: 2s
  budget: 8s
  retry: {{max_attempts: 2}}
operations:
  run:
    calls: [{calls}]
"""
Graph = Mapping[str, Sequence[str]]
"""Services by name, each with those that it calls."""


def chain(size: int) -> Graph:
    """Each service calls the next."""
    return {f"s{n}": [f"s{n + 1}"] if n + 1 < size else [] for n in range(size)}


def fan(size: int) -> Graph:
    """One service calls many, and all of them call one."""
    middle = {f"s{n}": ["leaf"] for n in range(size)}
    return {"root": list(middle), **middle, "leaf": []}


def layers(size: int) -> Graph:
    """Every service of a layer calls the ten of the next."""
    return {
        f"l{layer}x{n}": (
            [f"l{layer + 1}x{other}" for other in range(10)] if layer + 1 < size else []
        )
        for layer in range(size)
        for n in range(10)
    }


SHAPES: tuple[tuple[str, Callable[[int], Graph], int], ...] = (
    ("chain of 10,000", chain, 10_000),
    ("2,000 callees and callers", fan, 2_000),
    ("31 layers of 10", layers, 31),
)


def seconds(graph: Graph) -> tuple[float, float]:
    """Processor seconds and MiB of one cold run over a graph."""
    with tempfile.TemporaryDirectory(prefix="policyctl-bench-") as name:
        folder = Path(name)
        (folder / "policies").mkdir()
        for service, callees in graph.items():
            calls = ", ".join(f"{{to: {callee}.run}}" for callee in callees)
            text = POLICY.format(name=service, calls=calls)
            (folder / "policies" / f"{service}.yaml").write_text(text, "utf-8")
        found = timed([*OURS, "validate", "--no-cache"], folder, 1)
        return found.seconds, found.memory


def main() -> None:
    """Measure each shape at half its size and at the whole."""
    warmed = [*OURS, "--help"]
    subprocess.run(warmed, env=environment(), capture_output=True, check=False)
    print(f"Python {sys.version.split()[0]}")
    for title, shape, size in SHAPES:
        half, _ = seconds(shape(size // 2))
        whole, memory = seconds(shape(size))
        print(
            f"  {title:<28}{whole:>7.2f} s   {whole / half:.1f} x half of it"
            f"   {memory:.0f} MiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
