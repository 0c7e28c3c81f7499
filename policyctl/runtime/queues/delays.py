"""How long an item waits between two deliveries."""

from __future__ import annotations

from math import inf

from policyctl.runtime.chance import RANDOM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.queues.settings import Redelivery

LONGEST = 2_592_000.0


def redelivery_delay(
    settings: Redelivery, deliveries: int, random: Chance = RANDOM
) -> float:
    """Seconds after delivery number ``deliveries`` has failed.

    ``min(max, initial x multiplier^(deliveries-1))``, then jitter as for retries:
    full is uniform(0, delay), equal delay/2 + uniform(0, delay/2), a ratio r delay x
    uniform(1-r, 1+r) capped after. Decorrelated is uniform(initial, min(max, initial x
    3^deliveries)), since the delay before is not kept.
    """
    most = LONGEST if settings.max is None else min(settings.max, LONGEST)
    jitter = settings.jitter
    if jitter == "decorrelated":
        top = _power(settings.initial, 3.0, deliveries, most)
        return min(most, random.uniform(settings.initial, max(settings.initial, top)))
    delay = _power(settings.initial, settings.multiplier, deliveries - 1, most)
    if jitter == "none":
        return delay
    if jitter == "full":
        return random.uniform(0.0, delay)
    if jitter == "equal":
        return delay / 2 + random.uniform(0.0, delay / 2)
    ratio = float(jitter)
    return min(most, delay * random.uniform(1 - ratio, 1 + ratio))


def longest_delay(settings: Redelivery, deliveries: int) -> float:
    """The most that ``redelivery_delay`` may give."""
    most = LONGEST if settings.max is None else min(settings.max, LONGEST)
    if settings.jitter == "decorrelated":
        return _power(settings.initial, 3.0, deliveries, most)
    spread = 1.0 if isinstance(settings.jitter, str) else 1.0 + settings.jitter
    delay = _power(settings.initial, settings.multiplier, deliveries - 1, most)
    return min(most, delay * spread)


def _power(initial: float, base: float, exponent: int, most: float) -> float:
    try:
        value = initial * base**exponent
    except OverflowError:
        value = inf if initial else 0.0
    return min(most, value)
