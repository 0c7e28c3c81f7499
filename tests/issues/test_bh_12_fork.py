"""BH-12: a process forks while calls are in flight and locks are held."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os
import sys
import threading

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

policy = Policy(
    service="bh12",
    operation="call",
    attempt_timeout=settings.AttemptTimeout(total=30.0),
    circuit_breaker=settings.CircuitBreaker(failure_threshold=2),
    bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=5, max_wait=5.0),
)
inside, gate, held, done = (threading.Event() for _ in range(4))


@policy
def call(wait=False):
    if wait:
        inside.set()
        gate.wait(20)
    return "ok"


def hold_locks():
    with policy.gate.lock, registry._lock:
        held.set()
        done.wait(20)


callers = [threading.Thread(target=call, args=(True,)) for _ in range(2)]
for caller in callers:
    caller.start()
inside.wait(5)
holder = threading.Thread(target=hold_locks)
holder.start()
held.wait(5)
child = os.fork()
if child == 0:
    assert policy.bulkhead.in_use == 0, policy.bulkhead.in_use
    assert [call() for _ in range(5)] == ["ok"] * 5
    assert Policy(service="bh12", operation="other")
    policy.circuit_breaker.force_open()
    assert registry["bh12.call"].circuit_breaker.state == "forced_open"
    sys.stdout.write("child fine\\n")
    sys.stdout.flush()
    os._exit(0)
status = os.waitpid(child, 0)[1]
done.set()
gate.set()
for thread in (*callers, holder):
    thread.join()
assert policy.bulkhead.in_use == 0
assert policy.circuit_breaker.state == "closed"
assert call() == "ok"
print("parent fine", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_starts_afresh_and_the_parent_goes_on(tmp_path: Path) -> None:
    """In the child locks are free, slots empty, calls work; the parent is untouched."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert run.stdout.splitlines() == ["child fine", "parent fine 0"], run.stderr
