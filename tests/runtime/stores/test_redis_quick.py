"""Scripts on connections that are kept aside: quick, and never out of step."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redis, live
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer, Script
from policyctl.runtime.stores.redis_quick import KEEP, QuickConnections, QuickScript

ECHO = Script("redis.call('INCR', KEYS[1]) return {ARGV[1], ARGV[2], ARGV[3]}")


@pytest.fixture
def server(valkey: Any) -> Iterator[RedisServer]:
    """The server as clients of ours see it."""
    made = RedisServer("POLICY_REDIS_URL")
    yield made
    made.close()


@pytest.fixture
def echo(server: RedisServer) -> QuickScript:
    """Says what it was given, and counts in a key."""
    return QuickScript(QuickConnections(server), ECHO, ["calls"], ["first", 5])


def test_what_is_sent_arrives(echo: QuickScript, valkey: Any) -> None:
    """Any bytes pass; a script that the server lost is loaded again."""
    for value in (b"", b"\r\n$3\r\n*1", bytes(range(256)), b"x" * 1_000_000):
        assert echo.run([value]) == [b"first", b"5", value]
    valkey.client().script_flush()
    assert echo.run([b"again"]) == [b"first", b"5", b"again"]
    assert int(valkey.client().get("calls")) == 5


def test_a_connection_that_was_closed_is_told(echo: QuickScript, valkey: Any) -> None:
    """The caller hears of it and may repeat; the next use has a new connection."""
    echo.run([b"1"])
    valkey.client().client_kill_filter(skipme=True, _type="normal")
    with pytest.raises(StoreUnavailableError):
        echo.run([b"2"])
    assert echo.run([b"3"])[2] == b"3"


def test_a_closed_connection_is_found_before_it_is_used(
    echo: QuickScript, valkey: Any
) -> None:
    """What nobody repeats asks first."""
    for n in range(3):
        assert echo.run([n], checked=True)[2] == b"%d" % n
        valkey.client().client_kill_filter(skipme=True, _type="normal")


def test_an_interrupted_use_leaves_no_answer_behind(
    echo: QuickScript, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between request and answer does not hand the answer to the next caller."""
    from redis.connection import Connection

    echo.run([b"warm"])

    def interrupted(*_args: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "read_response", interrupted)
        with pytest.raises(KeyboardInterrupt):
            echo.run([b"lost"])
    assert echo.run([b"mine"])[2] == b"mine"


def test_an_error_of_the_server_keeps_the_connection(
    server: RedisServer, valkey: Any
) -> None:
    """A refusal is an answer like any other."""
    valkey.client().set("calls", "no number")
    echo = QuickScript(QuickConnections(server), ECHO, ["calls"], ["first", 5])
    echo_before = valkey.client().info("stats")["total_connections_received"]
    for _ in range(5):
        with pytest.raises(StoreUnavailableError, match="not an integer"):
            echo.run([b"1"])
    after = valkey.client().info("stats")["total_connections_received"]
    assert after - echo_before <= 6  # ours, the detection of clusters, and the looks


def test_many_threads_get_their_own_answers(echo: QuickScript, valkey: Any) -> None:
    """More threads than connections that are kept."""
    wrong: list[object] = []

    def run(number: int) -> None:
        for n in range(20):
            value = b"%d-%d" % (number, n)
            found = echo.run([value])
            if found[2] != value:
                wrong.append(found)

    threads = [
        threading.Thread(target=run, args=(n,), daemon=True) for n in range(KEEP + 8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert int(valkey.client().get("calls")) == 20 * (KEEP + 8)


def test_a_forked_child_uses_no_connection_of_its_parent(echo: QuickScript) -> None:
    """Both sides go on with their own."""
    echo.run([b"before"])
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by _exit
        ok = False
        try:
            ok = all(echo.run([b"child%d" % n])[2] == b"child%d" % n for n in range(20))
        finally:
            os._exit(0 if ok else 1)
    assert all(echo.run([b"parent%d" % n])[2] == b"parent%d" % n for n in range(20))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_puts_survive_connections_that_are_closed(valkey: Any) -> None:
    """An idle time-out of the server costs no put, and doubles none."""
    queue: Queue[Any] = Queue(
        service="quick",
        queue="closed",
        store=Redis(key="closed", url_env="POLICY_REDIS_URL"),
        max_size=100,
    )
    ids = []
    for n in range(10):
        ids.append(queue.put({"n": n}).id)
        valkey.client().client_kill_filter(skipme=True, _type="normal")
    assert queue.stats().size == queue.stats().put == 10
    assert [item.id for item in queue.take_many(100)] == ids
    live.forget("quick.closed")


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_small_pool_is_shared_with_the_client(
    valkey: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """``max_connections`` of the address holds, and nobody waits for what is kept aside."""
    monkeypatch.setenv("POLICY_REDIS_URL", f"{valkey.url}?max_connections={most}")
    queue: Queue[Any] = Queue(
        service="quick",
        queue="small",
        store=Redis(key="small", url_env="POLICY_REDIS_URL"),
        max_size=100,
    )
    for n in range(3):
        queue.put({"n": n})
        valkey.client().script_flush()
    item = queue.take()
    assert item is not None
    assert item.payload == {"n": 0}
    assert item.ack()
    assert queue.stats().size == 2
    live.forget("quick.small")


def test_an_error_that_is_no_answer_ends_the_connection(echo: QuickScript) -> None:
    """Whatever its text begins with, an answer may be on its way still."""
    echo.run([b"1"])
    connections = echo._connections
    ((_, connection),) = connections._idle
    read = connection.read_response

    def fail() -> None:
        raise OSError("EOF occurred in violation of protocol")

    connection.read_response = fail
    with pytest.raises(StoreUnavailableError):
        echo.run([b"2"])
    connection.read_response = read
    assert echo.run([b"3"])[2] == b"3"
