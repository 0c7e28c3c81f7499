"""The store of a queue by its settings."""

from __future__ import annotations

from functools import partial
from typing import Any

from policyctl.runtime.queues.records import Store
from policyctl.runtime.queues.report import report_recovery
from policyctl.runtime.queues.settings import Sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.queues.base import QueueBase


def open_store(queue: QueueBase[Any]) -> Store:
    """The store that ``queue.settings.store`` describes; nothing is opened yet."""
    kind = queue.settings.store
    if isinstance(kind, Sqlite):
        from policyctl.runtime.queues.sqlite_store import SqliteStore

        return SqliteStore(
            kind.path,
            (queue.service, queue.queue),
            queue.settings,
            partial(report_recovery, queue.service, queue.queue),
        )
    from policyctl.runtime.queues.redis_store import RedisStore
    from policyctl.runtime.stores.redis import RedisServer

    names = (queue.service, queue.queue)
    return RedisStore(RedisServer(kind.url_env), kind.key, names, queue.settings)
