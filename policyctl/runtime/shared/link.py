"""The one background thread of a process that talks to one store.

Members (breakers, rate limits) hand it what they have to say; it sends what all of them
have in one exchange, at once where somebody asks for it and every ``TICK`` otherwise.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from threading import Thread
from time import monotonic
from weakref import WeakSet

from policyctl.runtime.stores.redis import RedisServer
from policyctl.runtime.threads import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from policyctl.runtime.stores.redis import Step

    class Member(Protocol):
        """What a link carries messages for."""

        def collect(self, due: bool) -> Step | None:
            """The script to run now; None if there is nothing to say or ask.

            ``due`` says that it is time for a regular look at the store.
            """
            ...

        def applied(self, reply: Any) -> bool:
            """Take over the reply; True to be asked again at once."""
            ...

        def went_away(self) -> None:
            """Go on alone; what ``collect`` gave last may not have arrived."""
            ...

        def after_fork(self) -> None:
            """In a child process: fresh locks, nothing under way."""
            ...


TICK = 0.15
"""Seconds between regular looks at the store."""
TIMEOUT = 0.5
"""Seconds to connect to the store, and to wait for its answer."""
PATIENCE = 2 * TIMEOUT + 0.1
"""Seconds after which a question to the store counts as unanswered."""
FIRST_PATIENCE = 5.0
"""The same for the first exchange, before which the client library is imported."""
_RETRIES = (0.2, 0.4, 0.8, 1.0)
"""Seconds until the next try while the store is away; the last one repeats."""
_FAST_EXCHANGES = 8

UNKNOWN = "unknown"
UP = "up"
AWAY = "away"

_links: dict[str, Link] = {}
_guard = allocate_lock()


def link_to(url_env: str) -> Link:
    """The link of this process to the store that an environment variable names."""
    with _guard:
        link = _links.get(url_env)
        if link is None:
            link = _links[url_env] = Link(url_env)
        return link


def close_links() -> None:
    """Stop the threads and close the connections; the next use starts them anew."""
    for link in list(_links.values()):
        link.close()


class Link:
    """A store, the members that share state over it, and the thread between them.

    Attributes:
        state: ``unknown`` until the first exchange, then ``up`` or ``away``.
    """

    def __init__(self, url_env: str) -> None:
        self._server = RedisServer(url_env, timeout=TIMEOUT)
        self._members: WeakSet[Any] = WeakSet()
        self.after_fork()

    def after_fork(self) -> None:
        """In a child process: no thread, nothing known."""
        self.state = UNKNOWN
        self._lock = allocate_lock()
        self._bell = allocate_lock()
        self._bell.acquire()
        self._busy = allocate_lock()
        self._dirty: list[Member] = []
        self._thread: Thread | None = None
        self._generation = 0
        self._failures = 0
        self._retry_at = 0.0
        self._said_away = False
        self._notices: list[Callable[[], object]] = []
        self._notifier: Thread | None = None

    @property
    def is_up(self) -> bool:
        """Whether the store answered the last time it was asked."""
        return self.state == UP

    @property
    def patience(self) -> float:
        """Seconds to wait for an answer at most; timeouts of the store end it earlier."""
        return FIRST_PATIENCE if self.state == UNKNOWN else PATIENCE

    @property
    def address(self) -> str:
        """Where the store is, without user and password."""
        return self._server.address

    def join(self, member: Member) -> None:
        """Carry messages for ``member`` for as long as it lives; opens nothing."""
        with self._lock:
            self._members.add(member)

    def push(self, member: Member) -> None:
        """Have the thread see to ``member`` at once."""
        with self._lock:
            self._dirty.append(member)
            self._ring()
            if self._thread is None:
                self._generation += 1
                thread = Thread(
                    target=self._run,
                    args=(self._generation,),
                    name="policyctl store",
                    daemon=True,
                )
                if started(thread):
                    self._thread = thread

    def serve_here(self, member: Member) -> None:
        """``push`` for a thread that will wait: exchange in it unless one is under way."""
        if self.state != UP or not self._busy.acquire(blocking=False):
            self.push(member)
            return
        try:
            members = [member]
            for _ in range(_FAST_EXCHANGES):
                members = self._exchange(members, False)
                if not members:
                    return
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._busy.release()
        self.push(member)

    def _ring(self) -> None:
        if self._bell.locked():
            self._bell.release()

    def close(self) -> None:
        """Stop the thread, within the time that the store takes to answer."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._generation += 1
            self._ring()
        if thread is not None:
            thread.join(PATIENCE)
        self._server.close()
        self.state = UNKNOWN

    # -- the thread ----------------------------------------------------------------

    def _run(self, generation: int) -> None:
        next_look = 0.0
        while True:
            self._bell.acquire(timeout=max(0.0, next_look - monotonic()))
            due = monotonic() >= next_look
            with self._lock:
                if generation != self._generation:
                    return
                dirty, self._dirty = self._dirty, []
                members = list(self._members) if due else list(dict.fromkeys(dirty))
                if due and not members:
                    self._thread = None
                    return
            with self._busy:
                try:
                    self._serve(members, due)
                except Exception as error:
                    self._failed(error)
            if due:
                next_look = monotonic() + TICK

    def _serve(self, members: list[Member], due: bool) -> None:
        if self.state == AWAY and monotonic() < self._retry_at:
            _tell_all_away(members)
            return
        was_away = self.state != UP
        if was_away:
            members, due = self._everyone(), True
        for _ in range(_FAST_EXCHANGES):
            members = self._exchange(members, due)
            due = False
            if not members:
                return

    def _exchange(self, members: list[Member], due: bool) -> list[Member]:
        """One exchange for all; those who want another at once are returned."""
        steps = [(member, step) for member in members if (step := member.collect(due))]
        if not steps:
            return []
        try:
            replies = self._server.run_many([step for _, step in steps])
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        except Exception as error:
            self._failed(error)
            return []
        self._succeeded()
        pairs = zip(steps, replies, strict=True)
        return [member for (member, _), reply in pairs if member.applied(reply)]

    def _everyone(self) -> list[Member]:
        with self._lock:  # none joins meanwhile
            return list(self._members)

    def _succeeded(self) -> None:
        self.state = UP
        self._failures = 0
        if self._said_away:
            self._said_away = False
            _log("warning", "store %s is back; state is shared again", self.address)

    def _failed(self, error: BaseException) -> None:
        self.state = AWAY
        wait = _RETRIES[min(self._failures, len(_RETRIES) - 1)]
        self._failures += 1
        self._retry_at = monotonic() + wait
        if not self._said_away:
            self._said_away = True
            _log(
                "error",
                "store %s is away (%s); breakers and rate limits of this process go "
                "on alone until it is back",
                self.address,
                getattr(error, "message", "") or error,
            )
        _tell_all_away(self._everyone())

    # -- telling others --------------------------------------------------------------

    def notify(self, notice: Callable[[], object]) -> None:
        """Call ``notice`` in a thread of its own, in order: listeners may be slow."""
        with self._lock:
            self._notices.append(notice)
            if self._notifier is not None:
                return
            thread = Thread(target=self._deliver, name="policyctl notices", daemon=True)
            if started(thread):
                self._notifier = thread

    def _deliver(self) -> None:
        while True:
            with self._lock:
                if not self._notices:
                    self._notifier = None
                    return
                notice = self._notices.pop(0)
            notice()


def _tell_all_away(members: list[Member]) -> None:
    for member in members:
        member.went_away()


def _log(level: str, message: str, *args: object) -> None:
    import logging

    getattr(logging.getLogger("policyctl"), level)(message, *args)


def _after_fork_in_child() -> None:
    global _guard
    _guard = allocate_lock()
    for link in _links.values():
        link.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
