"""RQ-13: on a cluster too, nothing runs twice whose answer was lost.

The clients of clusters repeat by themselves what fails with the connection.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redis, live
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer, Script

COUNT = Script("return redis.call('INCR', KEYS[1])")


class Proxy:
    """Passes everything on; of the answers that are ``lost``, ends the connection instead."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.lost: bytes | None = None
        self.left = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, answer: bytes, times: int) -> None:
        """Lose this answer for the next ``times`` times."""
        self.lost, self.left = answer, times

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                for ends in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, here: socket.socket, there: socket.socket, back: bool) -> None:
        with suppress(OSError):
            while data := here.recv(65536):
                if back and self.left and data == self.lost:
                    self.left -= 1
                    break
                there.sendall(data)
        for end in (here, there):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def proxy(
    new_valkey: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
    patience: None,
) -> Iterator[Proxy]:
    """The way to a cluster of one node, which tells clients no other way."""
    import redis

    node = new_valkey(**{"cluster-enabled": "yes"})
    client: Any = redis.Redis(port=node.port)
    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    proxy = Proxy(node.port)
    client.config_set("cluster-announce-port", proxy.port)
    wait_until(lambda: b"cluster_state:ok" in _info(client))
    monkeypatch.setenv("POLICY_REDIS_URL", f"redis://127.0.0.1:{proxy.port}/0")
    try:
        yield proxy
    finally:
        proxy.close()
        client.close()
        node.stop()


def _info(client: Any) -> bytes:
    found = client.execute_command("CLUSTER", "INFO")
    if isinstance(found, dict):
        return f"cluster_state:{found.get('cluster_state')}".encode()
    return bytes(found)


@pytest.mark.parametrize("library", ["redis", "valkey"])
def test_a_script_runs_once(
    proxy: Proxy, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller learns that the answer is lost; whether to repeat is for it to say."""
    from policyctl.runtime.stores import redis as stores

    found = stores._Library(library)
    monkeypatch.setattr(stores, "_library", lambda: found)
    server = RedisServer("POLICY_REDIS_URL")
    assert server.run(COUNT, ["{n}"], []) == 1
    assert server.is_cluster
    proxy.lose(b":2\r\n", 1)
    with pytest.raises(StoreUnavailableError):
        server.run(COUNT, ["{n}"], [])
    assert server.run(COUNT, ["{n}"], []) == 3
    server.close()


def test_a_put_counts_once(proxy: Proxy) -> None:
    """An item whose put lost its answer is one in the totals, and they end at zero."""
    queue: Queue[Any] = Queue(
        service="rq",
        queue="lost_of_cluster",
        store=Redis(key="lost_of_cluster", url_env="POLICY_REDIS_URL"),
        max_size=1000,
    )
    queue.put({"n": -1})
    for n in range(5):
        proxy.lose(b":1\r\n", 1)
        assert queue.put({"n": n}).outcome == "queued"
        assert proxy.left == 0
    stats = queue.stats()
    assert (stats.size, stats.put) == (6, 6)
    items = queue.take_many(10)
    assert [item.payload["n"] for item in items] == [-1, 0, 1, 2, 3, 4]
    assert all(queue.ack_many(items))
    assert (queue.stats().size, queue.stats().bytes) == (0, 0)
    live.forget("rq.lost_of_cluster")
