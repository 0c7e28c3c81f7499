"""Limits of queues changed at start-up by environment variables.

``PAYMENT_API_RECOVERY_MAX_SIZE=200`` overrides one number of one queue.
"""

from __future__ import annotations

from typing import Any, cast

from policyctl.runtime import overrides as _base
from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.queues.settings import QueueSettings

PATHS = (
    "max_size",
    "max_bytes",
    "max_age",
    "warn_at",
    "lease",
    "max_deliveries",
    "redelivery.initial",
    "redelivery.max",
    "dead_letter.max_size",
    "consume.concurrency",
    "upload.batch",
    "upload.interval",
    "upload.drain",
)


def overridden(service: str, queue: str, settings: QueueSettings) -> QueueSettings:
    """The settings as the environment changes them.

    Raises:
        PolicyConfigError: a value has a wrong form, is out of bounds, contradicts
            another setting, or belongs to a block that the queue does not have.
    """
    found = _base.variables_of(service, queue)
    if not found:
        return settings
    from policyctl.checks.limits import override_name

    names = {override_name(service, queue, path): path for path in PATHS}
    applied = {name: text for name, text in found.items() if name in names}
    _base._warn_of_near_misses(found.keys() - applied.keys(), names)
    changes = _base._Changes()
    for name, text in applied.items():
        path = names[name]
        _base._put(changes, path, _base._parse(service, queue, name, path, text))
    try:
        changed: Any = _base._rebuild(settings, changes, "queue")
    except PolicyConfigError as error:
        shown = " and ".join(f"{k}={v}" for k, v in sorted(applied.items()))
        raise PolicyConfigError(
            f"{error.message} (set by {shown})",
            path=error.path.removeprefix("queue."),
            help=error.help,
            service=service,
            operation=queue,
        ) from None
    return cast("QueueSettings", changed)
