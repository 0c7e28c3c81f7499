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
        gate.wait(60)
    return "ok"


def hold_locks():
    with policy.gate.lock, registry._lock:
        held.set()
        done.wait(60)


callers = [threading.Thread(target=call, args=(True,)) for _ in range(2)]
for caller in callers:
    caller.start()
inside.wait(60)
holder = threading.Thread(target=hold_locks)
holder.start()
held.wait(60)
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


EVERY_LOCK = """
import asyncio
import faulthandler
import gc
import os
import threading
import types

from policyctl.runtime import settings
from policyctl.runtime.events import EVENTS
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

everything = dict(
    attempt_timeout=settings.AttemptTimeout(total=30.0),
    budget=settings.Budget(total=60.0),
    retry=settings.Retry(retry_on=("OSError",), budget=settings.RetryBudget()),
    circuit_breaker=settings.CircuitBreaker(
        failure_ratio=0.5, window=settings.Window(seconds=30.0)
    ),
    rate_limit=settings.RateLimit(rate=1000.0),
    bulkhead=settings.Bulkhead(max_concurrent=2, max_queue=5, max_wait=5.0),
    idempotency=settings.Idempotency(key=("key",)),
    fallback=settings.FallbackValue(value="no", fallback_on=("OSError",)),
)
policy = Policy(service="bh12", operation="call", **everything)
by_key = Policy(
    service="bh12",
    operation="by_key",
    circuit_breaker=settings.CircuitBreaker(scope="argument:key"),
    bulkhead=settings.Bulkhead(max_concurrent=2, scope="argument:key"),
)
whole = Policy(
    service="bh12",
    operation="whole",
    circuit_breaker=settings.CircuitBreaker(scope="service"),
    bulkhead=settings.Bulkhead(max_concurrent=2, scope="service"),
)
inbound = Inbound(
    service="bh12",
    bulkhead=settings.Bulkhead(max_concurrent=2),
    rate_limit=settings.RateLimit(rate=1000.0),
)


def work(key):
    return "ok " + key


async def work_in_task(key):
    return "ok " + key


def use_everything(key):
    for one in (policy, by_key, whole):
        assert one(work)(key) == "ok " + key
        assert asyncio.run(one(work_in_task)(key + "t")) == "ok " + key + "t"
        one.statistics()
    assert inbound.enter() is None
    inbound.leave()
    policy.circuit_breaker.force_open()
    policy.circuit_breaker.reset()
    assert Policy(service="bh12", operation="new" + key)
    assert "bh12.call" in registry


EVENTS.listen(lambda event: None)
use_everything("a")

LOCKS = (type(threading.Lock()), type(threading.RLock()))


def locks():
    # Every lock that an object or a module of the runtime holds.
    found = {}
    for item in gc.get_objects():
        is_module = isinstance(item, types.ModuleType)
        module = item.__name__ if is_module else type(item).__module__
        if not str(module).startswith("policyctl.runtime"):
            continue
        names = set(getattr(item, "__dict__", ()) or ())
        for cls in type(item).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            names.update([slots] if isinstance(slots, str) else slots)
        for name in names:
            value = getattr(item, name, None)
            if isinstance(value, LOCKS):
                found[id(value)] = (f"{module} {type(item).__name__}.{name}", value)
    return found


held, done = threading.Event(), threading.Event()


def hold():
    taken = []
    for name, lock in locks().values():
        if lock.acquire(blocking=False):
            names.append(name)
            taken.append(lock)
    held.set()
    done.wait(60)
    for lock in taken:
        lock.release()


names = []
holder = threading.Thread(target=hold, daemon=True)
holder.start()
held.wait(10)
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(20, exit=True)
    use_everything("b")
    os.write(1, b"child fine\\n")
    os._exit(0)
_, status = os.waitpid(child, 0)
done.set()
holder.join()
assert len(names) > 15, names
print("parent fine", status)
"""


def output_of(program: str, folder: Path) -> list[str]:
    """The lines that a program prints which forks while it has several threads."""
    file = folder / "program.py"
    file.write_text(program)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return run.stdout.splitlines() or [run.stderr]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_starts_afresh_and_the_parent_goes_on(tmp_path: Path) -> None:
    """In the child locks are free, slots empty, calls work; the parent is untouched."""
    assert output_of(PROGRAM, tmp_path) == ["child fine", "parent fine 0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_no_lock_of_the_runtime_is_inherited_as_held(tmp_path: Path) -> None:
    """Another thread holds every lock that can be found; the child uses every pattern."""
    assert output_of(EVERY_LOCK, tmp_path) == ["child fine", "parent fine 0"]
