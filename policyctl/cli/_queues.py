"""What ``policyctl queue`` works on, and its tables."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from policyctl.cli._errors import CommandError, UsageError
from policyctl.cli._queue_remedies import remedy
from policyctl.runtime.queues.admin import open_file, open_server
from policyctl.runtime.queues.records import Dead, Taken
from policyctl.runtime.queues.redis_store import RedisStore
from policyctl.runtime.queues.sqlite_store import SqliteStore
from policyctl.runtime.stores.errors import StoreUnavailableError

R = TypeVar("R")
AnyStore = SqliteStore | RedisStore
SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")

WIDEST = 60
"""Characters of a payload that a table shows."""


def open_queues(
    target: str, name: str | None, *, writing: bool = False
) -> Mapping[str, AnyStore]:
    """The queues of a file or server by name, or the one that is asked for.

    Args:
        target: the file or the address.
        name: the one queue that is wanted.
        writing: whether they are to be changed; else a file is only read.

    Raises:
        CommandError: there is no such place or queue, or it cannot be read.
    """
    found: Mapping[str, AnyStore]
    if "://" in target:
        scheme = target.partition("://")[0]
        if scheme not in SCHEMES:
            raise UsageError(
                f"{scheme} is no scheme of an address", f"it is {', '.join(SCHEMES)}"
            )
        found = guarded(lambda: open_server(target))
        target = "the server"
    else:
        found = guarded(lambda: open_file(target, writing=writing))
    if name is None:
        return found
    if name not in found:
        known = ", ".join(found) or "none"
        raise CommandError(
            f"{target} has no queue called {name}", f"its queues: {known}"
        )
    return {name: found[name]}


def guarded(run: Callable[[], R]) -> R:
    """Run something on a store; what the store says is an error of the command."""
    try:
        return run()
    except StoreUnavailableError as error:
        raise CommandError(
            f"{error.store}: {error.message}", remedy(error, error.message)
        ) from error
    except FileNotFoundError as error:
        raise CommandError(
            f"{error.filename}: there is no such file",
            "give the path of the queue, as in its policy; it is relative to the folder "
            "that the service runs in, and the file is made by the first put",
        ) from error


def payload(body: bytes) -> Any:
    """A payload as JSON data; what is no JSON, or cannot be shown as such, as base64."""
    try:
        value = json.loads(body)
        json.dumps(_deeper(value), indent=2, allow_nan=False)
        return value
    except (ValueError, RecursionError):
        return {"base64": base64.b64encode(body).decode()}


def _deeper(value: Any) -> Any:
    """The value as deep in others as in any document, and some more for the way there."""
    for _ in range(20):
        value = [value]
    return value


def short(body: bytes) -> str:
    """The beginning of a payload, on one line."""
    text = body.decode("utf-8", "backslashreplace")
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"


def age(since: float) -> str:
    """How long ago, in one or two units."""
    seconds = max(0, int(time.time() - since))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size or (unit == "s" and not parts):
            parts.append(f"{seconds // size}{unit}")
            seconds %= size
    return "".join(parts[:2])


def item_json(item: Taken) -> dict[str, Any]:
    """An item as JSON data."""
    return {
        "id": item.id,
        "deliveries": item.deliveries,
        "put_at": item.put_at,
        "payload": payload(item.body),
    }


def dead_json(dead: Dead) -> dict[str, Any]:
    """A dead letter as JSON data."""
    return {
        "id": dead.id,
        "reason": dead.reason,
        "error": dead.error,
        "deliveries": dead.deliveries,
        "put_at": dead.put_at,
        "died_at": dead.died_at,
        "history": list(dead.history),
        "payload": payload(dead.body),
    }


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns under their heads; numbers stand right.

    Items come from anywhere: what a terminal would obey is shown as escapes.
    """
    texts = [[*heads], *([_shown(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[n]) for row in texts) for n in range(len(heads))]
    numeric = [
        bool(rows) and all(isinstance(row[n], int) for row in rows)
        for n in range(len(heads))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in texts
    ]
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def as_json(queues: Mapping[str, Any]) -> str:
    """The JSON of every subcommand; what a terminal would obey is escaped."""
    document = {"version": 1, "queues": queues}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text
        )
    return text + "\n"
