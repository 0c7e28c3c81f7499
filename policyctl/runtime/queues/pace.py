"""How fast a worker goes: pauses, and the size of batches.

The rules keep a fleet from falling on a server that comes back: a worker never makes more
than ``CATCH_UP`` times its normal number of calls, starts at a random moment, backs off
with jitter while calls fail, and then comes up to speed in steps.
"""

from __future__ import annotations

from math import inf
from typing import Final

from policyctl.runtime.queues.delays import longest_delay, redelivery_delay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.chance import Chance
    from policyctl.runtime.queues.settings import Redelivery

CATCH_UP: Final = 4
"""Calls in one ``interval`` while there is a backlog; the normal number is one."""
LEAST_PAUSE: Final = 0.1
"""Seconds before the second try after a failure, at least; then twice that, and so on."""
LONGEST_HINT: Final = 3600.0
"""Seconds that a server can keep a worker waiting: a mistaken hint shall not stop it."""
IDLE: Final = 0.1
"""Seconds between two looks at an empty queue."""


class Pace:
    """The pace of one worker.

    Args:
        batch: the most items in a call.
        interval: seconds between calls in normal operation; 0.0 for items one by one.
        redelivery: the back-off while calls fail.
        random: spreads the pauses.

    Attributes:
        size: items to take for the next call.
        failures: calls in a row that failed through no fault of the items.
    """

    def __init__(
        self, batch: int, interval: float, redelivery: Redelivery, random: Chance
    ) -> None:
        self._batch = batch
        self._interval = interval
        self._redelivery = redelivery
        self._random = random
        self._slow_start = 0.0
        self.size = batch
        self.failures = 0

    def first(self) -> float:
        """Seconds before the first call: anywhere in the interval."""
        return self._random.uniform(0.0, self._interval)

    def empty(self) -> float:
        """Seconds to wait when there was nothing to take."""
        return self._interval or IDLE

    def succeeded(self, *, more: bool) -> float:
        """Seconds to wait after a call that worked; ``more`` if there is a backlog."""
        self.failures = 0
        self.size = min(self._batch, self.size * 2)
        slow, self._slow_start = self._slow_start, self._slow_start / 2
        if slow < LEAST_PAUSE / 4:
            self._slow_start = 0.0
        if not more:
            return self._interval
        spread = self._random.uniform(1.0, 1.5)
        return max(self._interval / CATCH_UP * spread, slow)

    def aside(self) -> float:
        """Seconds that an item stays away which failed alone and may be to blame.

        It is longer than the pause of the worker, so that the next call is for another.
        """
        longest = longest_delay(self._redelivery, self.failures + 1)
        return 2 * max(longest, self._delay(self.failures + 1), self._interval)

    def _delay(self, failures: int) -> float:
        delay = redelivery_delay(self._redelivery, failures, self._random)
        most = self._redelivery.max
        least = LEAST_PAUSE * 2.0 ** min(failures - 1, 20)
        return max(delay, least if most is None else min(least, most or LEAST_PAUSE))

    def failed(self, hint: float | None) -> float:
        """Seconds to wait after an outage; ``hint`` is what the server asks for."""
        self.failures += 1
        self.size = max(1, self.size // 2)
        delay = self._delay(self.failures)
        if hint is not None and hint != inf:
            # All clients were told the same moment; they come after it, spread out.
            told = min(hint, LONGEST_HINT) * self._random.uniform(1.0, 1.25)
            delay = max(delay, told)
        self._slow_start = min(delay, self._interval or 1.0)
        return max(delay, self._interval / CATCH_UP)
