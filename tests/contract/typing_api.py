"""What type checkers see: a guarded function has the type of the bare one.

Nothing here runs. mypy and pyright, both strict, check it in ``test_typing_api``: every
``assert_type`` must hold, and every ignored line must be an error.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterator,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Generic, Literal, ParamSpec, TypeVar, assert_type, overload

from policyctl.runtime import settings
from policyctl.runtime.budget import (
    budget,
    detached_budget,
    outgoing_budget,
    remaining_budget,
)
from policyctl.runtime.budget_header import parse_budget_header
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    CircuitOpenError,
)
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.testing import FakeClock, fake_clock, record_events

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

policy = Policy(
    service="typing_api",
    operation="get",
    attempt_timeout=settings.AttemptTimeout(total=5.0),
    retry=settings.Retry(retry_on=("timeout", ValueError)),
)


@policy
def plain(a: int, /, b: str = "x", *, c: float = 0.0) -> list[str]:
    """A plain function with all kinds of parameters."""
    return [b * a, str(c)]


@policy
async def coroutine(a: int, *, key: bytes) -> dict[str, int]:
    """A coroutine function."""
    return {key.decode(): a}


def functions() -> None:
    """Parameters, names, defaults and results of functions stay."""
    assert_type(plain(1), list[str])
    assert_type(plain(1, "x", c=1.0), list[str])
    plain("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    plain()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    plain(a=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    plain(1, "x", 1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    plain(1, d=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def coroutines() -> None:
    """A coroutine function stays one: calling gives a coroutine of the result."""
    pending: Coroutine[Any, Any, dict[str, int]] = coroutine(1, key=b"")
    assert_type(await pending, dict[str, int])
    assert_type(await coroutine(1, key=b""), dict[str, int])
    coroutine(1)  # type: ignore[call-arg,unused-coroutine]  # pyright: ignore[reportCallIssue]


class Client:
    """Methods of every kind."""

    @policy
    def get(self, url: str) -> bytes:
        """A method."""
        return url.encode()

    @policy
    async def fetch(self, url: str) -> bytes:
        """A coroutine method."""
        return url.encode()

    @classmethod
    @policy
    def make(cls, name: str) -> Client:
        """A class method: the policy below, classmethod above."""
        return cls()

    @staticmethod
    @policy
    def parse(text: str) -> int:
        """A static method."""
        return int(text)

    @property
    @policy
    def size(self) -> int:
        """A property."""
        return 1


class Special(Client):
    """Overriding a guarded method checks as overriding the bare one."""

    def get(self, url: str) -> bytes:
        """The same signature."""
        return super().get(url)


async def methods() -> None:
    """Methods bind: self is gone, the rest stays."""
    client = Client()
    assert_type(client.get("u"), bytes)
    assert_type(await client.fetch("u"), bytes)
    assert_type(Client.get(client, "u"), bytes)
    assert_type(Client.make("n"), Client)
    assert_type(Client.parse("1"), int)
    assert_type(client.size, int)
    client.get(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.get()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.get("u", "v")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    bound: Callable[[str], bytes] = client.get
    assert_type(bound("u"), bytes)


@policy
def first(items: list[T]) -> T:
    """A generic function."""
    return items[0]


class Box(Generic[T]):
    """A generic class."""

    def __init__(self, item: T) -> None:
        self.item = item

    @policy
    def swap(self, item: T) -> T:
        """A method of a generic class."""
        return item


@overload
def read(raw: Literal[True]) -> bytes: ...
@overload
def read(raw: Literal[False] = False) -> str: ...
@policy
def read(raw: bool = False) -> bytes | str:
    """Overloads above the guarded implementation."""
    return b"" if raw else ""


def generics() -> None:
    """Type variables are solved at each call, overloads chosen."""
    assert_type(first([1, 2]), int)
    assert_type(first(["a"]), str)
    assert_type(Box(1).swap(2), int)
    Box(1).swap("a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(read(True), bytes)
    assert_type(read(), str)


def logged(fn: Callable[P, R]) -> Callable[P, R]:
    """Somebody else's decorator."""

    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return fn(*args, **kwargs)

    return wrapper


@logged
@policy
def inner(a: int) -> str:
    """Other decorators go above."""
    return str(a)


@policy
@logged
def outer(a: int) -> str:
    """And below."""
    return str(a)


