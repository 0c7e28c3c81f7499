"""What goes into a store and what comes out of it: plain records of bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

Outcome = Literal["queued", "duplicate", "dead_letter"]
DeadReason = Literal["queue_full", "max_deliveries", "max_age", "undecodable"]


@dataclass(frozen=True, slots=True)
class Entry:
    """An item to put.

    Attributes:
        id: made by the client; putting it again changes nothing.
        body: the payload as bytes.
        lane: its value of ``order_by``; None without an order.
        keyed: whether the caller chose the id, so that it may come again later.
    """

    id: str
    body: bytes
    lane: str | None = None
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """An item under a lease.

    Attributes:
        receipt: names this lease; acknowledging needs it.
        deliveries: how often the item was handed out, this time included.
        put_at: when it was put, in seconds since 1970.
    """

    id: str
    body: bytes
    lane: str | None
    receipt: str
    deliveries: int
    put_at: float


@dataclass(frozen=True, slots=True)
class Back:
    """An item on its way back.

    Attributes:
        taken: what was leased.
        delay: seconds until it is delivered again.
        error: why it comes back; None keeps what was said before.
        counted: whether the delivery counts; if not, it is as if it had not been.
    """

    taken: Taken
    delay: float = 0.0
    error: str | None = None
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Dead:
    """A dead letter.

    Attributes:
        reason: ``queue_full``, ``max_deliveries``, ``max_age`` or ``undecodable``.
        error: what the last handler said, or None.
        put_at, died_at: seconds since 1970.
        history: earlier deaths, oldest first: what is above, by name.
        cursor: where the list goes on after this one.
    """

    id: str
    body: bytes
    lane: str | None
    reason: str
    error: str | None
    deliveries: int
    put_at: float
    died_at: float
    history: tuple[dict[str, Any], ...] = ()
    cursor: int = 0

    def past(self) -> list[dict[str, Any]]:
        """The history with this death at its end."""
        death = {
            "reason": self.reason,
            "error": self.error,
            "deliveries": self.deliveries,
            "died_at": self.died_at,
        }
        return [*self.history, death]


@dataclass(frozen=True, slots=True)
class Stats:
    """A queue in numbers.

    Attributes:
        ready: items that wait, those whose next delivery is delayed included.
        delayed: how many of them are delayed.
        leased: items that somebody works on.
        size: ready and leased; what ``max_size`` bounds.
        bytes: the payloads of these.
        dead: dead letters.
        oldest_seconds: age of the oldest item that is not dead; 0.0 if there is none.
        put, acked, dropped, dead_lettered: counts since the store was made.
    """

    ready: int
    delayed: int
    leased: int
    size: int
    bytes: int
    dead: int
    oldest_seconds: float
    put: int
    acked: int
    dropped: int
    dead_lettered: int

    def as_dict(self) -> dict[str, Any]:
        """The numbers by name, ready for JSON."""
        return asdict(self)


@dataclass(slots=True)
class Change:
    """What a step did besides its result; the queue tells listeners of it.

    Attributes:
        level: True when the size crossed ``warn_at`` upwards, False downwards.
        size: items after the step.
        dead: id and reason of items that became dead letters.
        dropped: id and reason of items that are gone.
        parked: ids of items that are to be dead letters, which are full.
    """

    level: bool | None = None
    size: int = 0
    dead: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    dropped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    parked: list[str] = field(default_factory=list[str])

    def take(self, other: Change) -> None:
        """Become the other: a step that ran again counts once."""
        self.level, self.size = other.level, other.size
        self.dead, self.dropped = other.dead, other.dropped
        self.parked = other.parked


class Store(Protocol):
    """What every back end does; each step is whole or did not happen.

    Steps add what they did to ``change``. All may raise ``StoreUnavailableError``.
    """

    def put(self, entries: list[Entry], change: Change) -> list[Outcome]:
        """Put all entries, or none.

        Raises:
            QueueFullError: they do not all fit, and the policy has no place for them.
        """
        ...

    def take(self, count: int, lease: float, change: Change) -> list[Taken]:
        """Lease up to ``count`` items for ``lease`` seconds, oldest first."""
        ...

    def ack(self, items: list[Taken], change: Change) -> list[bool]:
        """Remove items; False for each whose lease was lost."""
        ...

    def nack(self, items: list[Back], change: Change) -> list[bool]:
        """Give items back; False for each whose lease was lost.

        Those that have used up their deliveries become dead letters.
        """
        ...

    def extend(self, items: list[Taken], lease: float) -> list[bool]:
        """Let leases end ``lease`` seconds from now."""
        ...

    def bury(self, item: Taken, reason: str, error: str | None, change: Change) -> bool:
        """Make a leased item a dead letter at once."""
        ...

    def stats(self) -> Stats:
        """The queue in numbers."""
        ...

    def peek(self, count: int) -> list[Taken]:
        """The items that would be taken next, without leasing them."""
        ...

    def dead(self, count: int, after: int) -> list[Dead]:
        """Dead letters, oldest first, from the cursor ``after`` on."""
        ...

    def find_dead(self, id: str) -> Dead | None:
        """One dead letter, or None."""
        ...

    def redrive(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Put dead letters back, oldest first; how many fitted."""
        ...

    def purge(self, ids: list[str] | None, count: int, change: Change) -> int:
        """Delete dead letters, oldest first; how many there were."""
        ...

    async def run(self, step: str, *arguments: Any) -> Any:
        """One of the steps above by its name, without blocking the event loop."""
        ...

    def close(self) -> None:
        """Let go of connections; the next step opens new ones."""
        ...
