"""Numbers of the queues that this process has open, for whoever asks."""

from __future__ import annotations

from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.queues.records import Stats


def read_queues(counts: Callable[[str], bool]) -> dict[tuple[str, str], Stats]:
    """Numbers by service and queue, of services that ``counts`` says yes to.

    A store that this process has not opened is left alone; one that fails is left out
    and reported once.
    """
    import sys

    if __name__.replace("telemetry.queue_numbers", "queues.live") not in sys.modules:
        return {}
    from policyctl.runtime.queues import live

    found: dict[tuple[str, str], Stats] = {}
    for queue in live.queues().values():
        if queue._store is None or not counts(queue.service):
            continue
        try:
            found[queue.service, queue.queue] = queue.stats()
        except Exception as error:
            report(f"the metrics of queue {queue.name} cannot be read", error)
    return found
