"""Numbers of the queues that this process has open, for whoever asks."""

from __future__ import annotations

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.queues.records import Stats

PAUSE = 30.0
"""Seconds for which a store that failed is not asked, so that it cannot slow scrapes."""

_not_before: dict[str, float] = {}


def read_queues(counts: Callable[[str], bool]) -> dict[tuple[str, str], Stats]:
    """Numbers by service and queue, of services that ``counts`` says yes to.

    A store that this process has not opened is left alone; one that fails is left out
    for a while and reported once.
    """
    import sys

    if __name__.replace("telemetry.queue_numbers", "queues.live") not in sys.modules:
        return {}
    from policyctl.runtime.queues import live

    found: dict[tuple[str, str], Stats] = {}
    for queue in live.queues().values():
        if queue._store is None or not counts(queue.service):
            continue
        if CLOCK.now() < _not_before.get(queue.name, 0.0):
            continue
        try:
            found[queue.service, queue.queue] = queue.stats()
        except Exception as error:
            _not_before[queue.name] = CLOCK.now() + PAUSE
            report(f"the metrics of queue {queue.name} cannot be read", error)
    return found
