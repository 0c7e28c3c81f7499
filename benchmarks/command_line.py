"""What the command line costs, as multiples of ``python -c pass`` in the same rounds.

python -m benchmarks.command_line

Goals: --version 1.5, a validate or generate that changes nothing 10 (with the result
cache that a later version brings; without it, what parsing and linting cost).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
ENTRY = "import sys; from policyctl.cli.main import run; sys.exit(run())"
COMMANDS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "config show": ["config", "show"],
    "rules": ["rules"],
    "schema": ["schema"],
    "validate, one service": ["validate"],
    "generate, up to date": ["generate"],
    "generate --check": ["generate", "--check"],
}


def seconds(command: list[str], folder: Path) -> float:
    """How long one run takes."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> None:
    """Run all commands in turn, and print medians of ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policyctl = [sys.executable, "-c", ENTRY]
        for setup in (["init"], ["generate"]):
            subprocess.run(
                [*policyctl, *setup], cwd=folder, stdout=subprocess.DEVNULL, check=True
            )
        ratios: dict[str, list[float]] = {title: [] for title in COMMANDS}
        base: list[float] = []
        for _ in range(ROUNDS):
            bare = seconds([sys.executable, "-c", "pass"], folder)
            base.append(bare)
            for title, arguments in COMMANDS.items():
                ratios[title].append(seconds([*policyctl, *arguments], folder) / bare)
    print(
        f"python -c pass: {statistics.median(base) * 1000:.1f} ms on {os.cpu_count()} CPUs"
    )
    for title, found in ratios.items():
        print(f"{title:<24} {statistics.median(found):5.1f} x")


if __name__ == "__main__":
    main()
