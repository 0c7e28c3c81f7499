"""A generic client, and one of another library's form."""

from typing import Generic, Literal, Protocol, TypeVar, overload

from payment_sdk._models import Order, Receipt

T = TypeVar("T", bound="Order | Receipt")
D = TypeVar("D")


class IsPlain(Protocol):
    """What a plain client is told by."""

    flavour: Literal["plain"]


class IsAsync(Protocol):
    """What an async client is told by."""

    flavour: Literal["async"]


class Shared:
    """Methods that two clients share."""

    @overload
    def get(self: IsPlain, key: str) -> bytes: ...

    @overload
    def get(self: IsAsync, key: str) -> "list[bytes]": ...

    def get(self, key: str) -> object:
        """The value of a key."""
        return key.encode()


class Store(Shared, Generic[T]):
    """Keeps objects of one kind."""

    flavour: Literal["plain"] = "plain"

    def add(self, item: T) -> "Store[T]":
        """Add one."""
        return self

    def first(self, default: D) -> T | D:
        """The first, or something else."""
        return default

    @overload
    def total(self: "Store[Order]") -> int: ...

    @overload
    def total(self: "Store[Receipt]", currency: str) -> str: ...

    def total(self, currency: str = "") -> object:
        """The sum."""
        return currency
