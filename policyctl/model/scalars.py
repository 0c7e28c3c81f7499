"""The kinds of single values: numbers with units, choices, names and references."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import ClassVar

from policyctl.checks.limits import LIMITS, Limit, check_bounds
from policyctl.checks.references import nearest
from policyctl.model.fields import Scalar, is_off, kind_of, show_value
from policyctl.units import (
    UnitError,
    check_ratio,
    parse_duration,
    parse_rate,
    parse_ratio,
    parse_size,
    quote,
)

_LONGEST = 10_000
_PLAIN = re.compile(r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?")
_HINTED = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class CheckError(UnitError):
    """A value error with the name of its check in ``model.codes``."""

    def __init__(
        self, check: str, message: str, hint: str | Callable[[], str] = ""
    ) -> None:
        super().__init__(message, hint)
        self.check = check

    def __reduce__(self) -> tuple[type[UnitError], tuple[str, ...]]:
        return (type(self), (self.check, self.message, self.hint))


def bare(value: object) -> str:
    """The number that a hint repeats, or another one where that would be no use."""
    text = quote(value).strip("`")
    return text if _HINTED.fullmatch(text) else "30"


@lru_cache(maxsize=4096)
def _duration(text: str, maximum: float) -> float:
    return parse_duration(text, maximum=maximum)


def _read_duration(value: object, limit: Limit) -> float:
    if isinstance(value, str):
        return _duration(value, limit.maximum)
    if is_number(value):
        raise UnitError(
            f"{quote(value)} has no unit", f"write {bare(value)}s or {bare(value)}ms"
        )
    raise UnitError(
        f"{show_value(value)} is not a duration", "write for example 30s or 250ms"
    )


def _read_rate(value: object, limit: Limit) -> float:
    if isinstance(value, str):
        return parse_rate(value)
    if is_number(value):
        raise UnitError(
            f"{quote(value)} is a rate without a time",
            f"write {bare(value)}/s, /m or /h",
        )
    raise UnitError(f"{show_value(value)} is not a rate", "write for example 40/s")


def _read_ratio(value: object, limit: Limit) -> float:
    if isinstance(value, str):
        if value.endswith("%"):
            return parse_ratio(value)
        raise _quoted(value, "ratio", "write for example 50% or 0.5")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return check_ratio(value)
    raise UnitError(
        f"{show_value(value)} is not a ratio", "write for example 50% or 0.5"
    )


def _read_size(value: object, limit: Limit) -> int:
    if isinstance(value, str):
        return parse_size(value)
    if is_number(value):
        raise UnitError(
            f"{quote(value)} has no unit", f"write {bare(value)}B or {bare(value)}MiB"
        )
    raise UnitError(f"{show_value(value)} is not a size", "write for example 10MiB")


def _read_count(value: object, limit: Limit) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if limit.word is not None and value == limit.word:
        return limit.word
    hint = (
        f"write a whole number or {limit.word}"
        if limit.word
        else "write a whole number"
    )
    if isinstance(value, str):
        raise _quoted(value, "whole number", hint)
    raise UnitError(f"{show_value(value)} is not a whole number", hint)


def _read_number(value: object, limit: Limit) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        raise _quoted(value, "number", "write for example 2 or 1.5")
    raise UnitError(
        f"{show_value(value)} is not a number", "write for example 2 or 1.5"
    )


def is_number(value: object) -> bool:
    """Whether a value is a number; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _quoted(value: str, what: str, hint: str) -> UnitError:
    shown = quote(value)
    if _PLAIN.fullmatch(value):
        return UnitError(
            f"{shown} is text, not a {what}", f"write {value} without quotes"
        )
    bare = value.lstrip("0_").replace("_", "")
    if bare != value and _PLAIN.fullmatch(bare):
        return UnitError(f"{shown} is text, not a {what}", f"write {bare}")
    return UnitError(f"{shown} is not a {what}", hint)


_READ: dict[str, Callable[[object, Limit], float | int | str]] = {
    "duration": _read_duration,
    "rate": _read_rate,
    "ratio": _read_ratio,
    "size": _read_size,
    "count": _read_count,
    "number": _read_number,
}


@dataclass(frozen=True, slots=True)
class Number(Scalar):
    """A number with the kind and bounds of its path in ``checks.limits``."""

    path: str
    off: bool = True

    @property
    def limit(self) -> Limit:
        """Kind and bounds."""
        return LIMITS[self.path]

    def read(self, value: object) -> object:
        """The number in base units (or the word that may stand for one)."""
        limit = LIMITS[self.path]
        if limit.none is not None and is_off(value):
            raise CheckError(
                "out-of-bounds", "`off` is not possible here", f"write {limit.none}"
            )
        try:
            number = _READ[limit.kind](value, limit)
        except UnitError as error:
            raise CheckError(
                f"invalid-{limit.kind}", error.message, error.lazy_hint
            ) from None
        if isinstance(number, str):
            return number
        try:
            check_bounds(limit, number, value, limit.none)
        except UnitError as error:
            raise CheckError("out-of-bounds", error.message, error.lazy_hint) from None
        return float(number) if limit.kind == "number" else number


