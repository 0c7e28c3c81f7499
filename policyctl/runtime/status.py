"""The status of an exception or result, and lists of statuses to match it against."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_PLAIN = frozenset(
    {type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set}
)
_NAMES = ("status_code", "status", "code")
_SQL_NAMES = ("sqlstate", "pgcode")


def status_of(outcome: object) -> int | str | None:
    """The status that an exception or a result carries, or None.

    Looked for in this order: ``status_code``, ``status``, ``code`` (called if it is
    callable, as in grpc), then the same and ``ResponseMetadata`` of ``response``, then
    ``sqlstate`` and ``pgcode`` of the object and of ``orig``. Numbers win over texts;
    members of an enum count by number or else by name. Three digits are a number, also
    with a reason behind them: ``503 Service Unavailable``.
    """
    if type(outcome) in _PLAIN:
        return None
    texts: list[str] = []
    response = _attribute(outcome, "response")
    for holder in (outcome, response):
        if holder is None:
            continue
        for name in _NAMES:
            found = _plain(_attribute(holder, name))
            if isinstance(found, int):
                return found
            if found is not None:
                texts.append(found)
    found = _boto_status(response)
    if found is not None:
        return found
    state = sqlstate_of(outcome)
    if state is not None:
        return state
    return texts[0] if texts else None


def sqlstate_of(error: object) -> str | None:
    """The five characters of an SQLSTATE of a driver's error or the one it wraps."""
    for holder in (error, _attribute(error, "orig")):
        for name in _SQL_NAMES:
            found = _attribute(holder, name)
            if isinstance(found, str) and len(found) == 5:
                return found.upper()
    return None


def _attribute(holder: object, name: str) -> Any:
    """An attribute; None if it is not there or fails. ``code`` alone may be a method.

    Other methods are not called: whoever has a method ``status`` may do work in it.
    """
    try:
        found = getattr(holder, name, None)
        if not callable(found):
            return found
        return _call(found) if name == "code" else None
    except Exception:
        return None


def _call(method: Any) -> Any:
    found = method()
    if hasattr(found, "__await__"):
        found.close()
        return None
    return found


def _plain(value: Any) -> int | str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        digits, after = value[:3], value[3:4]
        if len(digits) == 3 and digits.isascii() and digits.isdigit() and after in " ":
            return int(digits)
        return value.upper() or None
    return _enum_status(value)


def _enum_status(member: Any) -> int | str | None:
    if not hasattr(member.__class__, "__members__"):
        return None
    value = member.value
    return value if isinstance(value, int) else str(member.name).upper()


def _boto_status(response: Any) -> int | None:
    """botocore's parsed response is a dictionary."""
    try:
        found = response["ResponseMetadata"]["HTTPStatusCode"]
    except Exception:
        return None
    return found if isinstance(found, int) else None


class StatusMatcher:
    """Statuses compiled for fast tests: ``429``, ``502-504``, ``UNAVAILABLE``, ``08*``.

    False when it holds no pattern at all. ``in`` takes what ``status_of`` returns.
    """

    __slots__ = ("_numbers", "_prefixes", "_texts")

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        numbers: set[int] = set()
        texts: set[str] = set()
        prefixes: list[str] = []
        for pattern in patterns:
            low, dash, high = pattern.partition("-")
            if _is_number(low) and (not dash or _is_number(high)):
                numbers.update(range(int(low), int(high or low) + 1))
            elif pattern.endswith("*"):
                prefixes.append(pattern[:-1].upper())
            else:
                texts.add(pattern.upper())
        self._numbers = frozenset(numbers)
        self._texts = frozenset(texts)
        self._prefixes = tuple(prefixes)

    def __bool__(self) -> bool:
        return bool(self._numbers or self._texts or self._prefixes)

    def __contains__(self, status: object) -> bool:
        if isinstance(status, int):
            return status in self._numbers
        if isinstance(status, str):
            return status in self._texts or status.startswith(self._prefixes)
        return False


_MOST_MATCHERS = 1024
_matchers: dict[tuple[str, ...], StatusMatcher] = {}


def status_matcher(patterns: Iterable[str] = ()) -> StatusMatcher:
    """A matcher for these patterns, shared by all that have the same ones."""
    key = tuple(patterns)
    found = _matchers.get(key)
    if found is None:
        if len(_matchers) >= _MOST_MATCHERS:
            _matchers.clear()
        found = _matchers[key] = StatusMatcher(key)
    return found


def _is_number(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit()
