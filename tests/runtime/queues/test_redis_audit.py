"""After any history the keys of a queue in Redis agree with each other (C31, C34)."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues import DeadLetter, Queue, Redelivery, Redis, live
from policyctl.testing import FakeClock

_numbers = itertools.count()
READY, LEASED, DELAYED, BLOCKED = range(4)
SLOW = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)

UNPACK = """
local found = redis.call('HGETALL', KEYS[1])
for n = 2, #found, 2 do found[n] = cjson.encode(cmsgpack.unpack(found[n])) end
return found
"""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "put",
                "put",
                "put many",
                "put keyed",
                "take",
                "take many",
                "ack",
                "nack",
                "nack later",
                "release",
                "extend",
                "bury",
                "redrive",
                "purge",
                "wait",
                "flush scripts",
            ]
        ),
        st.integers(0, 5),
    ),
    max_size=30,
)
QUEUES = st.fixed_dictionaries(
    {
        "overflow": st.sampled_from(["reject", "dead_letter", "drop_oldest"]),
        "max_bytes": st.sampled_from([None, 60]),
        "max_age": st.sampled_from([None, 40.0]),
        "max_deliveries": st.sampled_from([None, 1, 2]),
        "order_by": st.sampled_from([None, "lane"]),
        "dead_letter": st.sampled_from(
            [DeadLetter(max_size=3), DeadLetter(max_size=50)]
        ),
    }
)


class History:
    """Does steps and remembers what was put."""

    def __init__(self, queue: Queue[Any], clock: FakeClock, client: Any) -> None:
        self.queue = queue
        self.clock = clock
        self.client = client
        self.held: list[Any] = []
        self.count = 0

    def payloads(self, count: int) -> list[dict[str, int]]:
        """New payloads in two lanes."""
        self.count += count
        return [{"n": self.count - k, "lane": k % 2} for k in range(count)]

    def step(self, name: str, number: int) -> None:
        """Do one step; a full queue is an answer."""
        queue = self.queue
        if name.startswith("put"):
            self._put(name, number)
        elif name.startswith("take"):
            self.held += queue.take_many(1 if name == "take" else number + 1)
        elif name == "redrive":
            queue.redrive()
        elif name == "purge":
            queue.purge()
        elif name == "wait":
            self.clock.advance(number * 9.0)
        elif name == "flush scripts":
            self.client.script_flush()
        elif self.held:
            self._end(name, self.held.pop(number % len(self.held)))

    def _put(self, name: str, number: int) -> None:
        try:
            if name == "put keyed":
                self.queue.put(self.payloads(1)[0], id=f"key-{number}")
            else:
                count = 1 if name == "put" else number + 1
                self.queue.put_many(self.payloads(count))
        except QueueFullError:
            pass

    def _end(self, name: str, item: Any) -> None:
        if name == "ack":
            item.ack()
        elif name == "nack":
            item.nack("no", delay=0.0)
        elif name == "nack later":
            item.nack("no", delay=20.0)
        elif name == "release":
            item.release()
        elif name == "bury":
            change = self.queue._change()
            self.queue.store.bury(item.taken, "undecodable", "no", change)
        else:
            item.extend()


def audit(client: Any, key: str) -> None:
    """Every key of the queue says the same."""

    def name(end: str) -> str:
        return f"{{{key}}}:{end}"

    bodies: dict[bytes, bytes] = client.hgetall(name("bodies"))
    flat = client.eval(UNPACK, 1, name("items"))
    rows = {id: json.loads(row) for id, row in zip(flat[::2], flat[1::2], strict=True)}
    sets = {
        end: dict(client.zrange(name(end), 0, -1, withscores=True))
        for end in ("ready", "rest", "later", "dead", "lanes")
    }
    deaths = set(client.hgetall(name("deaths")))
    assert set(rows) <= set(bodies)
    assert set(sets["ready"]) | set(sets["rest"]) == set(bodies)
    assert set(sets["ready"]) & set(sets["rest"]) == set()
    state = {id: rows[id][8] if id in rows else READY for id in bodies}
    assert set(sets["ready"]) == {id for id in bodies if state[id] == READY}
    assert set(sets["later"]) == {id for id in bodies if state[id] in (LEASED, DELAYED)}
    assert len(sets["lanes"]) == sum(1 for row in rows.values() if row[1])
    for id, score in (sets["ready"] | sets["rest"]).items():
        number = rows[id][0] if id in rows else struct.unpack(">dd", bodies[id][:16])[0]
        assert number == score
    assert deaths == set(sets["dead"])
    assert deaths & set(bodies) == set()
    meta = {k.decode(): v for k, v in client.hgetall(name("meta")).items()}
    leased = [id for id in bodies if state[id] == LEASED]
    expected = {
        "size": len(bodies),
        "bytes": sum(len(body) - 16 for body in bodies.values()),
        "dead": len(deaths),
        "leased": len(leased),
        "leased_bytes": sum(len(bodies[id]) - 16 for id in leased),
    }
    assert {k: int(meta.get(k, 0)) for k in expected} == expected
    if meta:
        gone = int(meta.get("acked", 0)) + int(meta.get("dropped", 0))
        assert int(meta.get("put", 0)) >= len(bodies) + gone


@given(steps=STEPS, values=QUEUES)
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_all_keys_agree_after_any_history(
    valkey: Any, steps: list[tuple[str, int]], values: dict[str, Any]
) -> None:
    """No id is in no place or in two, and totals are those of what is there."""
    key = f"audit{next(_numbers)}"
    with FakeClock() as clock:
        queue: Queue[Any] = Queue(
            service="tests",
            queue=key,
            store=Redis(key=key, url_env="POLICY_REDIS_URL"),
            max_size=4,
            redelivery=Redelivery(initial=0.0, max=0.0),
            **values,
        )
        client = valkey.client()
        history = History(queue, clock, client)
        try:
            for name, number in steps:
                history.step(name, number)
                audit(client, key)
        finally:
            live.forget(f"tests.{key}")
