"""CG-14: hooks that run in parallel chunks write the same files over each other.

https://github.com/pre-commit/pre-commit/issues/3303,
https://github.com/antonbabenko/pre-commit-terraform/pull/33
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
POLICY = """\
version: 1
service: {name}
operations:
  get: {{transport: http, idempotent: true, attempt_timeout: 1s, budget: {budget}}}
environments:
  staging: {{defaults: {{budget: 9s}}}}
"""
RUNS = 16
OTHERS = (5, 10)
"""Which of them have other options."""


def test_the_shipped_hooks_are_serial_and_take_no_names() -> None:
    """pre-commit starts one process for each hook, on all policies together."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == [
        "policyctl-validate",
        "policyctl-generate",
    ]
    for hook in hooks:
        assert (hook["require_serial"], hook["pass_filenames"]) == (True, False)
        assert hook["always_run"] is True
        assert hook["additional_dependencies"] == [".[cli]"]


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a generate in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "policyctl", "generate", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """The files of the package."""
    package = folder / "generated"
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file()
    }


def generated(folder: Path, *options: str) -> dict[str, bytes]:
    """What one run alone makes."""
    process = start(folder, *options)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    return contents(folder)


def test_parallel_runs_leave_one_complete_version(tmp_path: Path) -> None:
    """Of runs with different options one wins whole: no mixture, nothing left over."""
    for number in range(4):
        path = tmp_path / "policies" / f"s{number}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(POLICY.format(name=f"svc_{number}", budget="5s"), "utf-8")
    plain = generated(tmp_path)
    staging = generated(tmp_path, "--environment", "staging")
    assert plain != staging
    runs = [
        start(tmp_path, *(["--environment", "staging"] if number in OTHERS else []))
        for number in range(RUNS)
    ]
    for run in runs:
        output, _ = run.communicate(timeout=120)
        assert run.returncode == 0, output
        assert b"Traceback" not in output
    assert contents(tmp_path) in (plain, staging)
    places = [".policyctl-cache", "generated", "policies"]
    assert sorted(path.name for path in tmp_path.iterdir()) == places
    cache = tmp_path / ".policyctl-cache"
    assert sorted(path.name for path in cache.iterdir()) == [".gitignore", "modules"]
