"""What queues tell listeners of the event stream.

Kinds and their data: ``queue_level`` (``above``, ``size``, ``max_size``) when the size
crosses ``warn_at``, ``dead_lettered`` (``id``, ``reason``), ``dropped`` (``id``,
``reason``), ``dead_letters_full`` (``id``) when an item had to stay in the queue for want
of room, and ``queue_recovered`` when a damaged file was replaced.
"""

from __future__ import annotations

from typing import Any

from policyctl.runtime.events import EVENTS
from policyctl.runtime.telemetry.switch import SWITCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.queues.base import QueueBase
    from policyctl.runtime.queues.records import Change


def report(queue: QueueBase[Any], change: Change) -> None:
    """Count what became dead letters, and tell what a step did."""
    SWITCH.touch(queue.service)
    if change.dead:
        SWITCH.bury(queue.service, queue.queue, len(change.dead))
    if not EVENTS.listeners:
        return
    names = (queue.service, queue.queue)
    for id, reason in change.dropped:
        EVENTS.emit("dropped", *names, id=id, reason=reason)
    for id, reason in change.dead:
        EVENTS.emit("dead_lettered", *names, id=id, reason=reason)
    for id in change.parked:
        EVENTS.emit("dead_letters_full", *names, id=id)
    if change.level is not None:
        EVENTS.emit(
            "queue_level",
            *names,
            above=change.level,
            size=change.size,
            max_size=queue.settings.max_size,
        )


def report_recovery(service: str, queue: str, details: dict[str, object]) -> None:
    """Tell of a damaged file, also in the log: somebody should look at it."""
    import logging

    logging.getLogger("policyctl").error(
        "%s.%s: the queue's file was damaged and was moved to %s; %s items and %s dead "
        "letters were salvaged, lost: %s",
        service,
        queue,
        details.get("moved_to"),
        details.get("salvaged"),
        details.get("salvaged_dead"),
        "unknown" if details.get("lost") is None else details.get("lost"),
    )
    if EVENTS.listeners:
        EVENTS.emit("queue_recovered", service, queue, **details)
