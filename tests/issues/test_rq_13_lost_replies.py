"""RQ-13: a lost reply doubles nothing: puts carry ids that the server knows.

redis-py #261, jedis #3187.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redelivery, Redis, live

_numbers = itertools.count()


class Proxy:
    """Passes requests on, and drops every n-th reply together with its connection."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.drop_every = 0
        self.replies = 0
        self.dropped = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                for here, there, back in (
                    (client, server, False),
                    (server, client, True),
                ):
                    threading.Thread(
                        target=self._pump, args=(here, there, back), daemon=True
                    ).start()

    def _pump(self, here: socket.socket, there: socket.socket, back: bool) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(65536):
                if back and self._is_lost(data):
                    break
                there.sendall(data)
        for end in (here, there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        here.close()

    def _is_lost(self, data: bytes) -> bool:
        # Scripts answer with lists and numbers; the rest belongs to connecting.
        if not self.drop_every or not data.startswith((b"*", b":")):
            return False
        self.replies += 1
        lost = self.replies % self.drop_every == 0
        self.dropped += lost
        return lost

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def proxy(valkey: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the server, at the address that queues use."""
    proxy = Proxy(valkey.port)
    monkeypatch.setenv("POLICY_REDIS_URL", f"redis://127.0.0.1:{proxy.port}/0")
    yield proxy
    proxy.close()


@pytest.fixture
def queue(proxy: Proxy) -> Iterator[Queue[Any]]:
    """A queue behind the proxy."""
    name = f"lost{next(_numbers)}"
    yield Queue(
        service="rq",
        queue=name,
        store=Redis(key=name, url_env="POLICY_REDIS_URL"),
        max_size=1000,
        max_deliveries=None,
        lease=600.0,
        redelivery=Redelivery(initial=0.0, max=0.0),
    )
    live.forget(f"rq.{name}")


def test_a_hundred_puts_are_a_hundred_items(queue: Queue[Any], proxy: Proxy) -> None:
    """Every third reply is lost; the client repeats, and the ids tell."""
    queue.put({"n": -1})
    proxy.drop_every = 3
    done = [queue.put({"n": n}) for n in range(100)]
    proxy.drop_every = 0
    assert proxy.dropped >= 30
    assert {put.outcome for put in done} == {"queued"}
    stats = queue.stats()
    assert (stats.size, stats.put) == (101, 101)
    items = queue.take_many(200)
    assert [item.id for item in items[1:]] == [put.id for put in done]


def test_an_ack_whose_reply_was_lost_is_known(queue: Queue[Any], proxy: Proxy) -> None:
    """It is repeated, and says that the item is done."""
    queue.put_many([{"n": n} for n in range(20)])
    items = queue.take_many(20)
    proxy.drop_every = 2
    assert [item.ack() for item in items] == [True] * 20
    proxy.drop_every = 0
    assert proxy.dropped >= 9
    assert queue.stats().acked == 20
    assert not items[0].ack()


async def test_async_puts_too(queue: Queue[Any], proxy: Proxy) -> None:
    """The async form repeats in the same way."""
    await queue.aput({"n": -1})
    proxy.drop_every = 3
    for n in range(30):
        assert (await queue.aput({"n": n})).outcome == "queued"
    proxy.drop_every = 0
    assert queue.stats().put == 31