def stacks() -> None:
    """ParamSpec decorators on either side pass the parameters through."""
    assert_type(inner(1), str)
    assert_type(outer(1), str)
    inner("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    outer("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@policy
def numbers(limit: int) -> Generator[int, str, bool]:
    """A generator function."""
    got = yield limit
    return bool(got)


@policy
def lines(path: str) -> Iterator[str]:
    """A function that returns an iterator."""
    return iter([path])


@policy
async def ticks(limit: int) -> AsyncGenerator[int, None]:
    """An async generator function."""
    yield limit


@asynccontextmanager
@policy
async def session(name: str) -> AsyncGenerator[bytes, None]:
    """An async context manager over a guarded generator."""
    yield name.encode()


async def streams() -> None:
    """Generators keep what they yield, take and return."""
    assert_type(numbers(1), Generator[int, str, bool])
    assert_type(lines("p"), Iterator[str])
    assert_type(ticks(1), AsyncGenerator[int, None])
    async for tick in ticks(1):
        assert_type(tick, int)
    entered: AbstractAsyncContextManager[bytes] = session("n")
    async with entered as opened:
        assert_type(opened, bytes)
    ticks("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def bare(a: int, *, b: str = "") -> float:
    """An unguarded function."""
    return a + len(b)


async def bare_async(a: int) -> float:
    """An unguarded coroutine function."""
    return a


class Job:
    """A callable object."""

    def __call__(self, a: int) -> str:
        return str(a)


async def single_calls() -> None:
    """policy.call checks the arguments against the function."""
    assert_type(policy.call(bare, 1, b="x"), float)
    assert_type(await policy.call(bare_async, 1), float)
    assert_type(policy.call(Job(), 1), str)
    assert_type(policy.call(Client().get, "u"), bytes)
    assert_type(policy.call(partial(bare, 1)), float)
    policy.call(bare, "1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    policy.call(bare, 1, b=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    policy.call(bare)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    guarded_partial = policy(partial(bare, 1))
    assert_type(guarded_partial(b="x"), float)
    guarded_lambda: Callable[[int], int] = policy(lambda a: a)
    assert_type(guarded_lambda(1), int)
    guarded_object = policy(Job())
    assert_type(guarded_object(1), str)


def wrong_uses() -> None:
    """What is no function or no setting is refused."""
    policy(1)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    settings.Bulkhead(5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    settings.Bulkhead()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    settings.Bulkhead(max_concurrent="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    settings.Backoff(jitter="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    made = settings.Bulkhead(max_concurrent=5)
    made.max_wait = 1.0  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Policy(retry=settings.Bulkhead(max_concurrent=5))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Policy("a", "b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def values() -> None:
    """Settings, views, errors and budgets are typed."""
    assert_type(settings.Retry().max_attempts, int | None)
    assert_type(settings.Bulkhead(max_concurrent=1).replace(), settings.Bulkhead)
    assert_type(policy.circuit_breaker.state, str)
    assert_type(policy.bulkhead.in_use, int)
    assert_type(registry["a.b"], Policy)
    assert_type(registry.get("a.b"), Policy | None)
    assert_type(remaining_budget(), float | None)
    assert_type(outgoing_budget(0.2), float | None)
    with budget(5.0) as scope:
        assert_type(scope.remaining, float)
    with detached_budget():
        pass
    seconds, outcome = parse_budget_header(["5"], "s", 30.0)
    assert_type(seconds, float | None)
    text: Literal["absent", "taken", "clamped", "expired", "ignored"] = outcome
    assert text
    with fake_clock() as clock:
        assert_type(clock, FakeClock)
    with record_events() as events:
        assert_type(events.kinds, list[str])


def errors() -> None:
    """Each error carries typed numbers, and time limits are TimeoutErrors."""
    try:
        plain(1)
    except CircuitOpenError as error:
        assert_type(error.retry_after, float)
    except TimeoutError as error:
        if isinstance(error, AttemptTimeoutError):
            assert_type(error.timeout, float)
        if isinstance(error, BudgetExhaustedError):
            assert_type(error.remaining, float)


async def awaiting(fn: Callable[[int], Awaitable[str]]) -> str:
    """A callable that returns an awaitable is guarded as such."""
    guarded = policy(fn)
    assert_type(guarded, Callable[[int], Awaitable[str]])
    return await guarded(1)
