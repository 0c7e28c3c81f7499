"""Thresholds of rules: typed class attributes that the configuration may override."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, Self, TypeVar, overload

from policyctl.units import format_duration, parse_duration

T = TypeVar("T")


class SettingError(ValueError):
    """A threshold in the configuration that the rule does not take."""


class Setting(Generic[T]):
    """A threshold with its default, declared as a class attribute of a rule.

    On an instance it reads as its value; on the class it is the setting itself.
    """

    def __init__(
        self,
        default: T,
        description: str,
        parse: Callable[[object], T],
        show: Callable[[T], str] = str,
    ) -> None:
        self.default = default
        self.description = description
        self.parse = parse
        self.show = show
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value: T = instance.__dict__.get(self.name, self.default)
        return value

    def __set__(self, instance: object, value: object) -> None:
        instance.__dict__[self.name] = self.parse(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{value!r} is not a number")
    if not math.isfinite(value) or value < 0:
        raise SettingError(f"{value!r} is not a finite number of at least 0")
    return float(value)


def _count(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise SettingError(f"{value!r} is not a whole number")
    return int(number)


def _ratio(value: object) -> float:
    if isinstance(value, str) and value.endswith("%"):
        try:
            value = float(value[:-1]) / 100
        except ValueError:
            raise SettingError(f"{value!r} is not a ratio such as 5% or 0.05") from None
    number = _number(value)
    if number > 1:
        raise SettingError(f"{value!r} is not between 0 and 1")
    return number


def _seconds(value: object) -> float:
    if not isinstance(value, str):
        raise SettingError(f"{value!r} is not a duration such as 30s")
    try:
        return parse_duration(value)
    except ValueError as error:
        raise SettingError(str(error)) from None


def number(default: float, description: str) -> Setting[float]:
    """A plain number of at least 0, for example a factor."""
    return Setting(default, description, _number)


def count(default: int, description: str) -> Setting[int]:
    """A whole number of at least 0."""
    return Setting(default, description, _count)


def ratio(default: float, description: str) -> Setting[float]:
    """A share from 0 to 1; the configuration may also say ``5%``."""
    return Setting(default, description, _ratio)


def seconds(default: float, description: str) -> Setting[float]:
    """A duration in seconds; the configuration says ``30s``."""
    return Setting(default, description, _seconds, format_duration)
