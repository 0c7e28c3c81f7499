"""Every named queue of the process, by ``service.queue``."""

from __future__ import annotations

import os
from _thread import RLock
from typing import Any, TypeVar

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from policyctl.runtime.queues.queue import Queue
    from policyctl.runtime.queues.settings import QueueSettings

T = TypeVar("T")

_lock = RLock()
_queues: dict[str, tuple[QueueSettings, Queue[Any]]] = {}


def claim(name: str, declared: QueueSettings, make: Callable[[], Queue[T]]) -> Queue[T]:
    """The live queue called ``name``, made now if there is none.

    Raises:
        PolicyConfigError: the name is taken by a queue with other settings.
    """
    with _lock:
        known = _queues.get(name)
        if known is None:
            made = make()
            _queues[name] = declared, made
            return made
        settings, queue = known
        for key in type(declared)._fields:
            old, new = getattr(settings, key), getattr(declared, key)
            if old != new:
                raise PolicyConfigError(
                    f"defined with {new!r}, but it is live with {old!r}",
                    path=key,
                    help="give the two queues different names, or the same settings",
                    service=name.partition(".")[0],
                    operation=name.partition(".")[2],
                )
        return queue


def queues(pattern: str = "*") -> dict[str, Queue[Any]]:
    """Queues whose name matches a shell pattern, sorted by name.

    Raises:
        PolicyConfigError: a name without wildcards is unknown.
    """
    from fnmatch import fnmatchcase

    if not any(character in pattern for character in "*?["):
        return {pattern: find(pattern)}
    return {
        name: entry[1]
        for name, entry in sorted(_queues.items())
        if fnmatchcase(name, pattern)
    }


def find(name: str) -> Queue[Any]:
    """The queue called ``service.queue``.

    Raises:
        PolicyConfigError: there is none.
    """
    entry = _queues.get(name)
    if entry is not None:
        return entry[1]
    from difflib import get_close_matches

    near = get_close_matches(name, _queues, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else "import the generated package first"
    raise PolicyConfigError(f"there is no queue called {name!r}", help=hint)


def forget(name: str) -> None:
    """Close a queue that is no longer used, and free its name."""
    with _lock:
        entry = _queues.pop(name, None)
    if entry is not None:
        entry[1].close()


def _after_fork_in_child() -> None:
    global _lock
    _lock = RLock()
    for _, queue in _queues.values():
        queue.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
