"""What is sent and received."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, TypedDict, TypeVar

T = TypeVar("T")


class Mode(Enum):
    """How it is charged."""

    TEST = "test"
    LIVE = "live"


class Options(TypedDict, total=False):
    """Keywords of a request."""

    tenant: str
    limit: int


@dataclass
class Money:
    """An amount."""

    amount: int
    currency: str = "EUR"


@dataclass
class Order:
    """What is paid for."""

    id: int
    price: Money


@dataclass
class Receipt:
    """What was paid."""

    id: int


class Page(Generic[T]):
    """One page of a list."""

    items: list[T]


Speed = Literal["slow", "fast", "list"]
Metadata = dict[str, Any]
