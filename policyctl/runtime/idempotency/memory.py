"""Records in the memory of this process, for threads and event loops alike."""

from __future__ import annotations

from _thread import allocate_lock
from heapq import heapify, heappop, heappush

from policyctl.runtime.clock import CLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Store(Protocol):
        """What a store of records does, each step as one indivisible action.

        Times are durations in seconds; what clock a store measures them by is its own
        affair. ``blocking`` says whether its methods may wait for a disk or a network,
        so that async callers run them in a thread. ``max_bytes`` bounds an outcome's
        size. Every method may raise ``StoreUnavailableError``.
        """

        @property
        def blocking(self) -> bool:
            """Whether its methods may wait."""
            ...

        @property
        def max_bytes(self) -> int | None:
            """The largest outcome that it keeps."""
            ...

        def claim(
            self, key: str, fingerprint: str, owner: str, in_progress: float | None
        ) -> Record | None:
            """Take the key for ``owner``; else what is there, unchanged."""
            ...

        def complete(self, key: str, owner: str, payload: bytes, ttl: float) -> bool:
            """Store an outcome; False if the key is not the owner's any more."""
            ...

        def release(self, key: str, owner: str) -> None:
            """Free the key if it is the owner's."""
            ...

        def watch(self, key: str, wake: Callable[[], object]) -> bool:
            """Call ``wake`` once the key is free or done; False: poll instead."""
            ...

        def unwatch(self, key: str, wake: Callable[[], object]) -> None:
            """Forget ``wake``."""
            ...

        def clear(self) -> None:
            """Forget everything, for tests and operators."""
            ...

        def after_fork(self) -> None:
            """Forget what belongs to threads that a forked child does not have."""
            ...


MAX_RECORDS = 100_000
"""Outcomes that a store in memory keeps, unless it is told otherwise."""


class Record:
    """What is known of a key.

    Attributes:
        fingerprint: of the arguments it was first used with.
        owner: the token of the call that holds it.
        payload: the encoded outcome; None while the call is in progress.
        expires: when it is void, on the clock of the store.
    """

    __slots__ = ("expires", "fingerprint", "owner", "payload", "wakes")

    def __init__(self, fingerprint: str, owner: str, expires: float) -> None:
        self.fingerprint = fingerprint
        self.owner = owner
        self.payload: bytes | None = None
        self.expires = expires
        self.wakes: list[Callable[[], object]] = []


class MemoryStore:
    """A dictionary of records; those that have expired are dropped as time goes on.

    Args:
        max_records: outcomes that are kept; one more drops the one that was asked for
            the longest ago. A call in progress is never dropped.

    Attributes:
        dropped: outcomes that were dropped before their time.
    """

    blocking = False
    max_bytes: int | None = None

    def __init__(self, max_records: int = MAX_RECORDS) -> None:
        self._max = max_records
        self._records: dict[str, Record] = {}
        self._used: dict[str, None] = {}  # keys of outcomes, the least recent first
        self._expiries: list[tuple[float, str]] = []  # a heap
        self._lock = allocate_lock()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._records)

    def claim(
        self, key: str, fingerprint: str, owner: str, in_progress: float | None
    ) -> Record | None:
        """Take the key for ``owner``; else what is there, unchanged."""
        now = CLOCK.now()
        limit = float("inf") if in_progress is None else now + in_progress
        with self._lock:
            self._drop_expired(now)
            record = self._records.get(key)
            if record is not None and record.expires > now:
                if key in self._used:
                    self._touch(key)
                return record
            self._used.pop(key, None)
            made = self._records[key] = Record(fingerprint, owner, limit)
            if record is not None:
                made.wakes = record.wakes
            return None

    def complete(self, key: str, owner: str, payload: bytes, ttl: float) -> bool:
        """Store an outcome; False if the key is not the owner's any more."""
        with self._lock:
            record = self._records.get(key)
            if record is None or record.owner != owner or record.payload is not None:
                return False
            record.payload = payload
            record.expires = CLOCK.now() + ttl
            heappush(self._expiries, (record.expires, key))
            self._touch(key)
            first = self._drop_excess() and self.dropped == 1
            wakes, record.wakes = record.wakes, []
        _call_all(wakes)
        if first:
            self._tell()
        return True

    def release(self, key: str, owner: str) -> None:
        """Free the key if it is the owner's."""
        with self._lock:
            record = self._records.get(key)
            if record is None or record.owner != owner or record.payload is not None:
                return
            del self._records[key]
            wakes = record.wakes
        _call_all(wakes)

    def watch(self, key: str, wake: Callable[[], object]) -> bool:
        """Call ``wake`` once the key is free or done; at once if it is already."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and record.payload is None:
                record.wakes.append(wake)
                return True
        wake()
        return True

    def unwatch(self, key: str, wake: Callable[[], object]) -> None:
        """Forget ``wake``."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and wake in record.wakes:
                record.wakes.remove(wake)

    def _drop_expired(self, now: float) -> None:
        while self._expiries and self._expiries[0][0] <= now:
            _, key = heappop(self._expiries)
            record = self._records.get(key)
            if (
                record is not None
                and record.payload is not None
                and record.expires <= now
            ):
                del self._records[key]
                self._used.pop(key, None)

    def _touch(self, key: str) -> None:
        """Make ``key`` the one that was asked for last."""
        self._used.pop(key, None)
        self._used[key] = None

    def _drop_excess(self) -> bool:
        """Drop the outcome that was asked for the longest ago, if there is one too many."""
        if len(self._used) <= self._max:
            return False
        key = next(iter(self._used))
        del self._used[key], self._records[key]
        self.dropped += 1
        if len(self._expiries) > 2 * self._max + 16:  # most are of dropped records
            self._expiries = [(self._records[key].expires, key) for key in self._used]
            heapify(self._expiries)
        return True

    def _tell(self) -> None:
        import logging

        logging.getLogger("policyctl").warning(
            "an idempotency store in memory is full: the oldest of its %d outcomes are "
            "dropped before their ttl, and calls with their keys can be made again; a "
            "shorter ttl or store: sqlite or redis would keep them",
            self._max,
        )

    def clear(self) -> None:
        """Forget every outcome; calls in progress lose their key and store nothing."""
        with self._lock:
            waiting = [wake for r in self._records.values() for wake in r.wakes]
            self._records.clear()
            self._used.clear()
            self._expiries.clear()
        _call_all(waiting)

    def after_fork(self) -> None:
        """In a child process: a fresh lock, and no calls in progress."""
        self._lock = allocate_lock()
        for key in [k for k, r in self._records.items() if r.payload is None]:
            del self._records[key]


def _call_all(wakes: list[Callable[[], object]]) -> None:
    for wake in wakes:
        wake()
