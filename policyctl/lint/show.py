"""Numbers in messages: rounded to what a reader needs, in the language's own units."""

from __future__ import annotations

import math

from policyctl import units


def significant(number: float, digits: int = 4) -> float:
    """``number`` rounded to ``digits`` significant digits."""
    if number == 0 or not math.isfinite(number):
        return number
    return round(number, digits - 1 - math.floor(math.log10(abs(number))))


def duration(seconds: float) -> str:
    """``1m30s`` for 90.0; whole milliseconds from a second up; ``no limit`` for inf."""
    if math.isinf(seconds):
        return "no limit"
    exact = round(seconds, 3) if seconds >= 1 else significant(seconds)
    return units.format_duration(exact)


def rate(per_second: float) -> str:
    """``40/s``; rates that are no whole number per second keep four digits."""
    return units.format_rate(significant(per_second))


def ratio(share: float) -> str:
    """``12.5%`` for 0.125, with four digits at most."""
    return units.format_ratio(significant(share))


def number(value: float) -> str:
    """``4``, ``2.5`` or ``1.2e+30``: four digits, no idle zeros."""
    if math.isinf(value):
        return "infinite"
    rounded = significant(value)
    if rounded == int(rounded) and abs(rounded) < 1e9:
        return str(int(rounded))
    return f"{rounded:g}" if abs(rounded) < 1e9 else f"{rounded:.2g}"


def count(amount: int, noun: str) -> str:
    """``1 attempt``, ``3 attempts``."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def words(items: list[str] | tuple[str, ...]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def floor_duration(seconds: float) -> str:
    """A round duration of at most ``seconds``: two significant digits, cut down.

    Advice must hold with the number as printed, so it is never rounded up.
    """
    if seconds <= 0 or not math.isfinite(seconds):
        return duration(max(seconds, 0.0))
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return units.format_duration(significant(math.floor(seconds / step + 1e-9) * step))


def ceil_duration(seconds: float) -> str:
    """A round duration of at least ``seconds``: two significant digits, cut up."""
    if seconds <= 0 or not math.isfinite(seconds):
        return duration(max(seconds, 0.0))
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return units.format_duration(significant(math.ceil(seconds / step - 1e-9) * step))


def quoted(text: str) -> str:
    """Text of a file in backticks, on one line, cut to a readable length."""
    return units.quote(text)
