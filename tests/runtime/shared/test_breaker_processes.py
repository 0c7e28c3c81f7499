"""Shared breakers over real processes, whose clocks differ by minutes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timing
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """A process that runs ``worker.py``."""

    def __init__(self, shift: float, recovery: float, max_wait: float) -> None:
        arguments = [str(number) for number in (shift, recovery, max_wait)]
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, command: str) -> None:
        """Give a command without waiting for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """The answer to the oldest command that was not answered yet."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, command: str) -> str:
        """Give a command and wait for its answer."""
        self.send(command)
        return self.read()

    @property
    def state(self) -> str:
        """The state of the circuit."""
        return self.ask("state").split()[0]

    @property
    def retry_after(self) -> float:
        """Seconds until a probe."""
        return float(self.ask("state").split()[1])

    def kill(self) -> None:
        """End it like a crash."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def workers(valkey: Any) -> Iterator[Callable[..., list[Worker]]]:
    """``workers(recovery, max_wait)``: two processes whose clocks are 11 minutes apart."""
    started: list[Worker] = []

    def start(recovery: float, max_wait: float = 30.0) -> list[Worker]:
        started.extend(Worker(shift, recovery, max_wait) for shift in (-300.0, 360.0))
        assert [worker.read() for worker in started] == ["ready", "ready"]
        assert [worker.ask("ok 1") for worker in started] == ["ok", "ok"]
        return started

    yield start
    for worker in started:
        worker.kill()


Start = Callable[..., list[Worker]]


def test_two_hundred_tasks_admit_exactly_the_permits(
    workers: Start, wait_until: Any
) -> None:
    """C11: 100 tasks in each of two processes, three probes in all, then closed."""
    one, two = workers(0.3)
    assert one.ask("fail 3") == "failed,failed,failed"
    wait_until(lambda: (one.state, two.state) == ("half_open", "half_open"))
    one.send("probe 100")
    two.send("probe 100")
    assert (one.read(), two.read()) == ("started", "started")

    def counts() -> tuple[int, int]:
        pairs = [worker.ask("admitted").split() for worker in (one, two)]
        return sum(int(a) for a, _ in pairs), sum(int(r) for _, r in pairs)

    wait_until(lambda: counts() == (3, 197))
    time.sleep(0.3)
    assert counts() == (3, 197)
    one.send("release")
    two.send("release")
    assert (one.read(), two.read()) == ("released", "released")
    wait_until(lambda: (one.state, two.state) == ("closed", "closed"))


def test_clocks_that_differ_by_minutes(workers: Start, wait_until: Any) -> None:
    """CB-16: the same rest of the break in both, whatever their clocks say."""
    one, two = workers(20.0)
    start = time.monotonic()
    one.ask("fail 3")
    wait_until(lambda: two.state == "open")
    here, there = one.retry_after, two.retry_after
    rest = 20.0 - (time.monotonic() - start)
    assert here == pytest.approx(rest, abs=0.2)
    assert there == pytest.approx(rest, abs=0.2)


def test_the_lease_of_a_killed_process_expires(workers: Start, wait_until: Any) -> None:
    """kill -9 with all permits in hand: others probe again when the leases are over."""
    one, two = workers(0.2, 0.3)
    one.ask("fail 3")
    wait_until(lambda: (one.state, two.state) == ("half_open", "half_open"))
    one.ask("probe 3")
    wait_until(lambda: one.ask("admitted") == "3 0")
    one.kill()
    start = time.monotonic()
    assert two.ask("ok 1") == "refused"
    wait_until(lambda: two.ask("ok 1") == "ok")
    assert 0.3 < time.monotonic() - start < 5.0
    assert two.ask("ok 2") == "ok,ok"
    wait_until(lambda: two.state == "closed")
