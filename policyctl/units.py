"""Durations, rates, ratios, sizes and windows: text to numbers and back.

Numbers are seconds, events per second, shares from 0 to 1, and bytes. The grammar is
the one of the language reference ("Scalars"); the YAML model, the command line, the
environment and the Python API all use these functions. Arithmetic is exact: the
decimal text is turned into a ratio of integers and divided once, so ``100ms`` is 0.1.
Every ``format_*`` is the inverse of its ``parse_*``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

DAY = 86400.0
MAX_DURATION = 30 * DAY
MAX_RATE = 1e9
MAX_SIZE = 1 << 50

_MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
_ORDER = {unit: index for index, unit in enumerate(_MICROSECONDS)}
_PER = {"s": 1, "m": 60, "h": 3600}
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

_PART = re.compile(r"([0-9]+)(?:\.([0-9]+))?(us|ms|s|m|h|d)")
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:us|ms|s|m|h|d))+")
_NUMBER = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_RATE = re.compile(r"([0-9]+)(?:\.([0-9]+))?/(s|m|h)")
_SIZE = re.compile(r"([0-9]+)(?:\.([0-9]+))?(B|KiB|MiB|GiB|TiB)")
_CALLS = re.compile(r"([0-9]+) calls?")
_PASSWORD = re.compile(r"://[^/@\s]*@")
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
_LONGEST = 40


class UnitError(ValueError):
    """A value that does not fit its kind.

    ``message`` says what is wrong, in lower case, with the value; ``hint`` says what
    to write instead and may be empty. A hint that is dear to find may be given as a
    function; it is called when somebody wants to read the hint.
    """

    def __init__(self, message: str, hint: str | Callable[[], str] = "") -> None:
        super().__init__(message)
        self.message = message
        self._hint = hint

    @property
    def hint(self) -> str:
        """What to write instead."""
        if not isinstance(self._hint, str):
            self._hint = self._hint()
        return self._hint

    @property
    def lazy_hint(self) -> str | Callable[[], str]:
        """The hint as it was given, to hand on without finding it."""
        return self._hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[type[UnitError], tuple[str, ...]]:
        return (type(self), (self.message, self.hint))


def quote(value: object) -> str:
    """Show a value in backticks, on one line, cut short, without a password."""
    text = value if isinstance(value, str) else _text(value)
    text = _PASSWORD.sub("://…@", text[:1000])
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"`{''.join(c if c.isprintable() else _UNPRINTABLE for c in text)}`"


def _text(value: object) -> str:
    try:
        return str(value)[:200]
    except ValueError:  # an integer of more digits than Python turns into text
        return "a huge number"


def parse_duration(text: str, *, maximum: float | None = MAX_DURATION) -> float:
    """Return the seconds of ``250ms``, ``1.5s``, ``1m30s``, ``24h``, ``7d``.

    Units are ``us ms s m h d``, each at most once, from large to small; only the last
    part may have a fraction.

    Raises:
        UnitError: ``text`` is no duration or is over ``maximum`` seconds.
    """
    if len(text) > _LONGEST or _DURATION.fullmatch(text) is None:
        raise _no_duration(text)
    total, scale, last = 0, 1, -1
    for whole, fraction, unit in _PART.findall(text):
        if _ORDER[unit] <= last:
            raise UnitError(
                f"{quote(text)} has its units out of order",
                "write each unit once, from d to us, for example 1m30s",
            )
        if scale != 1:
            raise UnitError(
                f"{quote(text)} has a fraction before its last part",
                "write the fraction in the last part alone, for example 1m1.5s",
            )
        last = _ORDER[unit]
        scale = _tens(len(fraction))
        total = total * scale + int(whole + fraction) * _MICROSECONDS[unit]
    seconds = total / (scale * 1_000_000)
    if maximum is not None and seconds > maximum:
        limit = format_duration(maximum)
        raise UnitError(f"{quote(text)} is over {limit}", f"write at most {limit}")
    return seconds


def _no_duration(text: str) -> UnitError:
    shown = quote(text)
    bare = text.strip()
    compact = "".join(bare.split())
    if len(text) > _LONGEST:
        return UnitError(f"{shown} is not a duration", "write for example 30s or 250ms")
    if _NUMBER.fullmatch(bare):
        return UnitError(f"{shown} has no unit", f"write {bare}s or {bare}ms")
    if compact != text and _DURATION.fullmatch(compact):
        return UnitError(f"{shown} has a space in it", f"write {compact}")
    if bare[:1] in "+-" and bare[:1]:
        return UnitError(
            f"{shown} has a sign", "a duration is never negative; write for example 30s"
        )
    if _DURATION.fullmatch(bare.lower()):
        return UnitError(f"{shown} has a unit in capitals", f"write {bare.lower()}")
    if re.fullmatch(r"[0-9]+(?::[0-9]+)+", bare):
        return UnitError(
            f"{shown} is a clock time, not a duration", "write for example 1m30s"
        )
    if re.fullmatch(r"[0-9.]+[eE][+-]?[0-9]+[a-z]*", bare):
        return UnitError(
            f"{shown} has an exponent", "write the number out, for example 1000s"
        )
    return UnitError(
        f"{shown} is not a duration",
        "write for example 250ms, 30s or 1m30s; units are us, ms, s, m, h, d",
    )


def format_duration(seconds: float) -> str:
    """Return the shortest usual text of ``seconds``: ``90.0`` is ``1m30s``.

    Raises:
        UnitError: ``seconds`` is negative or not finite.
    """
    digits, exponent = _decimal(seconds)
    if digits == 0:
        return "0s"
    if seconds >= 1:
        return _long_duration(digits, exponent)
    unit, shift = ("ms", 3) if seconds >= 0.001 else ("us", 6)
    return _plain(digits, exponent + shift) + unit


def _long_duration(digits: int, exponent: int) -> str:
    whole = digits * _tens(exponent) if exponent >= 0 else digits // _tens(-exponent)
    rest = 0 if exponent >= 0 else digits % _tens(-exponent)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    if whole or rest:
        scaled = whole * _tens(-exponent) + rest if rest else whole
        parts.append(_plain(scaled, exponent if rest else 0) + "s")
    return "".join(parts)


def _tens(power: int) -> int:
    return int("1" + "0" * power)


def _decimal(number: float) -> tuple[int, int]:
    """The shortest decimal of a float as (digits, exponent of ten)."""
    if not 0 <= number < float("inf"):
        raise UnitError(f"{quote(number)} is negative or not finite")
    mantissa, _, power = repr(float(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction), int(power or 0) - len(fraction)


def _plain(digits: int, exponent: int) -> str:
    """The decimal text of digits x 10^exponent, without exponent or idle zeros."""
    if exponent >= 0:
        return str(digits * _tens(exponent))
    text = str(digits).rjust(-exponent + 1, "0")
    return (text[:exponent] + "." + text[exponent:]).rstrip("0").rstrip(".")


def parse_rate(text: str) -> float:
    """Return the events per second of ``40/s``, ``600/m`` or ``10/h``.

    Raises:
        UnitError: ``text`` is no rate or is over a billion per second.
    """
    match = _RATE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        if _NUMBER.fullmatch(text.strip()) and len(text) <= _LONGEST:
            raise UnitError(
                f"{quote(text)} is a rate without a time",
                f"write {text.strip()}/s, /m or /h",
            )
        raise UnitError(
            f"{quote(text)} is not a rate", "write for example 40/s, 600/m or 10/h"
        )
    whole, fraction, per = match.group(1), match.group(2) or "", match.group(3)
    rate = int(whole + fraction) / (_tens(len(fraction)) * _PER[per])
    if rate > MAX_RATE:
        raise UnitError(
            f"{quote(text)} is over a billion per second", "write at most 1000000000/s"
        )
    return rate


def format_rate(rate: float) -> str:
    """Return ``40/s``, ``6/m`` or ``10/h`` for events per second.

    Raises:
        UnitError: ``rate`` is negative or not finite.
    """
    digits, exponent = _decimal(rate)
    if float(rate).is_integer():
        return f"{int(rate)}/s"
    for unit in ("m", "h"):
        count = round(rate * _PER[unit])
        if 0 < count < 1_000_000 and count / _PER[unit] == rate:
            return f"{count}/{unit}"
    return f"{_plain(digits, exponent)}/s"


def parse_ratio(text: str) -> float:
    """Return the share, from 0 to 1, of ``50%`` or ``0.5``.

    Raises:
        UnitError: ``text`` is no ratio or is outside 0 to 1.
    """
    bare = text.removesuffix("%")
    match = _NUMBER.fullmatch(bare) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(f"{quote(text)} is not a ratio", "write for example 50% or 0.5")
    whole, fraction = match.group(1), match.group(2) or ""
    percent = 100 if bare != text else 1
    ratio = int(whole + fraction) / (_tens(len(fraction)) * percent)
    if ratio > 1:
        raise _over_one(text, ratio, percent == 100)
    return ratio


def check_ratio(number: float) -> float:
    """Return ``number`` if it is a ratio from 0 to 1.

    Raises:
        UnitError: it is not.
    """
    if number > 1:
        raise _over_one(_show_number(number), number, False)
    if not number >= 0:
        raise UnitError(
            f"{quote(number)} is not a ratio", "write for example 50% or 0.5"
        )
    return float(number)


def _over_one(text: str, ratio: float, percent: bool) -> UnitError:
    if not percent and ratio <= 100:
        return UnitError(
            f"{quote(text)} is over 1", f"write {text}% or a share from 0 to 1"
        )
    return UnitError(f"{quote(text)} is over 100%", "write at most 100%")


def _show_number(number: float) -> str:
    return str(number) if abs(number) < 1e15 else format(number, ".3g")


def format_ratio(ratio: float) -> str:
    """Return ``50%`` for 0.5.

    Raises:
        UnitError: ``ratio`` is negative or not finite.
    """
    digits, exponent = _decimal(ratio)
    return _plain(digits, exponent + 2) + "%"


def parse_size(text: str) -> int:
    """Return the bytes of ``512KiB``, ``10MiB``, ``1GiB``, ``100B``.

    Raises:
        UnitError: ``text`` is no size, not a whole number of bytes, or over 1024 TiB.
    """
    match = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _no_size(text)
    whole, fraction, unit = match.group(1), match.group(2) or "", match.group(3)
    size, rest = divmod(int(whole + fraction) * _SIZES[unit], _tens(len(fraction)))
    if rest:
        raise UnitError(
            f"{quote(text)} is not a whole number of bytes", "write for example 512KiB"
        )
    if size > MAX_SIZE:
        raise UnitError(f"{quote(text)} is over 1024TiB", "write at most 1024TiB")
    return size


def _no_size(text: str) -> UnitError:
    bare = "".join(text.split())
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT]?)(?:i?[bB])?", bare)
    if match is None or len(text) > _LONGEST:
        return UnitError(
            f"{quote(text)} is not a size", "write for example 512KiB, 10MiB or 1GiB"
        )
    number, letter = match.groups()
    right = f"{number}{letter.upper()}iB"
    if not letter:
        return UnitError(
            f"{quote(text)} has no unit", f"write {number}B, {number}KiB or {number}MiB"
        )
    return UnitError(
        f"{quote(text)} is not a size", f"units are powers of 1024; write {right}"
    )


def format_size(size: int) -> str:
    """Return ``512KiB`` for 524288: the largest unit that divides it.

    Raises:
        UnitError: ``size`` is negative.
    """
    if size < 0:
        raise UnitError(f"{quote(size)} is negative")
    for unit, factor in reversed(_SIZES.items()):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return "0B"


def parse_window(text: str) -> dict[str, float | int]:
    """Return ``{"calls": 100}`` for ``100 calls`` and ``{"seconds": 30.0}`` for ``30s``.

    Raises:
        UnitError: ``text`` is neither a duration nor a number of calls.
    """
    match = _CALLS.fullmatch(text) if len(text) <= _LONGEST else None
    if match is not None:
        return {"calls": int(match.group(1))}
    bare = text.strip()
    if len(text) <= _LONGEST and re.fullmatch(r"[0-9]+", bare):
        raise UnitError(f"{quote(text)} has no unit", f"write {bare}s or {bare} calls")
    return {"seconds": parse_duration(text)}


def format_window(window: dict[str, float | int]) -> str:
    """Return the text of what ``parse_window`` gives."""
    if "calls" in window:
        return f"{window['calls']} calls"
    return format_duration(window["seconds"])
