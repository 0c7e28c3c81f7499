"""Portable conditions: ``not_sent``, ``connection_lost``, ``timeout``.

Exceptions are compared by the names of their classes, so a library that is not loaded
costs nothing and one that is loaded later is matched from then on. The data is in
``condition_table``.
"""

from __future__ import annotations

import errno

from policyctl.runtime.condition_table import TABLE
from policyctl.runtime.status import StatusMatcher, sqlstate_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Clue = Callable[[BaseException], bool]
    Rule = tuple[tuple[Clue, ...], bool, frozenset[str]]

CONDITIONS = ("not_sent", "connection_lost", "timeout")
NO_CONDITION: frozenset[str] = frozenset()

_DEEPEST = 8
_MOST_TYPES = 512


class ConditionTable:
    """The rows that count for one transport, by class."""

    __slots__ = ("_by_type", "_rules")

    def __init__(self, transport: str | None) -> None:
        self._rules: dict[tuple[str, str], list[Rule]] = {}
        self._by_type: dict[type[BaseException], list[Rule]] = {}
        for row_transport, packages, classes, clues, conditions in TABLE:
            if transport is None or row_transport in (transport, "any"):
                rule = _compile(clues, conditions)
                for package in packages.split():
                    for name in classes.split():
                        self._rules.setdefault((package, name), []).append(rule)

    def of(self, error: BaseException, depth: int = 0) -> frozenset[str]:
        """The conditions that ``error`` is; two for a timeout while connecting."""
        kind = type(error)
        rules = self._by_type.get(kind)
        if rules is None:
            rules = self._find(kind)
        for clues, inside, conditions in rules:
            if inside:
                found = self._inside(error, depth)
                if found:
                    return found
            elif all(clue(error) for clue in clues):
                return conditions
        return NO_CONDITION

    def knows_by_class(self, kind: type[BaseException]) -> bool:
        """Whether ``of`` gives all errors of a class the same answer."""
        rules = self._find(kind)
        return not rules or not (rules[0][0] or rules[0][1])

    def _find(self, kind: type[BaseException]) -> list[Rule]:
        if len(self._by_type) >= _MOST_TYPES:
            self._by_type.clear()
        rules: list[Rule] = []
        for base in kind.__mro__:
            package = base.__module__.partition(".")[0]
            found = self._rules.get((package, base.__name__))
            if found is not None:
                rules = found
                break
        self._by_type[kind] = rules
        return rules

    def _inside(self, error: BaseException, depth: int) -> frozenset[str]:
        if depth >= _DEEPEST:
            return NO_CONDITION
        for wrapped in _wrapped(error):
            found = self.of(wrapped, depth + 1)
            if found:
                return found
        return NO_CONDITION


def _wrapped(error: BaseException) -> Iterator[BaseException]:
    """What an exception wraps, the most explicit first, itself never."""
    candidates = (
        error.__cause__,
        _quiet(error, "orig"),
        _quiet(error, "reason"),
        *error.args,
        None if error.__suppress_context__ else error.__context__,
    )
    for candidate in candidates:
        if isinstance(candidate, BaseException) and candidate is not error:
            yield candidate


def _compile(clues: tuple[str, ...], conditions: str) -> Rule:
    tests = tuple(_clue(clue) for clue in clues if clue != "inside")
    return tests, "inside" in clues, frozenset(conditions.split())


def _clue(text: str) -> Clue:
    kind, _, rest = text.partition(" ")
    if kind == "text":
        return lambda error: rest in _text(error)
    if kind == "errno":
        numbers = frozenset(
            int(word) if word.isdigit() else getattr(errno, word, -1)
            for word in rest.split()
        )
        return lambda error: _errno(error) in numbers
    if kind == "sqlstate":
        states = StatusMatcher(rest.split())
        return lambda error: sqlstate_of(error) in states
    codes = StatusMatcher(rest.split())
    return lambda error: status_of(error) in codes


def _errno(error: BaseException) -> object:
    first = error.args[0] if error.args else None
    return first if isinstance(first, int) else getattr(error, "errno", None)


def _quiet(error: BaseException, name: str) -> object:
    try:
        return getattr(error, name, None)
    except Exception:
        return None


def _text(error: BaseException) -> str:
    try:
        return str(error).lower()
    except Exception:
        return ""


_TABLES: dict[str | None, ConditionTable] = {}


def condition_table(transport: str | None) -> ConditionTable:
    """The table for a transport, made once."""
    table = _TABLES.get(transport)
    if table is None:
        table = _TABLES.setdefault(transport, ConditionTable(transport))
    return table


def conditions_of(error: BaseException, transport: str | None = None) -> frozenset[str]:
    """The portable conditions that ``error`` is, for an operation's transport."""
    return condition_table(transport).of(error)
