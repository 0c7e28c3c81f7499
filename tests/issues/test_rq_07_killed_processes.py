"""RQ-07: a process that is killed before or after sending any command loses nothing.

enqueue-dev #750. ``test_rq_07_one_script_each.py`` does it with exceptions, on a fake clock;
here processes die by SIGKILL, with the connections and the clock of real ones.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime.queues import DeadLetter, Queue, Redelivery, Redis, live

_numbers = itertools.count()


def opened(key: str) -> Queue[Any]:
    """The queue of a key, as a new process has it."""
    live.forget("rq.killed")
    return Queue(
        service="rq",
        queue="killed",
        store=Redis(key=key, url_env="POLICY_REDIS_URL"),
        max_size=5,
        overflow="dead_letter",
        max_deliveries=2,
        lease=60.0,
        redelivery=Redelivery(initial=0.0, max=0.0),
        dead_letter=DeadLetter(max_size=50),
        order_by="lane",
    )


def work(queue: Queue[Any], say: Callable[[str], object]) -> None:
    """Every kind of step; says what it is about to do, and what was done."""
    for n in range(3):
        say(f"putting own{n}")
        queue.put({"lane": n % 2}, id=f"own{n}")
    say("putting one without a name")
    queue.put({"lane": 0})
    say("putting own3 own4")
    queue.put_many([{"lane": 2}, {"lane": 2}], ids=["own3", "own4"])
    for item in queue.take_many(2):
        item.extend()
        item.nack("no")
    for item in queue.take_many(2):
        item.nack("no")
    queue.redrive()
    for item in queue.take_many(2):
        say(f"acking {item.id}")
        item.ack()
        say(f"acked {item.id}")
    for item in queue.take_many(1):
        item.release()
    say("end")


def dying(at: int, after: bool) -> None:  # pragma: no cover - runs in a child
    """From now on, die at the given command: before it is sent, or when it has arrived."""
    from redis.connection import Connection

    original: Any = Connection.send_packed_command
    calls = itertools.count(1)

    def send(self: Any, *arguments: Any, **options: Any) -> None:
        last = next(calls) == at
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, *arguments, **options)
        if last:
            self.can_read(5.0)  # the answer is there, and nobody will ever read it
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(Connection, "send_packed_command", send)  # noqa: B010 - for the checkers


def in_child(run: Callable[[Callable[[str], object]], None]) -> list[str]:
    """What a forked process said before it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - ends by a signal or by _exit
        try:
            os.close(reading)
            with open(writing, "w", buffering=1) as pipe:
                run(lambda text: print(text, file=pipe))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read().splitlines()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_every_command(valkey: Any, after: bool) -> None:
    """Everything that was put is there in one place, except what was acknowledged."""
    opened("warm").stats()  # so that children import nothing
    client = valkey.client()
    for at in itertools.count(1):
        key = f"killed{next(_numbers)}"

        def run(say: Callable[[str], object], at: int = at, key: str = key) -> None:
            queue = opened(key)
            dying(at, after)
            work(queue, say)

        said = in_child(run)
        check(client, key, said)
        if said[-1:] == ["end"]:
            break
    live.forget("rq.killed")
    assert at > 15


def check(client: Any, key: str, said: list[str]) -> None:
    """Compare what the process said with what the server holds."""
    items = {id.decode() for id in client.hkeys(f"{{{key}}}:bodies")}
    dead = {id.decode() for id in client.hkeys(f"{{{key}}}:deaths")}
    assert items & dead == set()
    puts = [line.split()[1:] for line in said if line.startswith("putting own")]
    acked = {line.split()[1] for line in said if line.startswith("acked")}
    acking = {line.split()[1] for line in said if line.startswith("acking")}
    done = puts if said[-1:] and not said[-1].startswith("putting") else puts[:-1]
    if said[-1:] and said[-1] == "putting one without a name":
        done = puts
    named = {id for ids in done for id in ids}
    there = items | dead
    assert named - acking <= there
    assert there & acked == set()
    if puts and done != puts:
        assert len({*puts[-1]} & there) in (0, len(puts[-1]))
    stats = opened(key).stats()
    assert (stats.size, stats.dead) == (len(items), len(dead))
    assert stats.put == stats.size + stats.dead + stats.acked
