"""Protection of a service as a server: how many requests at once, and for how long.

A generated module holds one ``Inbound``; ``inbound.asgi(app)`` and ``inbound.wsgi(app)``
put it around an application (C28).
"""

from __future__ import annotations

import os
from _weakrefset import WeakSet
from math import ceil

from policyctl.runtime.budget import DEADLINE
from policyctl.runtime.budget_header import parse_budget_header
from policyctl.runtime.bulkhead import (
    GRANTED,
    TaskWaiter,
    ThreadWaiter,
    Waiters,
    wait_in_task,
    wait_in_thread,
)
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.gate import Gate
from policyctl.runtime.overrides import apply_overrides
from policyctl.runtime.rate_limit import TokenBucket
from policyctl.runtime.telemetry.switch import SWITCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from policyctl.runtime import settings as _settings
    from policyctl.runtime.edges.asgi import AsgiApp, AsgiGuard
    from policyctl.runtime.edges.wsgi import WsgiApp, WsgiGuard

_all: WeakSet[Inbound] = WeakSet()

OUTCOMES = ("absent", "taken", "clamped", "expired", "ignored")


class Refusal:
    """An answer that is given instead of calling the application.

    Attributes:
        status: 429, 503 or 504.
        reason: the phrase of the status.
        body: plain text for people.
        retry_after: whole seconds after which to try again; None for no hint.
    """

    __slots__ = ("body", "reason", "retry_after", "status")

    def __init__(
        self, status: int, reason: str, body: str, retry_after: int | None
    ) -> None:
        self.status = status
        self.reason = reason
        self.body = body
        self.retry_after = retry_after

    def headers(self) -> list[tuple[str, str]]:
        """The headers of the answer."""
        found = [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(self.body.encode()))),
        ]
        if self.retry_after is not None:
            found.append(("retry-after", str(self.retry_after)))
        return found


