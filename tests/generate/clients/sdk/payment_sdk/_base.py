"""What clients share."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from . import _models as models

P = t.ParamSpec("P")
R = t.TypeVar("R")
ResponseT = t.TypeVar("ResponseT")
SelfT = t.TypeVar("SelfT", bound="Base[t.Any]")


def timed(fn: Callable[P, R]) -> Callable[P, R]:
    """A decorator that keeps the type."""
    return fn


def to_text(fn: Callable[P, object]) -> Callable[P, str]:
    """A decorator that changes it."""

    def call(*args: P.args, **kwargs: P.kwargs) -> str:
        return str(fn(*args, **kwargs))

    return call


class _Missing:
    """A sentinel."""


MISSING = _Missing()


class Base(t.Generic[ResponseT]):
    """A client of one kind of response."""

    kind: t.Literal["sync", "async"]

    def last(self) -> ResponseT:
        """The last response."""
        raise NotImplementedError

    def history(self, count: int = 10) -> list[ResponseT]:
        """The last responses."""
        return [self.last()] * count

    def configured(self: SelfT, *, retries: int = 3) -> SelfT:
        """The client with other settings."""
        return self

    @timed
    def measure(self, what: models.Speed = "slow") -> float:
        """A number."""
        return float(len(what))

    @to_text
    def describe(self, deep: bool = False) -> object:
        """A text, by way of a decorator."""
        return deep
