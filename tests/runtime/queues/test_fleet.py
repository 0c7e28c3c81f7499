"""A region-wide blip: 200 agents lose the broker for a minute and come back.

The broker is a real HTTP server on the loopback; time is that of a fake clock, so that
the minutes of 200 agents take seconds. Agents act in the order of their next step.
"""

from __future__ import annotations

import heapq
import http.client
import http.server
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.policy import Policy
from policyctl.runtime.queues import Queue, Redelivery, Sqlite, Upload, live
from policyctl.runtime.queues.pace import CATCH_UP
from policyctl.runtime.registry import registry
from policyctl.testing import FakeClock

AGENTS = 200
INTERVAL = 5.0
NORMAL = AGENTS / INTERVAL
"""Calls in a second when nothing is wrong."""
CAPACITY = 2 * NORMAL
"""Calls in a second that the broker serves; it answers 503 to the rest."""
OUTAGE = (20.0, 80.0)
END = 170.0


class Unavailable(Exception):
    """An answer that is no success, with its status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status_code = status


class Broker(http.server.ThreadingHTTPServer):
    """Counts what it sees in each second and serves only so much."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.now = 0.0
        self.seen: Counter[int] = Counter()
        self.reports: list[int] = []


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes a batch of reports."""

    protocol_version = "HTTP/1.1"
    server: Broker

    def do_POST(self) -> None:
        """Serve, or refuse what is over the capacity of this second."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        broker, second = self.server, int(self.server.now)
        broker.seen[second] += 1
        served = broker.seen[second] <= CAPACITY
        if served:
            broker.reports += json.loads(body)
        self.send_response(200 if served else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A running broker."""
    broker = Broker()
    thread = threading.Thread(target=broker.serve_forever, daemon=True)
    thread.start()
    yield broker
    broker.shutdown()
    broker.server_close()


class Fleet:
    """The agents, their queues and the one connection that all of them use."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.broker = broker
        self.connection = http.client.HTTPConnection("127.0.0.1", broker.server_port)
        self.put = 0
        # Without a breaker, which would let few of them try at all.
        Policy(service="fleet", operation="send", transport="http")
        self.queues = [self.queue(folder, n) for n in range(AGENTS)]

    def queue(self, folder: Path, n: int) -> Queue[Any]:
        """The queue of one agent."""
        return Queue(
            service="fleet",
            queue=f"agent{n}",
            store=Sqlite(path=str(folder / f"agent{n % 8}.db")),
            max_size=10_000,
            redelivery=Redelivery(initial=1.0, max=60.0, jitter="full"),
            upload=Upload(operation="fleet.send", batch=100, interval=INTERVAL),
            random=random.Random(n),
        )

    def send(self, payloads: list[dict[str, Any]]) -> None:
        """Send a batch, unless the broker is away."""
        if OUTAGE[0] <= self.broker.now < OUTAGE[1]:
            raise ConnectionRefusedError("the broker is away")
        body = json.dumps([payload["n"] for payload in payloads])
        self.connection.request("POST", "/reports", body)
        response = self.connection.getresponse()
        response.read()
        if response.status != 200:
            raise Unavailable(response.status)

    def run(self, clock: FakeClock) -> None:
        """Let every agent report twice in an interval, and step its worker."""
        start = clock.now()
        workers = [queue.worker(self.send) for queue in self.queues]
        steps = [(worker.pace.first(), n) for n, worker in enumerate(workers)]
        heapq.heapify(steps)
        while steps:
            at, n = heapq.heappop(steps)
            if at > END:
                continue
            clock.advance(max(0.0, start + at - clock.now()))
            self.broker.now = at
            if at < END - 60:
                numbers = range(self.put, self.put + 2)
                self.queues[n].put_many([{"n": number} for number in numbers])
                self.put += 2
            heapq.heappush(steps, (at + max(workers[n].step(), 0.01), n))


def test_a_blip_does_not_become_a_storm(broker: Broker, memory_path: Path) -> None:
    """No second sees more than CATCH_UP times the normal load; every report arrives."""
    with FakeClock() as clock:
        fleet = Fleet(broker, memory_path)
        fleet.run(clock)
        left = sum(queue.stats().size for queue in fleet.queues)
        for n in range(AGENTS):
            live.forget(f"fleet.agent{n}")
    registry.forget("fleet.send")
    assert left == 0
    assert sorted(broker.reports) == list(range(fleet.put))
    before = [broker.seen[second] for second in range(5, int(OUTAGE[0]))]
    assert max(before) <= 2 * NORMAL
    worst = max(broker.seen.values())
    # The bound that pauses guarantee is CATCH_UP; jitter keeps far below it.
    assert worst <= CAPACITY < CATCH_UP * NORMAL
    assert all(not OUTAGE[0] < second < OUTAGE[1] - 1 for second in broker.seen)