class Inbound:
    """The ``inbound`` block of one service; made once, shared by all its servers.

    Attributes:
        service: the service's name.
        settings: the blocks by name, after overrides.
        overrides: the environment variables that changed them.

    Raises:
        PolicyConfigError: a bad override, or a block that is not served.
    """

    __slots__ = (
        "__weakref__",
        "_bucket",
        "_counts",
        "_gate",
        "_refused",
        "_waiters",
        "overrides",
        "service",
        "settings",
    )

    def __init__(
        self,
        *,
        service: str = "",
        bulkhead: _settings.Bulkhead | None = None,
        rate_limit: _settings.RateLimit | None = None,
        budget: _settings.InboundBudget | None = None,
    ) -> None:
        if bulkhead is not None and bulkhead.scope != "operation":
            raise _unserved(service, "bulkhead.scope")
        self.service = service
        declared: dict[str, Any] = {
            "bulkhead": bulkhead,
            "rate_limit": rate_limit,
            "budget": budget,
        }
        self.settings, self.overrides = apply_overrides(service, "inbound", declared)
        rate_limit = self.settings["rate_limit"]
        self._bucket = None if rate_limit is None else _bucket(service, rate_limit)
        self._gate = Gate()
        bulkhead = self.settings["bulkhead"]
        self._waiters = None if bulkhead is None else Waiters(self._gate, bulkhead)
        self._counts = dict.fromkeys(OUTCOMES, 0)
        self._refused = {"rate_limited": 0, "bulkhead_full": 0, "budget_expired": 0}
        _all.add(self)

    def asgi(self, app: AsgiApp) -> AsgiGuard:
        """``app`` behind this protection; a plain ASGI application again."""
        from policyctl.runtime.edges.asgi import AsgiGuard

        return AsgiGuard(self, app)

    def wsgi(self, app: WsgiApp) -> WsgiGuard:
        """``app`` behind this protection; a plain WSGI application again."""
        from policyctl.runtime.edges.wsgi import WsgiGuard

        return WsgiGuard(self, app)

    @property
    def header(self) -> str | None:
        """Lower-case name of the header that carries the caller's budget, or None."""
        block: _settings.InboundBudget | None = self.settings["budget"]
        if block is None or block.header is None:
            return None
        return block.header.name.lower()

    def budget_of(self, values: Sequence[str | bytes]) -> float | None:
        """Seconds that a request has, from all values of its header; None: no limit.

        0.0 means that it has expired already. What was made of the header is counted.
        """
        SWITCH.touch(self.service)
        block: _settings.InboundBudget | None = self.settings["budget"]
        if block is None:
            return None
        unit = "s" if block.header is None else block.header.unit
        seconds, outcome = parse_budget_header(values, unit, block.max)
        self._counts[outcome] += 1
        return block.default if seconds is None else seconds

    def expired(self) -> Refusal:
        """Count and answer a request whose budget is gone before it began."""
        self._refused["budget_expired"] += 1
        return Refusal(
            504, "Gateway Timeout", "the time for this request is over\n", None
        )

    def enter(self) -> Refusal | None:
        """Take a token and a slot, waiting in this thread; None if there are both."""
        bucket = self._bucket
        found = None if bucket is None else bucket.take(self._token_wait(bucket))
        wait = self._token(found)
        if isinstance(wait, Refusal):
            return wait
        if wait and bucket is not None:
            try:
                CLOCK.sleep(wait)
            except BaseException:
                bucket.give_back()
                raise
        until = self._enter_at_once()
        if isinstance(until, float) and self._waiters is not None:
            waiter = ThreadWaiter(None, -1)
            return self._waited(wait_in_thread(self._waiters, waiter, until))
        return until if isinstance(until, Refusal) else None

    async def enter_async(self) -> Refusal | None:
        """Take a token and a slot, waiting in this task; None if there are both."""
        bucket, found = self._bucket, None
        if bucket is not None:
            found = await bucket.take_async(self._token_wait(bucket))
        wait = self._token(found)
        if isinstance(wait, Refusal):
            return wait
        if wait and bucket is not None:
            try:
                await CLOCK.async_sleep(wait)
            except BaseException:
                bucket.give_back()
                raise
        until = self._enter_at_once()
        if isinstance(until, float) and self._waiters is not None:
            from asyncio import get_running_loop

            waiter = TaskWaiter(None, -1, get_running_loop())
            return self._waited(await wait_in_task(self._waiters, waiter, until))
        return until if isinstance(until, Refusal) else None

    def leave(self) -> None:
        """Give the slot back."""
        if self._waiters is not None:
            self._waiters.release()

    def _token_wait(self, bucket: TokenBucket) -> float:
        """How long this request may wait for a token."""
        return min(bucket.settings.max_wait, DEADLINE.get() - CLOCK.now())

    def _token(self, found: tuple[bool, float] | None) -> Refusal | float:
        """Seconds to wait for the token that was taken, or a refusal."""
        taken, wait = found or (True, 0.0)
        if taken:
            return wait
        self._refused["rate_limited"] += 1
        after = max(1, ceil(wait))
        return Refusal(429, "Too Many Requests", "too many requests\n", after)

    def _enter_at_once(self) -> Refusal | float | None:
        """None with a slot, a refusal without, or until when to wait for one."""
        waiters = self._waiters
        if waiters is None or waiters.try_enter():
            return None
        now, limit = CLOCK.now(), waiters.settings.max_wait
        if not limit:
            waiters.rejected += 1
            return self._full()
        return min(now + limit, DEADLINE.get())

    def _waited(self, state: int) -> Refusal | None:
        if state == GRANTED:
            return None
        if DEADLINE.get() <= CLOCK.now():
            return self.expired()
        return self._full()

    def _full(self) -> Refusal:
        self._refused["bulkhead_full"] += 1
        block: _settings.Bulkhead = self.settings["bulkhead"]
        after = max(1, ceil(block.max_wait))
        return Refusal(503, "Service Unavailable", "too many requests at once\n", after)

    @property
    def waiting(self) -> int | None:
        """Requests that wait for a slot; None without a bulkhead."""
        return None if self._waiters is None else len(self._waiters.queue)

    def statistics(self) -> dict[str, Any]:
        """Slots in use, refusals and what was made of budget headers, for JSON."""
        return {
            "in_use": self._gate.in_use,
            "refused": dict(self._refused),
            "budget_header": dict(self._counts),
            "overrides": dict(self.overrides),
        }

    def after_fork(self) -> None:
        """In a child process: fresh locks, no requests inside, nothing counted."""
        self._counts = dict.fromkeys(self._counts, 0)
        self._refused = dict.fromkeys(self._refused, 0)
        self._gate.after_fork()
        if self._waiters is not None:
            self._waiters.after_fork()
        if self._bucket is not None:
            self._bucket.after_fork()


def _bucket(service: str, settings: _settings.RateLimit) -> TokenBucket:
    if settings.store == "memory":
        return TokenBucket(settings)
    from policyctl.runtime.shared.rate_limit import SharedBucket

    # No operation has this name: it is one of those that a module keeps for itself.
    return SharedBucket(settings, f"{service}.inbound" if service else "")


def _unserved(service: str, path: str) -> PolicyConfigError:
    return PolicyConfigError(
        "this version of the runtime does not serve it",
        path=f"inbound.{path}",
        help="remove the setting, or update policyctl",
        service=service,
        operation="inbound",
    )


def _after_fork_in_child() -> None:
    for inbound in list(_all):
        inbound.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
