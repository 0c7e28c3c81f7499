"""RQ-12: after a failover the next put succeeds on the new primary, and nothing twice.

redis-py #460 and #435.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime.queues import Queue, Redelivery, Redis, live

_numbers = itertools.count()


@pytest.fixture
def queue(own_valkey: Any) -> Iterator[Queue[Any]]:
    """A queue on a server of the test's own."""
    name = f"failover{next(_numbers)}"
    yield Queue(
        service="rq",
        queue=name,
        store=Redis(key=name, url_env="POLICY_REDIS_URL"),
        max_size=100,
        redelivery=Redelivery(initial=0.0, max=0.0),
    )
    live.forget(f"rq.{name}")


def replica_of(primary: Any, wait_until: Callable[..., None]) -> Any:
    """A second server that follows the first."""
    second = type(primary)()
    primary.client().config_set("repl-diskless-sync-delay", 0)
    second.client().replicaof("127.0.0.1", primary.port)
    wait_until(
        lambda: second.client().info("replication")["master_link_status"] == "up"
    )
    return second


def test_a_demoted_primary_is_left(
    queue: Queue[Any],
    own_valkey: Any,
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The address leads to the other server; the connection had not been dropped."""
    queue.put({"n": 1}, id="one")
    second = replica_of(own_valkey, wait_until)
    try:
        item = queue.take()
        assert item is not None
        own_valkey.client().wait(1, 5000)
        second.client().replicaof("NO", "ONE")
        own_valkey.client().replicaof("127.0.0.1", second.port)
        monkeypatch.setenv("POLICY_REDIS_URL", second.url)
        assert queue.put({"n": 2}, id="two").outcome == "queued"
        assert item.ack()
        assert [one.id for one in queue.take_many(9)] == ["two"]
        assert queue.stats().put == 2
    finally:
        queue.close()
        second.stop()


def test_scripts_that_were_flushed_are_loaded_again(
    queue: Queue[Any], own_valkey: Any
) -> None:
    """SCRIPT FLUSH at any time changes nothing."""
    for n in range(5):
        own_valkey.client().script_flush()
        queue.put({"n": n})
        own_valkey.client().script_flush()
        item = queue.take()
        assert item is not None
        own_valkey.client().script_flush()
        assert item.ack()
    assert queue.stats().acked == 5


def test_a_server_that_was_restarted_is_found_again(
    queue: Queue[Any], own_valkey: Any
) -> None:
    """What is down is said so; once it is up the same queue works."""
    from policyctl.runtime.queues import StoreUnavailableError

    queue.put({"n": 1})
    own_valkey.stop()
    with pytest.raises(StoreUnavailableError, match="is not available"):
        queue.put({"n": 2})
    own_valkey.start()
    assert queue.put({"n": 3}).outcome == "queued"
