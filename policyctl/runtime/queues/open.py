"""The store of a queue by its settings."""

from __future__ import annotations

from functools import partial
from typing import Any

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.queues.records import Store
from policyctl.runtime.queues.report import report_recovery
from policyctl.runtime.queues.settings import Sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.queues.base import QueueBase


def open_store(queue: QueueBase[Any]) -> Store:
    """The store that ``queue.settings.store`` describes.

    Raises:
        PolicyConfigError: this version has no such store.
    """
    kind = queue.settings.store
    if isinstance(kind, Sqlite):
        from policyctl.runtime.queues.sqlite_store import SqliteStore

        return SqliteStore(
            kind.path,
            (queue.service, queue.queue),
            queue.settings,
            partial(report_recovery, queue.service, queue.queue),
        )
    raise PolicyConfigError(
        "queues in redis are not served by this version",
        path="store",
        service=queue.service,
        operation=queue.queue,
    )
