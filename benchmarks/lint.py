"""Speed of validate and generate on many services, beside check-jsonschema and yamllint.

python -m benchmarks.lint [SERVICES...]     (default: 1000 10000)

Everything runs in processes of its own, one after the other, on the same files. The
floors are Python doing nothing, and Python draining PyYAML's C events of all files.
Times are of the processor, which a busy machine disturbs less than those of the clock;
all of these programs use one thread.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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
SCHEMA_TOOL_FILES = 200
"""check-jsonschema and yamllint see this many of the files, and are scaled up."""


@dataclass(frozen=True)
class Timing:
    """Processor seconds of the best run, and the peak of its memory in MiB."""

    seconds: float
    memory: float


def timed(command: Sequence[str], folder: Path, runs: int = 3) -> Timing:
    """The best of some runs of a command that may report findings."""
    best = Timing(float("inf"), 0.0)
    for _ in range(runs):
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
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
    ours = [sys.executable, "-m", "policyctl"]
    schema.write_bytes(subprocess.check_output([*ours, "schema"], cwd=folder))
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


def measure(count: int) -> None:
    """Time everything on ``count`` services and print the ratios."""
    with tempfile.TemporaryDirectory(prefix="policyctl-bench-") as name:
        folder = Path(name)
        files = policies.write(folder / "policies", count)
        size = sum(path.stat().st_size for path in files)
        print(
            f"{count:,} services, {policies.OPERATIONS * count:,} operations, {size:,} bytes"
        )
        ours = [sys.executable, "-m", "policyctl"]
        runs = 3 if count <= 2000 else 1
        nothing = timed([sys.executable, "-c", "pass"], folder, 10)
        drain = timed([sys.executable, "-c", DRAIN, "policies"], folder, runs)
        cold = timed([*ours, "validate", "--no-cache"], folder, runs)
        generated = timed([*ours, "generate"], folder, 1)
        for command in (["validate"], ["generate", "--check"]):
            subprocess.run(
                [*ours, *command], cwd=folder, capture_output=True, check=False
            )
        time.sleep(2.1)  # younger files are read again
        warm = {}
        for command in (["validate"], ["generate", "--check"]):
            subprocess.run(
                [*ours, *command], cwd=folder, capture_output=True, check=False
            )
            warm[command[0]] = timed([*ours, *command], folder, 5)
        version = timed([*ours, "--version"], folder, 10)
        rows = [
            ("python -c pass", nothing.seconds, ""),
            ("drain of the C events", drain.seconds, ""),
            (
                "validate, cold",
                cold.seconds,
                f"{cold.seconds / drain.seconds:.1f} x drain",
            ),
            (
                "generate, cold",
                generated.seconds,
                f"{generated.seconds / cold.seconds:.1f} x cold validate",
            ),
            *(
                (
                    f"{name}, nothing changed",
                    t.seconds,
                    f"{t.seconds / nothing.seconds:.1f} x python",
                )
                for name, t in warm.items()
            ),
            (
                "--version",
                version.seconds,
                f"{version.seconds / nothing.seconds:.1f} x python",
            ),
            *(
                (tool_name, seconds, f"{seconds / cold.seconds:.1f} x cold validate")
                for tool_name, seconds in others(folder, count).items()
            ),
        ]
        for title, seconds, ratio in rows:
            print(f"  {title:<28}{seconds:>9.3f} s   {ratio}")
        print(f"  {cold.seconds / count * 1e3:.2f} ms a service, {cold.memory:.0f} MiB")


def main() -> None:
    """Measure each size."""
    for count in [int(text) for text in sys.argv[1:]] or [1000, 10_000]:
        measure(count)


if __name__ == "__main__":
    main()
