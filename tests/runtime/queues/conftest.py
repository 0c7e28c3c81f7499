"""One queue on each back end, with time in the test's hands."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from policyctl.runtime.queues import Queue, Redelivery, Redis, Sqlite, live
from policyctl.testing import EventRecorder, FakeClock, record_events

MakeQueue = Callable[..., Queue[Any]]
NO_DELAY = Redelivery(initial=0.0, max=0.0)
_numbers = itertools.count()


class Backend(Protocol):
    """A store under test.

    ``make`` gives a queue of its own for each name; ``again`` lets go of it and opens
    the same one anew, as another process would.
    """

    name: str

    def make(self, **settings: Any) -> Queue[Any]:
        """A queue with the given settings."""

    def again(self, queue: Queue[Any], **changes: Any) -> Queue[Any]:
        """The same queue as another process sees it, with other settings."""

    def advance(self, seconds: float) -> None:
        """Let time pass for leases, delays and ages."""


class SqliteBackend:
    """Queues in files, on a fake clock."""

    name = "sqlite"

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        self.folder = folder
        self.clock = clock
        self.declared: dict[str, dict[str, Any]] = {}

    def make(self, **settings: Any) -> Queue[Any]:
        """A queue with the given settings in a file of its own."""
        name = f"q{next(_numbers)}"
        path = str(self.folder / "queues" / f"{name}.db")
        values: dict[str, Any] = {"max_size": 100, "redelivery": NO_DELAY}
        values |= {"store": Sqlite(path=path), **settings}
        self.declared[name] = values
        return Queue(service="tests", queue=name, **values)

    def again(self, queue: Queue[Any], **changes: Any) -> Queue[Any]:
        """The same file with new connections."""
        live.forget(queue.name)
        values = self.declared[queue.queue] = self.declared[queue.queue] | changes
        return Queue(service="tests", queue=queue.queue, **values)

    def advance(self, seconds: float) -> None:
        """Turn the fake clock."""
        self.clock.advance(seconds)

    def close(self) -> None:
        """Close every queue."""
        for name in self.declared:
            live.forget(f"tests.{name}")


class RedisBackend(SqliteBackend):
    """Queues on a server, which is told the time of the fake clock."""

    name = "redis"

    def make(self, **settings: Any) -> Queue[Any]:
        """A queue with the given settings under a key of its own."""
        store = Redis(key=f"q{next(_numbers)}", url_env="POLICY_REDIS_URL")
        return super().make(**{"store": store, **settings})


@pytest.fixture(params=["sqlite", "redis"])
def backend(request: pytest.FixtureRequest, memory_path: Path) -> Iterator[Backend]:
    """Each store in turn."""
    if request.param == "redis":
        request.getfixturevalue("valkey")
    with FakeClock() as clock:
        kinds = {"sqlite": SqliteBackend, "redis": RedisBackend}
        made = kinds[request.param](memory_path, clock)
        yield made
        made.close()


@pytest.fixture
def make(backend: Backend) -> MakeQueue:
    """Makes a queue of its own for the test."""
    return backend.make


@pytest.fixture
def events() -> Iterator[EventRecorder]:
    """What the event stream says during the test."""
    with record_events() as recorder:
        yield recorder
