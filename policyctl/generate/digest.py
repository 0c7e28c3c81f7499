"""Resolved policies as plain data, and the digest that tells whether they changed.

Places in files, comments and origins are not part of it: an edit that changes no value
changes no digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, cast

from policyctl.generate.fields import field_names
from policyctl.resolve.policy import (
    AutoscaleFacts,
    CacheFacts,
    Call,
    Latency,
    LayerFacts,
    Operation,
    OperationFacts,
    PoolFacts,
    Queue,
    ReconnectFacts,
    Service,
    ServiceFacts,
)

FORMAT_VERSION = 1
"""Raised when the same input gives other output; a tool's version alone is no reason."""

_PLACES = frozenset(
    {"document", "span", "path", "origins", "ignores", "extends", "name", "service"}
)
_HAVE_PLACES = (Service, Operation, Queue, Call)
_FACTS = (
    ServiceFacts,
    OperationFacts,
    Latency,
    PoolFacts,
    CacheFacts,
    LayerFacts,
    AutoscaleFacts,
    ReconnectFacts,
)


def plain_service(service: Service) -> dict[str, Any]:
    """Every resolved value of a service as JSON data; what is off is None."""
    return cast("dict[str, Any]", plain(service))


def plain(value: object) -> Any:
    """Dataclasses as dictionaries, tuples as lists, everything else as it is.

    Names that are keys already are left out, and so are facts that nobody stated.
    """
    if is_dataclass(value):
        return _plain_fields(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: plain(item) for name, item in items}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    return value


def _plain_fields(value: object) -> dict[str, Any]:
    hidden = _PLACES if isinstance(value, _HAVE_PLACES) else frozenset[str]()
    found = {
        name: plain(getattr(value, name))
        for name in field_names(value)
        if name not in hidden
    }
    if isinstance(value, _FACTS):
        return {name: item for name, item in found.items() if item not in (None, [])}
    return found


def digest(data: object) -> str:
    """``sha256:…`` of JSON data, the same for equal data in any order of keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return content_digest(text.encode("ascii"))


def content_digest(content: bytes) -> str:
    """``sha256:…`` of a file's bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def policy_digest(
    policy: object, options: Mapping[str, Any], version: int = FORMAT_VERSION
) -> str:
    """The digest of a resolved policy and the options, as in headers and lock files."""
    return digest({"format": version, "options": options, "policy": policy})
