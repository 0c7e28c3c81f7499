"""How long a circuit breaker stays open."""

from __future__ import annotations

from math import inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.settings import Recovery


def break_length(settings: Recovery, reopenings: int, random: Chance) -> float:
    """Seconds of the break after ``reopenings`` failed half-open episodes.

    ``min(max, initial x multiplier^reopenings)``, spread by the jitter ratio r to a
    uniform share from 1 - r to 1 + r, and never over ``max``.
    """
    most = inf if settings.max is None else settings.max
    try:
        length = settings.initial * settings.multiplier**reopenings
    except OverflowError:
        length = inf
    length = min(length, most, 2_592_000.0)
    if settings.jitter:
        length *= random.uniform(1 - settings.jitter, 1 + settings.jitter)
    return min(length, most)
