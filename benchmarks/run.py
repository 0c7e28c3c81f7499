"""Runs every benchmark of this folder, one after the other.

python -m benchmarks.run [NAME...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    """The benchmarks: every module here but this one."""
    own = Path(__file__).stem
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != own)


def main(wanted: list[str]) -> int:
    """Run them, each in a process of its own; return 1 if one failed."""
    failed = 0
    for name in wanted or names():
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        failed |= done.returncode != 0
        print(flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
