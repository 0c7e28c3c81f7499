"""The client."""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import TYPE_CHECKING, Any, ClassVar, Self, Union, overload

from typing_extensions import Unpack

from payment_sdk._base import MISSING, Base, _Missing
from payment_sdk._models import Mode, Options, Page

if TYPE_CHECKING:
    from ._models import Money, Order, Receipt, Speed

Key = Union[str, bytes]


class Client(Base["Receipt"]):
    """Charges cards."""

    class Error(Exception):
        """Of this client."""

    version: ClassVar[int] = 1

    def __init__(self, key: Key = "") -> None:
        self.key = key
        self._closed = False
        self.calls: list[tuple[str, Any]] = []

    def __enter__(self) -> Self:
        self.calls.append(("enter", None))
        return self

    def __exit__(self, *error: object) -> None:
        self._closed = True

    async def __aenter__(self) -> Client:
        self.calls.append(("aenter", None))
        return self

    async def __aexit__(self, *error: object) -> bool:
        self._closed = True
        return False

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @closed.setter
    def closed(self, value: bool) -> None:
        self._closed = value

    @functools.cached_property
    def total(self) -> Money:
        """What was charged."""
        raise LookupError

    async def charge(self, order: Order, /, card: str, *, note: str = "") -> Receipt:
        """Charge a card.

        Args:
            card: its number; a \\ and three quotes " " " are no harm
        """
        self.calls.append(("charge", (order, card, note)))
        return models().Receipt(order.id)

    def refund(
        self,
        receipt: Receipt,
        *amounts: int,
        reason: str | None = None,
        timeout: float | _Missing = MISSING,
        **extra: str,
    ) -> Money:
        self.calls.append(("refund", (receipt, amounts, reason, timeout, extra)))
        return models().Money(sum(amounts))

    @overload
    def find(self, key: int) -> Order: ...

    @overload
    def find(self, key: str, *, many: bool = ...) -> list[Order]: ...

    def find(self, key: int | str, *, many: bool = True) -> Order | list[Order]:
        """Find orders."""
        order = models().Order(1, models().Money(1))
        return order if isinstance(key, int) else [order]

    def list(self, speed: Speed = "slow") -> list[Order]:
        """A method called like a builtin."""
        return []

    def after_list(self, ids: list[int]) -> dict[str, list[int]]:
        """A list below a method called list."""
        return {"ids": ids}

    def later(self, order: Order) -> Awaitable[Receipt]:
        """A plain function whose answer is awaited."""

        async def answer() -> Receipt:
            return models().Receipt(order.id)

        return answer()

    def fails(self, with_error: type[Client.Error]) -> Client.Error:
        """Quoted names of nested classes."""
        return with_error()

    def search(self, **options: Unpack[Options]) -> Page[Order]:
        """Keywords from a typed dictionary."""
        return Page()

    def page(self, mode: Mode = Mode.TEST, bare: dict = {}) -> Page:  # type: ignore[type-arg]  # noqa: B006
        """Generics without arguments."""
        return Page()

    def identity(self, item: Item, *items: Item) -> Item:
        """A function of any type."""
        return item

    def untyped(self, anything, other=None):  # type: ignore[no-untyped-def]
        """Nothing is said of the types."""
        return anything

    @classmethod
    def from_env(cls, name: str = "KEY") -> Self:
        """A client of an environment variable."""
        return cls(name)

    @staticmethod
    def parse(text: str, base: int = 10) -> int:
        """A number."""
        return int(text, base)

    async def stream(self, count: int) -> AsyncIterator[Receipt]:
        """An async generator."""
        for number in range(count):
            yield models().Receipt(number)

    def numbers(self, count: int) -> Iterator[int]:
        """A generator."""
        yield from range(count)

    @contextmanager
    def session(self, name: str) -> Iterator[Client]:
        """A context manager."""
        self.calls.append(("begin", name))
        try:
            yield self
        finally:
            self.calls.append(("end", name))

    @asynccontextmanager
    async def transaction(self, name: str = "") -> AsyncIterator[Client]:
        """An async context manager."""
        self.calls.append(("begin", name))
        try:
            yield self
        finally:
            self.calls.append(("end", name))

    def pages(self, count: int) -> Iterator[int]:
        """A plain function that returns an iterator."""
        return iter(range(count))

    def updates(self, count: int) -> AsyncIterator[Receipt]:
        """A plain function that returns an async iterator."""
        return self.stream(count)

    def lock(self, name: str) -> AbstractAsyncContextManager[Client]:
        """A plain function that returns a context manager."""
        return self.transaction(name)

    if sys.version_info >= (3, 11):

        def newer(self, value: int) -> int:
            """Since Python 3.11."""
            return value

    else:

        def newer(self, value: str) -> str:
            """Before."""
            return value


def models() -> Any:
    """The models, imported late."""
    from payment_sdk import _models

    return _models


from typing import TypeVar  # noqa: E402

Item = TypeVar("Item")


def quote(order: Order, *, speed: Speed = "slow") -> Money:
    """The price of an order."""
    return order.price


async def quote_later(order: Order) -> Money:
    """The same, later."""
    return order.price
