"""What only a server can show: its clock, its memory, many clients, a cluster (C34)."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import Queue, Redelivery, Redis, live
from policyctl.runtime.queues.admin import open_server

MakeQueue = Callable[..., Queue[Any]]
_numbers = itertools.count()


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Iterator[MakeQueue]:
    """Makes queues on the server that POLICY_REDIS_URL names, in real time."""
    made: list[str] = []

    def create(**changes: Any) -> Queue[Any]:
        name = f"r{next(_numbers)}"
        made.append(name)
        values: dict[str, Any] = {
            "max_size": 1000,
            "redelivery": Redelivery(initial=0.0, max=0.0),
        }
        store = Redis(key=name, url_env="POLICY_REDIS_URL")
        return Queue(service="tests", queue=name, store=store, **values | changes)

    yield create
    for name in made:
        live.forget(f"tests.{name}")


@pytest.mark.timing
def test_leases_go_by_the_servers_clock(
    valkey: Any, make: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose clock is hours off changes nothing."""
    queue = make(lease=0.4)
    queue.put({"n": 1})
    assert queue.take() is not None
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 7200)
    assert queue.take() is None
    item = queue.take(timeout=5.0)
    assert item is not None
    assert item.deliveries == 2


def test_many_processes_never_pass_the_limit(valkey: Any, make: MakeQueue) -> None:
    """Of 20 processes exactly as many puts are accepted as there is room."""
    queue = make(max_size=30)
    queue.put({"first": True})
    children = []
    for _ in range(20):
        child = os.fork()
        if child == 0:  # pragma: no cover - ends by _exit
            accepted = 0
            try:
                while True:
                    queue.put({"n": accepted})
                    accepted += 1
            except QueueFullError:
                os._exit(accepted)
            os._exit(255)
        children.append(child)
    counts = [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children]
    assert sum(counts) == 29
    assert queue.stats().size == 30
    with pytest.raises(QueueFullError):
        queue.put({"n": 0})


def test_a_full_memory_is_a_full_queue(own_valkey: Any, make: MakeQueue) -> None:
    """Puts are refused by policy, and the queue still drains."""
    client = own_valkey.client()
    queue = make()
    queue.put_many([{"n": n, "text": "x" * 1000} for n in range(50)])
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", client.info("memory")["used_memory"] - 100_000)
    with pytest.raises(QueueFullError, match="bytes in the server's memory"):
        queue.put({"n": 50})
    drained = 0
    while items := queue.take_many(7):
        drained += sum(queue.ack_many(items))
    assert drained == 50
    client.config_set("maxmemory", 0)
    assert queue.put({"n": 51}).outcome == "queued"


def test_drop_oldest_makes_room_in_memory(own_valkey: Any, make: MakeQueue) -> None:
    """With drop_oldest the newest items get in all the same."""
    client = own_valkey.client()
    queue = make(overflow="drop_oldest")
    queue.put_many([{"n": n, "text": "x" * 1000} for n in range(50)])
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", client.info("memory")["used_memory"] - 100_000)
    assert queue.put({"n": 50}).outcome == "queued"
    assert queue.stats().dropped == 16
    client.config_set("maxmemory", 0)


def test_limits_beside_the_items_follow_the_policy(
    valkey: Any, make: MakeQueue
) -> None:
    """Operators go by those of the last put, whichever changed, and however large."""
    limits: list[dict[str, Any]] = [
        {"max_size": 10},
        {"max_size": 10, "max_bytes": 2 * 10**15},
        {"max_size": 10, "max_bytes": 5000},
        {"max_size": 10**9, "max_bytes": 5000},
        {"max_size": 10**9},
    ]
    first = make(**limits[0])
    store = first.settings.store
    for number, some in enumerate(limits):
        queue: Queue[Any] = Queue(
            service="tests", queue=f"limits{number}", store=store, **some
        )
        queue.put({"n": number})
        (found,) = open_server(valkey.url).values()
        assert found.settings.max_size == some["max_size"]
        assert found.settings.max_bytes == some.get("max_bytes")
        found.close()
        live.forget(f"tests.limits{number}")


class Cluster:
    """Three nodes on the loopback, each with a third of the slots."""

    def __init__(self, start: Callable[..., Any]) -> None:
        options = {"cluster-enabled": "yes", "cluster-node-timeout": "30000"}
        self.nodes = [start(**options) for _ in range(3)]
        self.clients = [self._client(node) for node in self.nodes]
        first = self.clients[0]
        for client, (low, high) in zip(
            self.clients,
            [(0, 5460), (5461, 10922), (10923, 16383)],
            strict=True,
        ):
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", low, high)
        for node in self.nodes[1:]:
            first.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port)

    @staticmethod
    def _client(node: Any) -> Any:
        import redis

        return redis.Redis(port=node.port)

    @property
    def ready(self) -> bool:
        """Whether all nodes know of all slots."""
        infos = [c.execute_command("CLUSTER", "INFO") for c in self.clients]
        return all(_says(info, "cluster_state", "ok") for info in infos) and all(
            _says(info, "cluster_known_nodes", "3") for info in infos
        )

    def move(self, key: str) -> None:
        """Move the slot of a key, with all that is in it, to another node."""
        slot = self.clients[0].execute_command("CLUSTER", "KEYSLOT", key)
        ids = [_text(c.execute_command("CLUSTER", "MYID")) for c in self.clients]
        source = min(slot // 5461, 2)
        target = (source + 1) % 3
        here, there = self.clients[source], self.clients[target]
        there.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        here.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        keys = here.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100)
        place = ("127.0.0.1", self.nodes[target].port)
        here.execute_command("MIGRATE", *place, "", 0, 60_000, "KEYS", *keys)
        for client in (there, here, *self.clients):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[target])

    def stop(self) -> None:
        """Stop all nodes."""
        for node in self.nodes:
            node.stop()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _says(info: Any, name: str, value: str) -> bool:
    if isinstance(info, dict):
        return _text(info.get(name)) == value
    return f"{name}:{value}" in _text(info)


@pytest.fixture
def cluster(
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
    new_valkey: Callable[..., Any],
    patience: None,
) -> Iterator[Cluster]:
    """A cluster whose first node is in POLICY_REDIS_URL."""
    cluster = Cluster(new_valkey)
    try:
        wait_until(lambda: cluster.ready)
        url = f"redis://127.0.0.1:{cluster.nodes[0].port}/0"
        monkeypatch.setenv("POLICY_REDIS_URL", url)
        yield cluster
    finally:
        cluster.stop()


def test_a_cluster_with_a_slot_that_moves(cluster: Cluster, make: MakeQueue) -> None:
    """Queues of all nodes work, and one goes on after its slot has moved."""
    queues = [make(order_by="n", max_deliveries=1) for _ in range(6)]
    for queue in queues:
        queue.put_many([{"n": n} for n in range(4)])
        item = queue.take()
        assert item is not None
        item.nack("no")
        kind = queue.settings.store
        assert isinstance(kind, Redis)
        cluster.move(f"{{{kind.key}}}:meta")
        assert queue.put({"n": 9}).outcome == "queued"
        assert queue.redrive() == 1
        taken = queue.take_many(10)
        assert [one.payload["n"] for one in taken] == [1, 2, 3, 9, 0]
        assert all(queue.ack_many(taken))
        assert queue.stats().size == 0
    assert live.queues("tests.r*")
