"""Resolved policies as plain data, and the digest that tells whether they changed.

Places in files, comments and origins are not part of it: an edit that changes no value
changes no digest. Facts are none either: policies are judged by them, and neither what is
generated nor the runtime knows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from policyctl.generate.fields import field_values
from policyctl.resolve.policy import (
    Call,
    Fallback,
    Operation,
    Queue,
    Service,
)

FORMAT_VERSION = 1
"""Raised when the same input gives other output; a tool's version alone is no reason."""

_PLACES = frozenset(
    [
        "document",
        "span",
        "path",
        "origins",
        "ignores",
        "extends",
        "name",
        "service",
        "facts",
    ]
)
_HAVE_PLACES = (Service, Operation, Queue, Call)


def plain_service(service: Service) -> dict[str, Any]:
    """Every resolved setting of a service as JSON data."""
    return cast("dict[str, Any]", plain(service))


def plain(value: object) -> Any:
    """Dataclasses as dictionaries, tuples as lists, everything else as it is.

    What is off, absent or not stated is left out, and so are places in files and names
    that are keys already. The result may share parts and must not be changed.
    """
    fields = field_values(value)
    if fields is not None:
        if isinstance(value, (*_HAVE_PLACES, Fallback)):
            return _plain_fields(fields, value)
        return _plain_block(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    return value


@lru_cache(maxsize=4096)
def _plain_block(block: Hashable) -> dict[str, Any]:
    """A block's data; most operations of a fleet share theirs with others."""
    return _plain_fields(field_values(block) or [], block)


def _plain_fields(fields: Sequence[tuple[str, Any]], owner: object) -> dict[str, Any]:
    sparse = isinstance(owner, _HAVE_PLACES)
    found: dict[str, Any] = {}
    for name, value in fields:
        if value is None or (sparse and (name in _PLACES or value in ((), {}))):
            continue
        item = plain(value)
        if item != {}:
            found[name] = item
    if isinstance(owner, Fallback) and owner.kind == "value":
        found["value"] = plain(owner.value)
    return found


def digest(data: object) -> str:
    """``sha256:…`` of JSON data, the same for equal data in any order of keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return content_digest(text.encode("ascii"))


class Digest:
    """``sha256:…`` of bytes that come in parts."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made = hashlib.sha256()

    def add(self, part: bytes) -> None:
        """Take the next part."""
        self._made.update(part)

    def text(self) -> str:
        """The digest of all parts so far."""
        return f"sha256:{self._made.hexdigest()}"


def content_digest(content: bytes) -> str:
    """``sha256:…`` of a file's bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def policy_digest(
    policy: object, options: Mapping[str, Any], version: int = FORMAT_VERSION
) -> str:
    """The digest of a resolved policy and the options, as in headers and lock files.

    The package's name is not part of it, since no module depends on it.
    """
    relevant = {name: value for name, value in options.items() if name != "package"}
    return digest({"format": version, "options": relevant, "policy": policy})
