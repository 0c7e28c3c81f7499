"""Lists of exceptions, as settings spell them, compiled for matching."""

from __future__ import annotations

import builtins

from policyctl.runtime import errors as _errors
from policyctl.runtime.conditions import CONDITIONS, NO_CONDITION
from policyctl.runtime.lazy import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

REJECTIONS: dict[str, type[_errors.PolicyError]] = {
    "circuit_open": _errors.CircuitOpenError,
    "bulkhead_full": _errors.BulkheadFullError,
    "rate_limited": _errors.RateLimitedError,
    "budget_exhausted": _errors.BudgetExhaustedError,
}
"""Rejections by the name that ``fallback_on`` has for them."""

_MOST_TYPES = 512


class ErrorMatcher:
    """Built-ins by name, ``package.module:Class``, portable conditions, classes.

    A class of a module that is not imported cannot match and is not imported; it is
    looked up again until it is there.

    Attributes:
        conditions: the portable conditions among the entries.

    Raises:
        PolicyConfigError: an entry is no exception.
    """

    __slots__ = ("_by_type", "_classes", "_pending", "conditions")

    def __init__(
        self, entries: Iterable[str | type[BaseException]] = (), path: str = ""
    ) -> None:
        self.conditions = NO_CONDITION
        self._classes: tuple[type[BaseException], ...] = ()
        self._pending: tuple[str, ...] = ()
        self._by_type: dict[type[BaseException], bool] = {}
        for entry in entries:
            self._add(entry, path)

    def _add(self, entry: str | type[BaseException], path: str) -> None:
        if not isinstance(entry, str):
            self._classes += (entry,)
        elif entry in CONDITIONS:
            self.conditions |= {entry}
        elif entry in REJECTIONS:
            self._classes += (REJECTIONS[entry],)
        elif ":" in entry:
            self._pending += (entry,)
        else:
            found = getattr(builtins, entry, None)
            if not isinstance(found, type) or not issubclass(found, BaseException):
                raise _errors.PolicyConfigError(
                    f"{entry!r} is not a builtin exception",
                    path=path,
                    help=f"write package.module:{entry} for one of a library",
                )
            self._classes += (found,)

    @property
    def waits(self) -> bool:
        """Whether an entry names a class of a module that is not imported yet."""
        return bool(self._pending)

    def __bool__(self) -> bool:
        return bool(self._classes or self._pending or self.conditions)

    def matches(
        self, error: BaseException, conditions: frozenset[str] = NO_CONDITION
    ) -> bool:
        """Whether an entry covers ``error``, which is the given portable conditions."""
        if not self.conditions.isdisjoint(conditions):
            return True
        if self._pending:
            self._look_up()
        kind = type(error)
        known = self._by_type.get(kind)
        if known is None:
            known = issubclass(kind, self._classes)
            if len(self._by_type) >= _MOST_TYPES:
                self._by_type.clear()
            self._by_type[kind] = known
        return known

    def names_policy_error(self, error: _errors.PolicyError) -> bool:
        """Whether an entry is a class of this project's own tree and covers ``error``."""
        self._look_up()
        return any(
            isinstance(error, cls) and issubclass(cls, _errors.PolicyError)
            for cls in self._classes
        )

    def _look_up(self) -> None:
        waiting: list[str] = []
        for entry in self._pending:
            found = loaded(entry)
            if isinstance(found, type) and issubclass(found, BaseException):
                self._classes += (found,)
                self._by_type = {}
            else:
                waiting.append(entry)
        self._pending = tuple(waiting)


_MOST_MATCHERS = 1024
_matchers: dict[tuple[str | type[BaseException], ...], ErrorMatcher] = {}


def error_matcher(
    entries: Iterable[str | type[BaseException]] = (), path: str = ""
) -> ErrorMatcher:
    """A matcher for these entries, shared by all that have the same ones.

    Raises:
        PolicyConfigError: an entry is no exception.
    """
    key = tuple(entries)
    found = _matchers.get(key)
    if found is None:
        if len(_matchers) >= _MOST_MATCHERS:
            _matchers.clear()
        found = _matchers[key] = ErrorMatcher(key, path)
    return found
