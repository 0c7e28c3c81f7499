"""The connection to Redis or Valkey: scripts, lost servers, demoted ones, forks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from policyctl.runtime.stores.errors import StoreFullError, StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer, Script

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
URL_ENV = "POLICY_REDIS_URL"


def test_a_script_is_loaded_when_it_is_missing(valkey: Any) -> None:
    """First use and after SCRIPT FLUSH: once, and with the right reply."""
    server = RedisServer(URL_ENV)
    assert server.run(ADD, ["n"], [1]) == 1
    server.client().script_flush()
    assert server.run(ADD, ["n"], [1]) == 2
    server.client().script_flush()
    assert server.run_many([(ADD, ["n"], [1]), (ADD, ["m"], [5])]) == [3, 5]


def test_one_failure_does_not_hide_the_other_replies(valkey: Any) -> None:
    """Each step has its reply or its error."""
    server = RedisServer(URL_ENV)
    server.client().set("text", "x")
    wrong = Script("this is no script")
    one, two, three = server.run_many(
        [(ADD, ["n"], [1]), (ADD, ["text"], [1]), (wrong, [], [])]
    )
    assert one == 1
    assert "not an integer" in str(two)
    assert "compiling" in str(three)


def test_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable that is not set."""
    monkeypatch.delenv("NOTHING_HERE", raising=False)
    server = RedisServer("NOTHING_HERE")
    assert server.address == "$NOTHING_HERE"
    with pytest.raises(StoreUnavailableError, match="variable NOTHING_HERE is not set"):
        server.run(ADD, ["n"], [1])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:secret@db.example:6380/3", "redis://db.example:6380/3"),
        ("rediss://:secret@db.example", "rediss://db.example"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
        ("redis://[broken", "$THE_URL"),
        ("redis+sentinel://u:secret@h1:1,h2/main", "redis+sentinel://h1:1,h2/main"),
    ],
)
def test_addresses_without_secrets(
    monkeypatch: pytest.MonkeyPatch, url: str, shown: str
) -> None:
    """What logs and errors show holds no user and no password."""
    monkeypatch.setenv("THE_URL", url)
    assert RedisServer("THE_URL").address == shown


