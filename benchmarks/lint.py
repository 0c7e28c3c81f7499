"""Speed of validate and generate on many services, beside check-jsonschema and yamllint.

python -m benchmarks.lint [SERVICES...]     (default: 1000 10000)

Everything runs in processes of its own, one after the other, on the same files. The
floors are Python doing nothing, and Python draining PyYAML's C events of all files.
Times are of the processor, which a busy machine disturbs less than those of the clock;
all of these programs use one thread. Each figure is printed once it is there. Of more
than 2,000 services only validate is measured, once: ``benchmarks.generate`` measures the
other half, and what the other tools take is in proportion.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import policies

DRAIN = """
import sys
from pathlib import Path
from yaml._yaml import CParser
for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
    next_event = CParser(path.read_bytes()).get_event
    while next_event() is not None:
        pass
"""
MOST_REPEATED = 2_000
"""Services up to which everything is measured, and repeatedly."""

SCHEMA_TOOL_FILES = 200
"""check-jsonschema and yamllint see this many of the files, and are scaled up."""


@dataclass(frozen=True)
class Timing:
    """Processor seconds of the best run, and the peak of its memory in MiB."""

    seconds: float
    memory: float


def environment() -> Mapping[str, str]:
    """The environment, with bytecode kept: nobody compiles a program for each run."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str], folder: Path, runs: int = 3) -> Timing:
    """The best of some runs of a command that may report findings."""
    best = Timing(float("inf"), 0.0)
    for _ in range(runs):
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = usage.ru_utime + usage.ru_stime
        if process.returncode not in (0, 1):
            raise SystemExit(f"{command}: {errors.decode()[-500:]}")
        best = min(
            best, Timing(seconds, usage.ru_maxrss / 1024), key=lambda t: t.seconds
        )
    return best


def tool(name: str) -> str | None:
    """Another tool, beside this Python or on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def others(folder: Path, count: int) -> dict[str, float]:
    """Seconds of the tools that check YAML files, scaled to ``count`` files."""
    schema = folder / "schema.json"
    schema.write_bytes(subprocess.check_output([*OURS, "schema"], cwd=folder))
    files = sorted((folder / "policies").glob("*.yaml"))[:SCHEMA_TOOL_FILES]
    names = [str(path.relative_to(folder)) for path in files]
    found: dict[str, float] = {}
    for name, options in (
        ("check-jsonschema", ["--schemafile", str(schema)]),
        ("yamllint", ["-d", "relaxed"]),
    ):
        program = tool(name)
        if program is None:
            print(
                f"  {name} is not installed: pip install -r benchmarks/requirements.txt"
            )
            continue
        one = timed([program, *options, names[0]], folder, 1).seconds
        many = timed([program, *options, *names], folder, 1).seconds
        each = (many - one) / max(1, len(names) - 1)
        found[name] = one + each * (count - 1)
    return found


OURS = (sys.executable, "-m", "policyctl")


def row(title: str, timing: Timing, base: Timing | None = None, unit: str = "") -> None:
    """Print one figure, as a multiple of another."""
    ratio = "" if base is None else f"{timing.seconds / base.seconds:.1f} x {unit}"
    print(f"  {title:<36}{timing.seconds:>9.3f} s   {ratio}".rstrip(), flush=True)


def measure(count: int) -> None:
    """Time everything on ``count`` services and print the ratios."""
    with tempfile.TemporaryDirectory(prefix="policyctl-bench-") as name:
        folder = Path(name)
        files = policies.write(folder / "policies", count)
        size = sum(path.stat().st_size for path in files)
        print(
            f"{count:,} services, {policies.OPERATIONS * count:,} operations, {size:,} bytes",
            flush=True,
        )
        nothing = timed([sys.executable, "-c", "pass"], folder, 10)
        row("python -c pass", nothing)
        small = count <= MOST_REPEATED
        cold = cold_runs(folder, 3 if small else 1)
        if small:
            generated = timed([*OURS, "generate"], folder, 1)
            row("generate, cold", generated, cold, "cold validate")
        warm(["validate"], folder, nothing)
        if small:
            warm(["generate", "--check"], folder, nothing)
            row("--version", timed([*OURS, "--version"], folder, 10), nothing, "python")
            for other, seconds in others(folder, count).items():
                ratio = f"{seconds / cold.seconds:.1f} x cold validate"
                print(f"  {other:<36}{seconds:>9.3f} s   {ratio}", flush=True)
        print(f"  {cold.seconds / count * 1e3:.2f} ms a service, {cold.memory:.0f} MiB")


def cold_runs(folder: Path, runs: int) -> Timing:
    """validate beside the drain in turns, so that a slow phase of the machine hits both."""
    drain_command = [sys.executable, "-c", DRAIN, "policies"]
    pairs = [
        (
            timed(drain_command, folder, 1),
            timed([*OURS, "validate", "--no-cache"], folder, 1),
        )
        for _ in range(runs)
    ]
    drain, cold = min(pairs, key=lambda pair: pair[0].seconds + pair[1].seconds)
    row("drain of the C events", drain)
    row("validate, cold", cold, drain, "drain")
    return cold


def warm(command: list[str], folder: Path, nothing: Timing) -> None:
    """The time of a run that nothing has changed for."""
    for pause in (2.1, 0.0):  # younger files are read again
        subprocess.run(
            [*OURS, *command],
            cwd=folder,
            env=environment(),
            capture_output=True,
            check=False,
        )
        time.sleep(pause)
    if not list(folder.glob(".policyctl-cache/*.run")):
        print(f"  {' '.join(command)}: not kept, something changed while it ran")
        return
    unchanged = timed([*OURS, *command], folder, 5)
    row(f"{' '.join(command)}, nothing changed", unchanged, nothing, "python")


def main() -> None:
    """Measure each size."""
    for count in [int(text) for text in sys.argv[1:]] or [1000, 10_000]:
        measure(count)


if __name__ == "__main__":
    main()
