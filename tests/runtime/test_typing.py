"""Decorated functions keep their types, for mypy and pyright strict.

The assertions are checked by the type checkers, which read the tests too; running them
shows that they are at least true.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
)
from typing import Any, ParamSpec, TypeVar, assert_type, overload

import pytest

from policyctl.runtime.policy import Policy

P = ParamSpec("P")
T = TypeVar("T")

policy = Policy()
stream = Policy(kind="stream")


@policy
def plain(a: int, /, b: str = "", *, c: float = 0.0) -> bytes:
    """A function with all kinds of parameters."""
    return f"{a}{b}{c}".encode()


@policy
async def coroutine(a: int) -> str:
    """A coroutine function."""
    return str(a)


@policy
def generic(value: T) -> list[T]:
    """A generic function."""
    return [value]


@overload
def overloaded(value: int) -> int: ...
@overload
def overloaded(value: str) -> str: ...
@policy
def overloaded(value: int | str) -> int | str:
    """An overloaded function."""
    return value


@stream
def numbers(count: int) -> Generator[int, str, bool]:
    """A generator."""
    yield from range(count)
    return True


@stream
async def later(count: int) -> AsyncGenerator[int, None]:
    """An async generator."""
    for number in range(count):
        yield number


class Client:
    """Methods of all kinds."""

    @policy
    def method(self, a: int) -> float:
        """Bound to an instance."""
        return a / 2

    @policy
    async def coroutine(self, a: int) -> float:
        """Bound to an instance, async."""
        return a / 2

    @classmethod
    @policy
    def make(cls) -> Client:
        """Bound to the class."""
        return cls()

    @staticmethod
    @policy
    def double(a: int) -> int:
        """Bound to nothing."""
        return a * 2


def twice(fn: Callable[P, T]) -> Callable[P, tuple[T, T]]:
    """A decorator of somebody else's."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> tuple[T, T]:
        return fn(*args, **kwargs), fn(*args, **kwargs)

    return wrapper


@twice
@policy
def both(a: int) -> str:
    """Under another decorator."""
    return str(a)


def test_functions() -> None:
    """Parameters and results are those of the function."""
    assert assert_type(plain(1, "x", c=2.0), bytes) == b"1x2.0"
    assert assert_type(generic("x"), list[str]) == ["x"]
    assert assert_type(overloaded(1), int) == 1
    assert assert_type(overloaded("x"), str) == "x"
    assert assert_type(both(1), tuple[str, str]) == ("1", "1")
    assert assert_type(policy.call(plain, 1, c=1.0), bytes) == b"11.0"
    assert assert_type(policy.call(functools.partial(plain, 1)), bytes) == b"10.0"


async def test_coroutines() -> None:
    """Calling gives a coroutine, awaiting it the result."""
    pending: Coroutine[Any, Any, str] = coroutine(1)
    assert assert_type(await pending, str) == "1"
    assert assert_type(await policy.call(coroutine, 2), str) == "2"

    def returning(a: int) -> Awaitable[str]:
        return coroutine(a)

    assert assert_type(await policy.call(returning, 3), str) == "3"
    loop = asyncio.get_running_loop()
    assert assert_type(await loop.create_task(coroutine(4)), str) == "4"


async def test_methods() -> None:
    """Binding works as without the policy."""
    client = Client()
    assert assert_type(client.method(1), float) == 0.5
    assert assert_type(await client.coroutine(1), float) == 0.5
    assert isinstance(assert_type(Client.make(), Client), Client)
    assert assert_type(client.double(2), int) == 4


async def test_streams() -> None:
    """Generators keep what they yield, take and return."""
    source = numbers(2)
    assert_type(source, Generator[int, str, bool])
    assert list(source) == [0, 1]
    assert [assert_type(number, int) async for number in later(2)] == [0, 1]


def test_wrong_calls_are_errors() -> None:
    """Each ignored line below is one that the checkers must complain about."""
    wrong: list[Callable[[], object]] = [
        lambda: plain("x"),  # type: ignore[arg-type]
        lambda: plain(1, c="x"),  # type: ignore[arg-type]
        lambda: policy.call(plain, "x"),  # type: ignore[arg-type]
        lambda: generic(),  # type: ignore[call-arg]
    ]
    with pytest.raises(TypeError):
        wrong[-1]()
