"""Runs every benchmark of this folder, one after the other, and says which goals are missed.

python -m benchmarks.run [NAME...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MISSED = "MISSED"
"""What stands in a benchmark's line whose goal was not met."""


def names() -> list[str]:
    """The benchmarks: every module here but this one."""
    own = Path(__file__).stem
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != own)


def run(name: str) -> list[str]:
    """Run one in a process of its own, printing along; what it says that it missed."""
    print(f"== {name}", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    missed: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if MISSED in line:
                missed.append(" ".join(line.split()))
    print(flush=True)
    if process.returncode and not missed:
        missed.append(f"ended with status {process.returncode}, see above")
    return [f"{name}: {line}" for line in missed]


def main(wanted: list[str]) -> int:
    """Run them; 1 if a goal was missed or one failed."""
    missed = [line for name in wanted or names() for line in run(name)]
    if not missed:
        print("every goal is met")
        return 0
    print(f"{len(missed)} goals missed:")
    for line in missed:
        print(f"  {line}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
