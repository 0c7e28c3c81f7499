"""Comparisons of worked-out numbers, where 3 x 0.1 and 0.3 are the same."""

from __future__ import annotations

_TOLERANCE = 1e-9


def over(value: float, limit: float) -> bool:
    """Whether ``value`` is over ``limit`` by more than rounding."""
    return value > limit and value - limit > _TOLERANCE * abs(limit)


def reaches(value: float, limit: float) -> bool:
    """Whether ``value`` is at least ``limit``, rounding aside."""
    return not over(limit, value)
