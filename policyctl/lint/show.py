"""Numbers in messages: rounded to what a reader needs, in the language's own units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar

from policyctl import units

T = TypeVar("T")


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
    """``40/s``, ``133.3/s``, ``1/m``: four digits, per second from 1/s up.

    Whole numbers for each minute or hour are written as such.

    Above a billion per second, the most that the language takes, only that is said.
    """
    if per_second > 1e9:
        return "over 10^9/s"
    rounded = significant(per_second)
    if rounded >= 1:
        return f"{number(rounded)}/s"
    for unit, seconds in (("m", 60), ("h", 3600)):
        whole = round(per_second * seconds)
        if whole and math.isclose(whole, per_second * seconds, rel_tol=1e-9):
            return f"{whole}/{unit}"
    return units.format_rate(rounded)


def floor_rate(per_second: float) -> str:
    """A rate rounded down to whole events per second, minute or hour, never 0."""
    for unit, seconds in (("s", 1), ("m", 60), ("h", 3600)):
        whole = int(per_second * seconds + 1e-9)
        if whole >= 1:
            return f"{whole}/{unit}"
    return "1/h"


def ceil_rate(per_second: float) -> str:
    """A rate as it is, or rounded up to whole events per second, minute or hour."""
    text = rate(per_second)
    if per_second > 1e9 or units.parse_rate(text) >= per_second * (1 - 1e-9):
        return text
    unit, seconds = next(
        (unit for unit in (("s", 1), ("m", 60)) if per_second * unit[1] >= 10),
        ("h", 3600),
    )
    return f"{math.ceil(per_second * seconds - 1e-9)}/{unit}"


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
    return f"{Decimal(repr(rounded)):f}" if abs(rounded) < 1e9 else f"{rounded:.2g}"


def factors(named: Sequence[T], factor: Callable[[T], tuple[str, float]]) -> str:
    """``web 3 x api 3``, with the middle of a long product left out.

    ``factor`` gives name and value; it is asked for what is shown alone.
    """
    left_out = len(named) - 5 if len(named) > 6 else 0
    shown = [*named[:3], *named[-2:]] if left_out else named
    parts = [f"{name} {number(value)}" for name, value in map(factor, shown)]
    if left_out:
        parts.insert(3, f"({left_out} more)")
    return " x ".join(parts)


def power(weight: float) -> str:
    """e to the ``weight``, as a power of ten where it is too long to read."""
    if math.isinf(weight):
        return "unlimited"
    if weight > math.log(1e9):
        return f"about 10^{weight / math.log(10):.0f}"
    return number(round(math.exp(weight), 6))


def count(amount: int, noun: str) -> str:
    """``1 attempt``, ``3 attempts``."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def words(items: list[str] | tuple[str, ...]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def floor_duration(seconds: float) -> str:
    """A round duration of at most ``seconds``.

    Advice must hold with the number as printed, so it is never rounded up.
    """
    return _rounded(seconds, math.floor, 1e-9)


def ceil_duration(seconds: float) -> str:
    """A round duration of at least ``seconds``."""
    return _rounded(seconds, math.ceil, -1e-9)


def _rounded(seconds: float, cut: Callable[[float], int], slack: float) -> str:
    if seconds <= 0 or not math.isfinite(seconds):
        return duration(max(seconds, 0.0))
    step = _step(seconds)
    return units.format_duration(significant(cut(seconds / step + slack) * step, 9))


def _step(seconds: float) -> float:
    """What a reader would round ``seconds`` to: two digits below a minute, then 10 s,
    whole minutes from 10 minutes, 10 minutes from 10 hours."""
    for least, step in ((36000, 600.0), (600, 60.0), (60, 10.0)):
        if seconds >= least:
            return step
    return float(10.0 ** (math.floor(math.log10(seconds)) - 1))


def quoted(text: str) -> str:
    """Text of a file in backticks, on one line, cut to a readable length."""
    return units.quote(text)
