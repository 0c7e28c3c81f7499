"""The time budget: one absolute monotonic deadline in a context variable.

A scope is opened with ``with budget(30.0):`` or by an operation that declares a budget.
An inner scope can only shorten. Where no scope is open there is no limit. Tasks and
threads that are started in a scope keep its deadline, also when it has been left.
"""

from __future__ import annotations

from contextvars import ContextVar

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.errors import BudgetExhaustedError, PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType
    from typing import Self

NO_DEADLINE = float("inf")

DEADLINE: ContextVar[float] = ContextVar("policyctl_deadline", default=NO_DEADLINE)
"""The deadline on ``CLOCK.now()``; infinity is none."""


class _Scope(float):
    """A deadline that knows what to put back, however its scope is left."""

    __slots__ = ("closed", "lost", "outer")

    closed: bool
    lost: bool
    outer: float


def _open_scope(deadline: float) -> float:
    """The nearest deadline whose scope has not been left."""
    while type(deadline) is _Scope and deadline.closed:
        deadline = deadline.outer
    return deadline


def current_deadline() -> float:
    """The deadline in force, on ``CLOCK.now()``; infinity where there is none.

    Unlike ``DEADLINE.get()`` it looks past scopes that a generator opened here and that
    were closed from elsewhere.
    """
    deadline = DEADLINE.get()
    while type(deadline) is _Scope and deadline.lost:
        deadline = deadline.outer
    return deadline


def remaining_budget() -> float | None:
    """Seconds left in the current scope, 0.0 when expired; None without a scope.

    None suits clients whose ``timeout=None`` means that there is no limit.
    """
    deadline = current_deadline()
    if deadline == NO_DEADLINE:
        return None
    return max(0.0, deadline - CLOCK.now())


def outgoing_budget(reserve: float = 0.0) -> float | None:
    """Seconds to pass on to a callee: what remains minus ``reserve``, at least 0.0."""
    remaining = remaining_budget()
    return None if remaining is None else max(0.0, remaining - reserve)


def require_budget(minimum: float = 0.0) -> None:
    """Refuse to start work that the budget does not cover.

    Raises:
        BudgetExhaustedError: the scope has expired or has less than ``minimum`` seconds
            left.
    """
    deadline = current_deadline()
    if deadline == NO_DEADLINE:
        return
    remaining = deadline - CLOCK.now()
    if remaining <= 0 or remaining < minimum:
        raise BudgetExhaustedError(remaining=remaining, minimum=minimum)


def restore(token: Token[float]) -> None:
    """Put back the deadline from before ``token``, if that is possible here.

    A coroutine that is closed by the garbage collector runs in another context, where
    there is nothing to put back; nor is there after Ctrl-C right behind a reset.
    """
    try:
        DEADLINE.reset(token)
    except (ValueError, RuntimeError):
        return


class budget:
    """A scope of at most ``seconds``; the caller's limit holds if it is shorter.

    Zero or less is expired at once. With ``inherit=False`` the caller's limit is
    forgotten inside. It is a plain context manager for sync and async code alike, and
    may be used again, not twice at once.

    Raises:
        PolicyConfigError: ``seconds`` is not a number.
    """

    __slots__ = ("_inherit", "_scope", "_seconds", "_token")

    _token: Token[float] | None

    def __init__(self, seconds: float, *, inherit: bool = True) -> None:
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, (int, float))
            or seconds != seconds
        ):
            raise PolicyConfigError(
                f"{seconds!r} is not a number of seconds", path="budget"
            )
        self._seconds = seconds
        self._inherit = inherit
        self._token = None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise RuntimeError("this budget() is in use; make one for each scope")
        deadline = CLOCK.now() + self._seconds
        outer = _open_scope(DEADLINE.get())
        if self._inherit and outer < deadline:
            deadline = outer
        scope = _Scope(deadline)
        scope.closed = scope.lost = False
        scope.outer = outer
        self._scope = scope
        self._token = DEADLINE.set(scope)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        token, scope = self._token, self._scope
        if token is None:
            raise RuntimeError("this budget() was not entered")
        self._token = None
        scope.closed = True
        current = DEADLINE.get()
        try:
            DEADLINE.reset(token)
        except ValueError:
            # A generator was closed from another task: what it set there is void.
            scope.lost = True
            if current is scope:
                DEADLINE.set(_open_scope(scope))
            return
        DEADLINE.set(_open_scope(current))

    @property
    def remaining(self) -> float:
        """Seconds left of this scope, 0.0 when expired."""
        if self._token is None:
            raise RuntimeError("this budget() was not entered")
        return max(0.0, self._scope - CLOCK.now())


def detached_budget(seconds: float = NO_DEADLINE) -> budget:
    """A scope that forgets the caller's limit, for work that outlives the request."""
    return budget(seconds, inherit=False)
