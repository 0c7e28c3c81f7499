"""Reading and writing the header that carries a remaining budget."""

from __future__ import annotations

from policyctl.runtime.budget import NO_DEADLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Outcome = Literal["absent", "taken", "clamped", "expired", "ignored"]

CEILING = 30 * 86400.0
"""No request may ask for more than the language allows as a duration."""

_LONGEST = 32
_CHARACTERS = frozenset("0123456789.eE+-")


def parse_budget_header(
    values: Sequence[str | bytes],
    unit: Literal["s", "ms"] = "s",
    max: float | None = None,
) -> tuple[float | None, Outcome]:
    """Seconds that a request asks for, and what became of the header.

    Args:
        values: every value of the header in the request, as text or bytes.
        unit: whether they are decimal seconds or milliseconds.
        max: the most that is granted, in seconds; more is clamped.

    Returns:
        ``(None, "absent")`` and ``(None, "ignored")`` where the default applies,
        ``(0.0, "expired")`` for zero and below, else the seconds with ``taken`` or
        ``clamped``. Empty, text, NaN, infinite, repeated and overlong values are
        ignored: they never mean unlimited.
    """
    if not values:
        return None, "absent"
    number = _number(values[0]) if len(values) == 1 else None
    if number is None:
        return None, "ignored"
    if number <= 0:
        return 0.0, "expired"
    seconds = number / 1000 if unit == "ms" else number
    limit = CEILING if max is None else max
    if seconds > limit:
        return limit, "clamped"
    return seconds, "taken"


def _number(value: str | bytes) -> float | None:
    """A finite decimal number in plain ASCII, or None."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    text = text.strip(" \t")
    if not 0 < len(text) <= _LONGEST or not _CHARACTERS.issuperset(text):
        return None
    if not text.removeprefix("-")[:1].isdigit():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < NO_DEADLINE else None


def format_budget_header(seconds: float, unit: Literal["s", "ms"] = "s") -> str:
    """The header's value for a finite number of seconds; never more than there is.

    Seconds have three decimals, milliseconds none; both are rounded down and stop at
    zero, which a receiver reads as expired.
    """
    whole = int(seconds * 1000) if seconds > 0 else 0
    if unit == "ms":
        return str(whole)
    return f"{whole // 1000}.{whole % 1000:03d}"
