"""RT-05: guarded functions in process pools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

from guarded_rt05 import double, refuse, state
from policyctl.runtime.errors import CircuitOpenError

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(double)) is double
    context = multiprocessing.get_context("{method}")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        print(list(pool.map(double, range(4))))
        for _ in range(2):
            try:
                pool.submit(refuse).result()
            except CircuitOpenError as error:
                print(type(error).__name__, error.service, error.retry_after)
    print(state())
"""
MODULE = """
from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

policy = Policy(
    service="rt05",
    operation="double",
    circuit_breaker=settings.CircuitBreaker(failure_threshold=1),
    bulkhead=settings.Bulkhead(max_concurrent=2),
)


@policy
def double(number):
    return 2 * number


def refuse():
    policy.circuit_breaker.force_open()
    try:
        return double(1)
    finally:
        policy.circuit_breaker.reset()


def state():
    return policy.circuit_breaker.state
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_guarded_functions_travel_by_reference(tmp_path: Path, method: str) -> None:
    """Each child has its own state; an error comes back as the policy's own."""
    if method == "fork" and sys.platform == "win32":
        pytest.skip("Windows has no fork")
    (tmp_path / "guarded_rt05.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM.format(method=method))
    run = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    refused = "CircuitOpenError rt05 inf"
    assert run.stdout.splitlines() == [
        "[0, 2, 4, 6]",
        refused,
        refused,
        "closed",
    ], run.stderr
