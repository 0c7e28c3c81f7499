"""Lets one call for each key through, and gives the others its outcome."""

from __future__ import annotations

import os
from _thread import allocate_lock
from itertools import count
from weakref import WeakSet

from policyctl.runtime.budget import current_deadline
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import IdempotencyConflictError, PolicyConfigError
from policyctl.runtime.idempotency import outcome
from policyctl.runtime.idempotency.codec import find_codec
from policyctl.runtime.idempotency.forwarding import FORWARDED, take_back
from policyctl.runtime.idempotency.keys import KeyMaker
from policyctl.runtime.idempotency.memory import MemoryStore
from policyctl.runtime.idempotency.waiting import (
    LONGEST_POLL,
    POLL,
    wait_in_task,
    wait_in_thread,
)
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.runtime.threads import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any

    from policyctl.runtime.classify import Classifier
    from policyctl.runtime.idempotency.keys import Key
    from policyctl.runtime.idempotency.memory import Record, Store
    from policyctl.runtime.settings import Idempotency

MAX_BYTES = 1 << 20
"""The largest outcome that stores outside the process keep."""

_next_owner = count(1).__next__
_guards: WeakSet[Guard] = WeakSet()


class Ticket:
    """One call's part in its key.

    Attributes:
        key: the call's key; None for a call without one, which is not guarded.
        replayed: whether ``result`` or ``error`` is the outcome of an earlier call.
        result: that outcome's result.
        error: that outcome's error, a fresh instance.
    """

    __slots__ = ("_guard", "_owner", "_token", "error", "key", "replayed", "result")

    def __init__(self, guard: Guard, key: Key | None, owner: str) -> None:
        self._guard = guard
        self._owner = owner
        self._token: Token[tuple[str, str] | None] | None = None
        self.key = key
        self.replayed = False
        self.result: Any = None
        self.error: Exception | None = None

    @property
    def stored(self) -> str:
        """The name of its record; empty without a key."""
        return "" if self.key is None else self.key.stored

    def arguments(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the key where the policy forwards it as an argument.

        A key that the caller passes itself stays.
        """
        name = self._guard.argument
        if self.key is None or name is None or kwargs.get(name) is not None:
            return args, kwargs
        index = self._guard.position_of(fn, name)
        if index is None or index >= len(args):
            return args, {**kwargs, name: self.key.forwarded}
        if args[index] is not None:
            return args, kwargs
        return (*args[:index], self.key.forwarded, *args[index + 1 :]), kwargs

    def open(self) -> None:
        """Publish the key to clients that forward it; ``settle`` takes it back."""
        if self.key is not None and not self.replayed:
            self._token = FORWARDED.set((self._guard.header, self.key.forwarded))

    def _close(self) -> None:
        if self._token is not None:
            token, self._token = self._token, None
            take_back(token)

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Store the outcome or free the key; call it exactly once unless replayed.

        A result is stored, and an error that ``never_retry_on`` names; every other
        error, cancellation included, frees the key. The outcome of a call that lost
        its key meanwhile is not stored.
        """
        self._close()
        if self.key is not None and not self.replayed:
            self._guard.settle(self.key, self._owner, result, error)

    async def settle_async(self, result: Any, error: BaseException | None) -> None:
        """``settle``, in a thread if the store may block."""
        if not self._guard.store.blocking or isinstance(error, GeneratorExit):
            self.settle(result, error)  # a coroutine that is closed cannot await
            return
        import asyncio

        self._close()
        await asyncio.to_thread(self.settle, result, error)


class _Claim:
    """A claim in a thread, for a task that may be gone before it has the key.

    Then the key is freed by whoever comes second: the thread when it has claimed, or a
    thread of its own if the claim was through. The event loop may be blocked by a call
    that waits for this very key, so nothing of it is left to the loop.
    """

    __slots__ = ("_gone", "_guard", "_lock", "_over", "_ticket")

    def __init__(self, guard: Guard, ticket: Ticket) -> None:
        self._guard = guard
        self._ticket = ticket
        self._lock = allocate_lock()
        self._gone = self._over = False

    def __call__(self) -> bool:
        found = self._guard._try(self._ticket)
        with self._lock:
            self._over = True
            gone = self._gone
        if gone:
            self._free()
        return found

    def give_up(self) -> None:
        """Nobody waits for the key any more."""
        with self._lock:
            self._gone = True
            over = self._over
        if over:
            from threading import Thread

            # Without a thread the key is free when its time is over.
            started(Thread(target=self._free, daemon=True))

    def _free(self) -> None:
        key = self._ticket.key
        if key is None:
            return
        try:
            self._guard.store.release(key.stored, self._ticket._owner)
        except StoreUnavailableError as problem:
            _log(self._guard._name, "outcome", problem)


class Guard:
    """Idempotency of one operation.

    Args:
        name: ``service.operation``.
        settings: the ``idempotency`` block.
        classifier: knows which errors ``never_retry_on`` names.
        longest_wait: the operation's budget in seconds, which bounds waiting too.
        store: where records are kept; the settings decide unless given.

    Raises:
        PolicyConfigError: a store or codec that is not there.
    """

    __slots__ = (
        "__weakref__",
        "_classifier",
        "_codec",
        "_in_progress",
        "_keys",
        "_longest_wait",
        "_name",
        "_settings",
        "argument",
        "header",
        "store",
        "ttl",
    )

    def __init__(
        self,
        name: str,
        settings: Idempotency,
        classifier: Classifier,
        longest_wait: float | None = None,
        store: Store | None = None,
    ) -> None:
        self._name = name
        self._settings = settings
        self._classifier = classifier
        self._codec = find_codec(settings.codec)
        self._keys = KeyMaker(name, settings)
        self._longest_wait = longest_wait
        self.store: Store = _find_store(name, settings) if store is None else store
        self.ttl = settings.ttl
        self._in_progress = settings.in_progress
        if self._in_progress is None and self.store.blocking:
            self._in_progress = settings.ttl  # what a dead process left must end
        forward = settings.forward
        self.argument = None if forward is None else forward.argument
        self.header = "" if forward is None else forward.header or ""
        _guards.add(self)

    def enter(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Ticket:
        """Take the call's key, waiting for another call that has it.

        Raises:
            IdempotencyConflictError: the key was used with other arguments, or its
                first call is still running after the time there is to wait.
        """
        ticket, deadline = self._begin(fn, args, kwargs)
        since, pause = CLOCK.now(), POLL
        while not self._try(ticket):
            self._check_wait(ticket, since, deadline)
            wait_in_thread(self.store, ticket.stored, deadline, pause)
            pause = min(2 * pause, LONGEST_POLL)
        return ticket

    async def enter_async(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Ticket:
        """``enter`` for coroutines: waits without blocking the event loop."""
        ticket, deadline = self._begin(fn, args, kwargs)
        since, pause = CLOCK.now(), POLL
        while not await self._try_async(ticket):
            self._check_wait(ticket, since, deadline)
            await wait_in_task(self.store, ticket.stored, deadline, pause)
            pause = min(2 * pause, LONGEST_POLL)
        return ticket

    def position_of(self, fn: Callable[..., Any], name: str) -> int | None:
        """Where ``fn`` takes ``name`` by position; None if it does not."""
        return self._keys.position_of(fn, name)

    def change(self, settings: Idempotency, classifier: Classifier) -> None:
        """Other times and another answer to conflicts, for the same store and keys."""
        self._settings, self._classifier = settings, classifier
        self.ttl = settings.ttl
        self._in_progress = settings.in_progress
        if self._in_progress is None and self.store.blocking:
            self._in_progress = settings.ttl

    def clear(self) -> None:
        """Forget every outcome and every call in progress."""
        self.store.clear()

    def after_fork(self) -> None:
        """In a child process: calls in progress belong to threads that are not here."""
        self.store.after_fork()

    def _begin(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Ticket, float]:
        key = self._keys.of(fn, args, kwargs)
        deadline = current_deadline()
        if self._longest_wait is not None:
            deadline = min(deadline, CLOCK.now() + self._longest_wait)
        return Ticket(self, key, f"{_process()}-{_next_owner()}"), deadline

    def _try(self, ticket: Ticket) -> bool:
        """Whether the call may go on: the key is ours, or there is an outcome."""
        key = ticket.key
        if key is None:
            return True
        try:
            record = self.store.claim(
                key.stored, key.fingerprint, ticket._owner, self._in_progress
            )
        except StoreUnavailableError as error:
            error.service, _, error.operation = self._name.partition(".")
            raise
        if record is None:
            return True
        return self._replay(ticket, key, record)

    async def _try_async(self, ticket: Ticket) -> bool:
        if not self.store.blocking:
            return self._try(ticket)
        import asyncio

        claim = _Claim(self, ticket)
        try:
            return await asyncio.to_thread(claim)
        except asyncio.CancelledError:
            claim.give_up()
            raise

    def _replay(self, ticket: Ticket, key: Key, record: Record) -> bool:
        if record.fingerprint != key.fingerprint:
            raise self._conflict(key, "arguments", 0.0)
        if record.payload is None:
            return False
        try:
            ticket.result, ticket.error = outcome.decode(self._codec, record.payload)
        except outcome.Unstorable as error:
            raise self._wrong(f"the first call succeeded, but {error}") from None
        ticket.replayed = True
        return True

    def _check_wait(self, ticket: Ticket, since: float, deadline: float) -> None:
        now = CLOCK.now()
        assert ticket.key is not None
        if self._settings.on_conflict == "reject" or now >= deadline:
            raise self._conflict(ticket.key, "in_progress", now - since)

    def _conflict(self, key: Key, kind: str, waited: float) -> IdempotencyConflictError:
        service, _, operation = self._name.partition(".")
        return IdempotencyConflictError(service, operation, key.forwarded, kind, waited)

    def _wrong(self, message: str) -> PolicyConfigError:
        service, _, operation = self._name.partition(".")
        return PolicyConfigError(
            message,
            path="idempotency.codec",
            help="return plain data, or name a codec that knows the type",
            service=service,
            operation=operation,
        )

    def settle(
        self, key: Key, owner: str, result: Any, error: BaseException | None
    ) -> None:
        """Store an outcome or free the key, if it is still the owner's.

        The call has happened: a store that is away is reported and changes nothing of
        what the caller gets. The key is then free after ``in_progress``.
        """
        payload = self.payload(result, error)
        for left in (1, 0):
            try:
                if payload is None:
                    self.store.release(key.stored, owner)
                else:
                    self.store.complete(key.stored, owner, payload, self.ttl)
                return
            except StoreUnavailableError as problem:
                if not left:
                    _log(self._name, "outcome", problem)

    def payload(self, result: Any, error: BaseException | None) -> bytes | None:
        """What to store of an outcome; None to free the key."""
        if error is None:
            try:
                found = outcome.encode_result(self._codec, result)
                self._check_size(found)
                return found
            except Exception as problem:
                _log(self._name, "result", problem)
                return outcome.encode_unstorable(f"its result is lost: {problem}")
        if not isinstance(error, Exception) or not self._classifier.never_retries(
            error
        ):
            return None
        try:
            found = outcome.encode_error(self._codec, error)
            self._check_size(found)
            return found
        except Exception as problem:
            _log(self._name, "error", problem)
            return None

    def _check_size(self, payload: bytes) -> None:
        most = self.store.max_bytes
        if most is not None and len(payload) > most:
            raise ValueError(f"{len(payload)} bytes are over the limit of {most}")


def _find_store(name: str, settings: Idempotency) -> Store:
    if settings.store == "sqlite":
        from policyctl.runtime.idempotency.sqlite import SqliteStore

        assert settings.path is not None
        return SqliteStore(settings.path, MAX_BYTES)
    if settings.store == "redis":
        from policyctl.runtime.idempotency.redis import RedisStore

        assert settings.url_env is not None
        return RedisStore(settings.url_env, MAX_BYTES, name)
    return MemoryStore()


def _process() -> str:
    """Tells this process's owners from those of others on a shared store."""
    return f"{os.getpid()}-{_BORN}"


_BORN = os.urandom(6).hex()


def _after_fork_in_child() -> None:
    for guard in list(_guards):
        guard.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _log(name: str, what: str, problem: Exception) -> None:
    import logging

    logging.getLogger("policyctl").error(
        "%s: the %s of a call with an idempotency key cannot be stored: %s",
        name,
        what,
        problem,
    )
