"""The last good value of something that is read again and again (LK-03)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from policyctl.runtime.clock import monotonic

T = TypeVar("T")


class StaleError(RuntimeError):
    """There is no value that is young enough to be used.

    Attributes:
        age: seconds since the source last confirmed a value; None if it never did.
        max_stale: the most there may be.
        error: what is wrong with the source now.
    """

    def __init__(
        self, age: float | None, max_stale: float | None, error: Exception | None
    ) -> None:
        super().__init__(age, max_stale, error)
        self.age = age
        self.max_stale = max_stale
        self.error = error

    def __str__(self) -> str:
        if self.age is None:
            return f"there has never been a good value: {self.error}"
        return (
            f"the last good value is {self.age:.0f} s old, over max_stale of "
            f"{self.max_stale:g} s: {self.error}"
        )


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What a look at a source came to.

    Attributes:
        value: the last value that passed every check.
        stale: whether the source has something else now, or nothing.
        error: why, where it is stale.
        age: seconds since the source last confirmed the value, never negative.
        changed: whether this look brought a new value.
    """

    value: T
    stale: bool
    error: Exception | None
    age: float
    changed: bool = False


class LastGood(Generic[T]):
    """Remembers a value only after it has passed every check.

    Args:
        fetch: gives the text; raises where it cannot be had.
        parse: gives the value of a text; raises where it is bad.
        max_stale: seconds after which an unconfirmed value is an error; None: never.
        now: monotonic seconds.
    """

    def __init__(
        self,
        fetch: Callable[[], bytes],
        parse: Callable[[bytes], T],
        *,
        max_stale: float | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._fetch = fetch
        self._parse = parse
        self._max_stale = max_stale
        self._now = now
        self._good: tuple[bytes, T] | None = None
        self._at = 0.0

    def restore(self, text: bytes, value: T, age: float) -> None:
        """Start from a value that was kept; ``age`` is how long ago it was confirmed."""
        self._good = text, value
        self._at = self._now() - max(0.0, age)

    def age(self) -> float | None:
        """Seconds since the value was confirmed; None without one."""
        return None if self._good is None else max(0.0, self._now() - self._at)

    def read(self) -> Reading[T]:
        """Look at the source; a bad text is looked at anew each time.

        Raises:
            StaleError: there is no good value, or none that is young enough.
        """
        try:
            text = self._fetch()
            good = self._good
            changed = good is None or good[0] != text
            value = self._parse(text) if good is None or changed else good[1]
        except Exception as error:
            return self._last(error)
        self._good = text, value
        self._at = self._now()
        return Reading(value, False, None, 0.0, changed)

    def _last(self, error: Exception) -> Reading[T]:
        age = self.age()
        too_old = self._max_stale is not None and (age or 0.0) > self._max_stale
        if self._good is None or age is None or too_old:
            raise StaleError(age, self._max_stale, error) from error
        return Reading(self._good[1], True, error, age)
