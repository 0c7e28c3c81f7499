"""Bounded queues: what generated code makes of ``queues:``.

``Queue`` puts, takes and acknowledges typed items; a store keeps them. Importing this
touches no file, thread or socket: the first operation does.
"""

from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.queue import JsonObject, JsonQueue, Queue
from policyctl.runtime.queues.settings import (
    Consume,
    DeadLetter,
    Redelivery,
    Redis,
    Sqlite,
    Upload,
)
from policyctl.runtime.stores.errors import StoreUnavailableError

__all__ = [
    "Consume",
    "DeadLetter",
    "Item",
    "JsonObject",
    "JsonQueue",
    "Queue",
    "Redelivery",
    "Redis",
    "Sqlite",
    "StoreUnavailableError",
    "Upload",
]
