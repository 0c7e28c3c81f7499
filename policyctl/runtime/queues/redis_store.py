"""A queue in Redis or Valkey, for processes of many machines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, Final

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import QueueFullError
from policyctl.runtime.queues.records import (
    Back,
    Change,
    Dead,
    Entry,
    Outcome,
    Stats,
    Taken,
)
from policyctl.runtime.queues.redis_scripts import SCRIPTS
from policyctl.runtime.queues.settings import QueueSettings
from policyctl.runtime.queues.timing import wall
from policyctl.runtime.stores.errors import StoreFullError, StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer
from policyctl.runtime.stores.redis_quick import QuickConnections, QuickScript

TRIES: Final = 3
"""How often a step is tried that may be repeated, when its answer is lost."""
THREADS: Final = 16
"""Steps of tasks that are under way at once, each on a connection of its own."""
SPARE: Final = 16
"""Items that are dropped at once when the server's memory is full."""


class RedisStore:
    """The ``Store`` of a queue with ``store: redis``.

    Leases and ages are told by the server's clock. What was lost on the way is repeated
    where that is safe: a put, by the ids of its items, and an ack, since acknowledged
    ids are known for 10 minutes. A take whose answer is lost leaves its items leased
    until the lease is over.

    Args:
        server: the server, or cluster.
        key: what the names of all keys begin with, in braces.
        names: service and queue, for errors.
        settings: the queue's limits.
    """

    def __init__(
        self,
        server: RedisServer,
        key: str,
        names: tuple[str, str],
        settings: QueueSettings,
    ) -> None:
        self.settings = settings
        self._server = server
        self._scripts = {
            step: (script, [f"{{{key}}}:{name}" for name in names_of_keys])
            for step, (script, names_of_keys) in SCRIPTS.items()
        }
        self._names = names
        self._config = json.dumps(_config(settings))
        self._connections = QuickConnections(server)
        self._quick = {
            step: QuickScript(self._connections, *found, ("", self._config))
            for step, found in self._scripts.items()
        }
        most = "" if settings.max_bytes is None else settings.max_bytes
        warn = settings.warn_at * settings.max_size
        self._limits = settings.max_size, most, warn
        self._quick["put_one"] = QuickScript(
            self._connections, *self._scripts["put_one"], ("", *self._limits)
        )

    def _run(self, step: str, *arguments: Any, checked: bool = False) -> Any:
        try:
            if CLOCK.real:
                return self._quick[step].run(arguments, checked=checked)
            script, keys = self._scripts[step]
            now = repr(wall())
            return self._server.run(script, keys, [now, self._config, *arguments])
        except StoreUnavailableError as error:
            raise StoreUnavailableError(
                *self._names, error.store, error.message
            ) from error

    def _repeated(self, run: Callable[[bool], Any]) -> Any:
        """Run a step that may be repeated; it is told whether it is."""
        for again in range(TRIES - 1):
            try:
                return run(again > 0)
            except StoreUnavailableError:
                self._server.reconnect()
        return run(True)

    # -- the contract of a store -----------------------------------------------------

    def put(self, entries: list[Entry], change: Change) -> list[Outcome]:
        """Put all entries, or none; a full memory is a full queue."""
        maybe_there = entries[0].keyed
        if len(entries) == 1 and not maybe_there and entries[0].lane is None:
            done = self._put_one(entries[0])
            if done:
                return ["queued"]
            maybe_there = done is None
        return self._put_general(entries, maybe_there, change)

    def _put_general(
        self, entries: list[Entry], maybe_there: bool, change: Change
    ) -> list[Outcome]:
        # A token tells this put repeated from another one of the same id.
        token = os.urandom(8).hex() if entries[0].keyed else ""
        packed = [
            value
            for entry in entries
            for value in (entry.id, entry.body, entry.lane or "")
        ]
        spares = (0, SPARE) if self.settings.overflow == "drop_oldest" else (0,)
        for spare in spares:
            try:
                run = partial(self._run_put, token, spare, maybe_there, packed)
                reply = self._repeated(run)
                return self._put_reply(reply, change)
            except StoreFullError:
                continue
        size = self.stats().bytes
        raise QueueFullError(*self._names, size, size, "bytes in the server's memory")

    def _put_one(self, entry: Entry) -> bool | None:
        """Put a new item where that is all there is to do; whether it was done.

        None says that the answer was lost: the item is there or not.
        """
        try:
            if CLOCK.real:
                return bool(self._quick["put_one"].run((entry.id, entry.body)))
            values = (repr(wall()), *self._limits, entry.id, entry.body)
            return bool(self._server.run(*self._scripts["put_one"], values))
        except StoreUnavailableError:
            self._server.reconnect()
            return None
        except StoreFullError:
            return False

    def _run_put(
        self, token: str, spare: int, maybe_there: bool, packed: list[Any], again: bool
    ) -> Any:
        known = int(maybe_there or again)
        return self._run("put", token, spare, known, *packed)

    def _put_reply(self, reply: list[Any], change: Change) -> list[Outcome]:
        _read_change(reply[-1], change)
        if reply[0] == b"full":
            raise QueueFullError(
                *self._names, int(reply[1]), int(reply[2]), reply[3].decode()
            )
        outcomes: list[Outcome] = [text.decode() for text in reply[1]]
        return outcomes

    def take(self, count: int, lease: float, change: Change) -> list[Taken]:
        """Lease up to ``count`` items."""
        receipt = os.urandom(12).hex()
        taken, changed = self._run("take", count, lease, receipt, checked=True)
        _read_change(changed, change)
        return [_taken(values, receipt) for values in taken]

    def ack(self, items: list[Taken], change: Change) -> list[bool]:
        """Remove items."""
        pairs = _pairs(items)
        done, changed = self._repeated(
            lambda again: self._run("ack", int(again), *pairs)
        )
        _read_change(changed, change)
        return [bool(one) for one in done]

    def nack(self, items: list[Back], change: Change) -> list[bool]:
        """Give items back, or make them dead letters."""
        packed = [
            value
            for item in items
            for value in (
                item.taken.id,
                item.taken.receipt,
                item.delay,
                item.error or "",
                int(item.counted),
            )
        ]
        done, changed = self._run("nack", *packed, checked=True)
        _read_change(changed, change)
        return [bool(one) for one in done]

    def extend(self, items: list[Taken], lease: float) -> list[bool]:
        """Let leases end ``lease`` seconds from now."""
        pairs = _pairs(items)
        done, _ = self._repeated(lambda _: self._run("extend", lease, *pairs))
        return [bool(one) for one in done]

    def bury(self, item: Taken, reason: str, error: str | None, change: Change) -> bool:
        """Make a leased item a dead letter."""
        done, changed = self._run(
            "bury", item.id, item.receipt, reason, error or "", checked=True
        )
        _read_change(changed, change)
        return bool(done)

    def stats(self) -> Stats:
        """The queue in numbers."""
        reply = self._repeated(lambda _: self._run("stats"))
        names = [field.name for field in fields(Stats)]
        values = dict(zip(names, map(float, reply), strict=True))
        age = values.pop("oldest_seconds")
        counts = {name: int(value) for name, value in values.items()}
        return Stats(**counts, oldest_seconds=age)

    def peek(self, count: int) -> list[Taken]:
        """The items that are ready, oldest first, without leasing them."""
        reply = self._repeated(lambda _: self._run("peek", count))
        return [_taken(values, "") for values in reply]

    def dead(self, count: int, after: int) -> list[Dead]:
        """Dead letters, oldest first."""
        reply = self._repeated(lambda _: self._run("dead", after, count))
        return [_dead(values) for values in reply]

    def find_dead(self, id: str) -> Dead | None:
        """One dead letter."""
        reply = self._repeated(lambda _: self._run("find_dead", id))
        return _dead(reply) if reply else None

    def redrive(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Put dead letters back as far as they fit."""
        return self._of_dead("redrive", ids, count, change)

    def purge(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Delete dead letters."""
        return self._of_dead("purge", ids, count, change)

    def _of_dead(
        self, step: str, ids: list[str] | None, count: int, change: Change
    ) -> int:
        which = ["all", count] if ids is None else ["these", count, *ids[:count]]
        moved, changed = self._run(step, *which, checked=True)
        _read_change(changed, change)
        return int(moved)

    async def run(self, step: str, *arguments: Any) -> Any:
        """Do a step by its name in a thread.

        A cancelled take gives back what it leased after all.
        """
        from policyctl.runtime.queues.offload import in_thread

        method: Callable[..., Any] = getattr(self, step)
        undo = partial(self._untake, arguments[-1]) if step == "take" else None
        return await in_thread(partial(method, *arguments), undo, threads=THREADS)

    def _untake(self, change: Change, taken: list[Taken]) -> None:
        if taken:
            self.nack([Back(one, counted=False) for one in taken], change)

    def close(self) -> None:
        """Close connections."""
        self._connections.close()
        self._server.close()


def _config(settings: QueueSettings) -> dict[str, Any]:
    """The limits as the scripts read them; what is off is left out."""
    dead = settings.dead_letter
    values = {
        "max_size": settings.max_size,
        "max_bytes": settings.max_bytes,
        "max_age": settings.max_age,
        "warn_at": settings.warn_at,
        "overflow": settings.overflow,
        "max_deliveries": settings.max_deliveries,
        "dead_max": None if dead is None else dead.max_size,
    }
    return {name: value for name, value in values.items() if value is not None}


def _pairs(items: list[Taken]) -> list[str]:
    return [value for item in items for value in (item.id, item.receipt)]


def _read_change(reply: bytes | int, change: Change) -> None:
    if isinstance(reply, int):  # the size: there is nothing to tell
        change.size = reply
        return
    data: dict[str, Any] = json.loads(reply)
    change.level = data.get("level")
    change.size = int(data["size"])
    # Lua writes an empty list as {}.
    change.dead = [(pair[0], pair[1]) for pair in data["dead"] or ()]
    change.dropped = [(pair[0], pair[1]) for pair in data["dropped"] or ()]
    change.parked = [*(data["parked"] or ())]


def _taken(values: list[Any], receipt: str) -> Taken:
    id, body, lane, deliveries, put_at = values
    lane = lane.decode() or None
    return Taken(id.decode(), body, lane, receipt, int(deliveries), float(put_at))


def _dead(values: list[Any]) -> Dead:
    id, body, lane, reason, error, deliveries, put_at, died_at, history, number = values
    return Dead(
        id.decode(),
        body,
        lane.decode() or None,
        reason.decode(),
        error.decode() or None,
        int(deliveries),
        float(put_at),
        float(died_at),
        tuple(json.loads(history)) if history else (),
        int(float(number)),
    )