@pytest.mark.timing
def test_nobody_there(refusing_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection is unavailable, at once."""
    monkeypatch.setenv("THE_URL", f"redis://127.0.0.1:{refusing_port}/0")
    start = time.monotonic()
    with pytest.raises(StoreUnavailableError, match="is not available"):
        RedisServer("THE_URL").run(ADD, ["n"], [1])
    assert time.monotonic() - start < 1.0


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:sec/ret@h:6379/0",
        "redis://h:secret/0",
        "http://u:secret@h",
        "redis+sentinel://u:secret@h:26379",
        "redis+sentinel://u:secret@h:26379/main/x",
        "redis+sentinel://u:secret@/main",
    ],
)
def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """It is an unavailable store, and nothing of the address is shown."""
    monkeypatch.setenv("THE_URL", url)
    with pytest.raises(StoreUnavailableError, match="not one like redis://") as caught:
        RedisServer("THE_URL").run(ADD, ["n"], [1])
    assert "sec" not in str(caught.value)


def test_refusals_of_a_server_are_an_unavailable_store(own_valkey: Any) -> None:
    """Too few replicas for a write, a key of another type, a right that is missing."""
    server, client = RedisServer(URL_ENV), own_valkey.client()
    assert server.run(ADD, ["n"], [1]) == 1
    client.config_set("min-replicas-to-write", 1)
    with pytest.raises(StoreUnavailableError, match="NOREPLICAS"):
        server.run(ADD, ["n"], [1])
    client.config_set("min-replicas-to-write", 0)
    client.rpush("list", "x")
    with pytest.raises(StoreUnavailableError, match="WRONGTYPE"):
        server.run(ADD, ["list"], [1])
    steps = [(ADD, ["list"], [1]), (ADD, ["n"], [1])]
    first, second = server.run_many(steps)
    assert isinstance(first, StoreUnavailableError)
    assert second == 2
    client.execute_command("ACL", "SETUSER", "default", "-evalsha", "-eval")
    with pytest.raises(StoreUnavailableError, match="permission"):
        server.run(ADD, ["n"], [1])


@pytest.mark.timing
def test_a_server_that_hangs(own_valkey: Any) -> None:
    """No answer within the timeout is unavailable, and nothing is sent again."""
    server = RedisServer(URL_ENV, timeout=0.2)
    assert server.run(ADD, ["n"], [1]) == 1
    own_valkey.freeze(True)
    start = time.monotonic()
    with pytest.raises(StoreUnavailableError):
        server.run(ADD, ["n"], [1])
    assert 0.15 < time.monotonic() - start < 0.6
    own_valkey.freeze(False)
    # It had reached the server: once (RQ-13).
    assert server.run(ADD, ["n"], [0]) == 2


def test_a_restart_is_survived(own_valkey: Any) -> None:
    """Idle connections to the old server are noticed; the next command works."""
    server = RedisServer(URL_ENV)
    assert server.run(ADD, ["n"], [1]) == 1
    own_valkey.stop()
    own_valkey.start()
    assert server.run(ADD, ["n"], [1]) == 1


def test_no_memory_left(own_valkey: Any) -> None:
    """maxmemory without eviction: full, and nothing was written."""
    server = RedisServer(URL_ENV)
    server.client().config_set("maxmemory", 1)
    with pytest.raises(StoreFullError):
        server.run(ADD, ["n"], [1])
    server.client().config_set("maxmemory", 0)
    assert server.run(ADD, ["n"], [1]) == 1


class Switch:
    """A loopback port that leads to one of two servers, like a name after a failover."""

    def __init__(self, port: int) -> None:
        self.target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for one, two in ((near, far), (far, near)):
                threading.Thread(
                    target=self._copy, args=(one, two), daemon=True
                ).start()

    @staticmethod
    def _copy(one: socket.socket, two: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                two.sendall(data)
        except OSError:
            pass
        for end in (one, two):
            end.close()

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def switch(
    own_valkey: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Switch, Any]]:
    """A switch in front of a server, and that server."""
    made = Switch(own_valkey.port)
    monkeypatch.setenv(URL_ENV, f"redis://127.0.0.1:{made.port}/0")
    yield made, own_valkey
    made.close()


def test_a_demoted_primary(switch: tuple[Switch, Any], valkey: Any) -> None:
    """RQ-12: the first becomes read-only; the next command is on the second, once."""
    front, first = switch
    os.environ[URL_ENV] = f"redis://127.0.0.1:{front.port}/0"
    server = RedisServer(URL_ENV)
    assert server.run(ADD, ["n"], [1]) == 1
    front.target = valkey.port
    first.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    assert server.run(ADD, ["n"], [10]) == 10
    assert server.run_many([(ADD, ["n"], [1]), (ADD, ["n"], [1])]) == [11, 12]
    assert first.client().get("n") == b"1"


def test_demoted_in_a_pipeline(switch: tuple[Switch, Any], valkey: Any) -> None:
    """Every step of an exchange is repeated on the new primary, once."""
    front, first = switch
    os.environ[URL_ENV] = f"redis://127.0.0.1:{front.port}/0"
    server = RedisServer(URL_ENV)
    assert server.run(ADD, ["n"], [1]) == 1
    front.target = valkey.port
    first.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    assert server.run_many([(ADD, ["n"], [1]), (ADD, ["n"], [1])]) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_its_own_connections(valkey: Any) -> None:
    """C41: parent and child talk at once and get their own answers."""
    server = RedisServer(URL_ENV)
    assert server.run(ADD, ["n"], [1]) == 1
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            mine = [server.run(ADD, ["child"], [1]) for _ in range(200)]
            code = 0 if mine == list(range(1, 201)) else 2
        finally:
            os._exit(code)
    mine = [server.run(ADD, ["parent"], [1]) for _ in range(200)]
    assert mine == list(range(1, 201))
    assert os.waitpid(pid, 0)[1] == 0


def test_many_threads(valkey: Any) -> None:
    """One server object for all threads; no reply goes astray."""
    server = RedisServer(URL_ENV)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for count in range(1, 50):
            if server.run(ADD, [f"t{number}"], [1]) != count:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nothing_is_imported_or_opened_before_use(valkey: Any) -> None:
    """Neither the client library nor a socket."""
    code = (
        "import sys\n"
        "from policyctl.runtime.stores.redis import RedisServer\n"
        f"server = RedisServer({URL_ENV!r})\n"
        "print('redis' in sys.modules, server.address)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("False redis://127.0.0.1:"), done.stderr


def test_a_cluster_is_found(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of all slots work, over a pipeline of steps too."""
    monkeypatch.setenv("CLUSTER_URL", cluster)
    server = RedisServer("CLUSTER_URL")
    steps = [(ADD, [f"key-{n}"], [n]) for n in range(20)]
    assert server.run_many(steps) == list(range(20))
    assert server.is_cluster
    server.close()


@pytest.fixture
def cluster(new_valkey: Any, wait_until: Any, patience: None) -> Iterator[str]:
    """A cluster of one node that has all slots."""
    import redis

    node = new_valkey(**{"cluster-enabled": "yes"})
    client: Any = redis.Redis(port=node.port)
    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_until(lambda: b"cluster_state:ok" in _info(client))
    yield f"redis://127.0.0.1:{node.port}"
    client.close()
    node.stop()


def _info(client: Any) -> bytes:
    found: bytes | str | dict[str, str] = client.execute_command("CLUSTER", "INFO")
    if isinstance(found, dict):
        return b"\n".join(f"{k}:{v}".encode() for k, v in found.items())
    return found if isinstance(found, bytes) else found.encode()