@dataclass(frozen=True, slots=True)
class Choice(Scalar):
    """One of a few words."""

    values: tuple[str, ...]
    off: bool = True
    check: ClassVar[str] = "invalid-choice"

    def read(self, value: object) -> object:
        """The word itself."""
        if isinstance(value, str) and value in self.values:
            return value
        raise UnitError(
            f"{show_value(value)} is not one of {', '.join(self.values)}",
            lambda: near_hint(value, self.values, "write one of them"),
        )


def near_hint(value: object, words: tuple[str, ...], otherwise: str) -> str:
    """The hint for a word that is not among ``words``."""
    near = nearest(value, words) if isinstance(value, str) else None
    return f"did you mean {near}?" if near else otherwise


@dataclass(frozen=True, slots=True)
class Flag(Scalar):
    """true or false. ``off`` would be read as either, so it is refused."""

    off: bool = False
    check: ClassVar[str] = "invalid-boolean"

    def read(self, value: object) -> object:
        """The boolean itself."""
        if isinstance(value, bool):
            return value
        word = value.lower() if isinstance(value, str) else ""
        right = {
            "on": "true",
            "yes": "true",
            "true": "true",
            "off": "false",
            "no": "false",
            "false": "false",
        }
        raise UnitError(
            f"{show_value(value)} is not a boolean",
            f"write {right.get(word, 'true or false')}",
        )


@dataclass(frozen=True, slots=True)
class Text(Scalar):
    """Text that ``parse`` accepts; what it returns is not kept."""

    what: str = "text"
    parse: Callable[[str], object] | None = None
    name: str = "invalid-text"
    off: bool = True

    def read(self, value: object) -> object:
        """The text itself."""
        if not isinstance(value, str):
            quoted = is_number(value) and self._accepts(str(value))
            hint = f'quote it: "{value}"' if quoted else f"write {self.what}"
            raise CheckError(
                self.name, f"{show_value(value)} is {kind_of(value)}, not text", hint
            )
        if not value.strip():
            raise CheckError(
                self.name, "the text is empty", f"write {self.what}, or remove the key"
            )
        if "\0" in value:
            message = "the text has a null character in it"
            raise CheckError(self.name, message, "remove it")
        if len(value) > _LONGEST:
            raise CheckError(
                self.name, f"the text is over {_LONGEST} characters", "make it shorter"
            )
        if self.parse is not None:
            try:
                self.parse(value)
            except UnitError as error:
                raise CheckError(self.name, error.message, error.lazy_hint) from None
        return value

    def _accepts(self, text: str) -> bool:
        try:
            self.read(text)
        except UnitError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Status(Scalar):
    """A status match; the canonical text is kept."""

    off: bool = False
    check: ClassVar[str] = "invalid-status"

    def read(self, value: object) -> object:
        """The canonical text: ``429`` is ``"429"``."""
        from policyctl.checks.statuses import canonical_status

        if isinstance(value, str) or (
            isinstance(value, int) and not isinstance(value, bool)
        ):
            return canonical_status(value)
        raise UnitError(
            f"{show_value(value)} is not a status", 'write for example 429 or "502-504"'
        )


@dataclass(frozen=True, slots=True)
class IsoDate(Scalar):
    """A calendar date, as ``2026-12-31``; the text is kept."""

    off: bool = False
    check: ClassVar[str] = "invalid-date"

    def read(self, value: object) -> object:
        """The text itself."""
        text = value if isinstance(value, str) else ""
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            try:
                date.fromisoformat(text)
            except ValueError:
                raise UnitError(
                    f"{quote(text)} is not in the calendar",
                    "write year-month-day, for example 2026-12-31",
                ) from None
            return text
        raise UnitError(
            f"{show_value(value)} is not a date",
            "write year-month-day, for example 2026-12-31",
        )


@dataclass(frozen=True, slots=True)
class Target(Scalar):
    """A ratio such as ``60%``, or a plain number."""

    off: bool = True
    check: ClassVar[str] = "invalid-number"

    def read(self, value: object) -> object:
        """The share of a percentage, else the number."""
        if isinstance(value, str) and value.endswith("%"):
            return parse_ratio(value)
        return Number("facts.autoscale.target").read(value)


@dataclass(frozen=True, slots=True)
class Version(Scalar):
    """The version of the language: 1."""

    off: bool = False
    check: ClassVar[str] = "invalid-version"

    def read(self, value: object) -> object:
        """The version itself."""
        if value == 1 and isinstance(value, int) and not isinstance(value, bool):
            return 1
        if value in ("1", "1.0", "v1", 1.0) and not isinstance(value, bool):
            raise UnitError(
                f"{show_value(value)} is not a version", "write version: 1, a number"
            )
        raise UnitError(
            f"{show_value(value)} is not a version that this policyctl reads",
            "write version: 1",
        )
