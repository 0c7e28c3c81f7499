"""Items on their way into a store: encoded, named, and assigned to their lane."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from policyctl.runtime.queues.codec import Codec
from policyctl.runtime.queues.records import Entry

LONGEST_ID = 200


def make_id() -> str:
    """A new id: no two are alike, and later ones sort behind earlier ones."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def make_entries(
    codec: Codec,
    order_by: str | None,
    payloads: Iterable[Any],
    ids: Sequence[str] | None,
) -> list[Entry]:
    """The entries of payloads.

    Raises:
        TypeError, ValueError: a payload cannot be encoded or has no value to order by,
            or the ids do not fit.
    """
    values = [*payloads]
    if ids is not None:
        check_ids(ids, len(values))
    entries: list[Entry] = []
    for index, payload in enumerate(values):
        lane = None if order_by is None else lane_of(payload, order_by)
        id = make_id() if ids is None else ids[index]
        entries.append(Entry(id, codec.encode(payload), lane, ids is not None))
    return entries


def check_ids(ids: Sequence[str], count: int) -> None:
    """Refuse ids that are missing, doubled, empty, too long or no text."""
    if len(ids) != count:
        raise ValueError(f"{count} payloads, but {len(ids)} ids")
    if len(set(ids)) != count:
        raise ValueError("two items have the same id")
    for id in ids:
        if not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID or "\0" in id:
            raise ValueError(f"an id is a text of 1 to {LONGEST_ID} characters")
        if not _is_utf8(id):
            raise ValueError(f"an id is text that UTF-8 can carry: {id!a}")


def lane_of(payload: Any, order_by: str) -> str:
    """The value of the field ``order_by``, as text that tells 1 from "1".

    Raises:
        ValueError: there is no such field, or its value is no text, number or None.
    """
    value = payload
    for name in order_by.split("."):
        try:
            value = _member(value, name)
        except (KeyError, AttributeError):
            raise ValueError(f"the payload has no {order_by} to order by") from None
    if value is not None and not isinstance(value, str | int | float):
        value = str(value)
    if isinstance(value, str) and not _is_utf8(value):
        raise ValueError(f"{order_by} orders by text that UTF-8 can carry: {value!a}")
    return json.dumps(value, ensure_ascii=False)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _member(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)[name]
    return getattr(value, name)
