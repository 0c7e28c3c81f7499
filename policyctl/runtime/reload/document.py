"""A document of policies: the ``policies.lock.json`` that ``policyctl generate`` writes.

It is checked whole before any of it is used: form, digests, every number against its
bounds, and every block by the constructor that generated code uses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.reload.blocks import inbound_blocks, operation_blocks
from policyctl.runtime.served import refuse_unserved

FORMAT = 1
"""The format of lock files that this runtime reads."""
MAX_BYTES = 64 * 1024 * 1024
_NAMES = ("attempt_timeout", "circuit_breaker", "rate_limit", "hedge", "idempotency")
_MOST_SHOWN = 20


class RefusedError(ValueError):
    """A document that is not used, not even in part.

    Attributes:
        reasons: everything that is wrong, each with its place.
    """

    def __init__(self, reasons: list[str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        shown = self.reasons[:_MOST_SHOWN]
        more = len(self.reasons) - len(shown)
        return "; ".join(shown) + (f"; and {more} more" if more else "")


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """Checked settings.

    Attributes:
        revision: the digest of the text.
        operations: the arguments of ``Policy`` by ``service.operation``.
        inbound: the blocks of ``Inbound`` by service.
        text: the bytes that it was read from.
    """

    revision: str
    operations: Mapping[str, Mapping[str, Any]]
    inbound: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    text: bytes = b""


def read_document(text: bytes) -> PolicyDocument:
    """Check the text of a lock file.

    Raises:
        RefusedError: something is wrong with it.
    """
    data = _parse(text)
    reasons: list[str] = []
    operations: dict[str, dict[str, Any]] = {}
    inbound: dict[str, dict[str, Any]] = {}
    options = _object(data, "options", "", reasons)
    for name, entry in _object(data, "services", "", reasons).items():
        at = f"services.{name}"
        if not isinstance(entry, dict):
            reasons.append(f"{at}: it is not an object")
            continue
        service = cast("dict[str, Any]", entry)
        policy = _object(service, "policy", at, reasons)
        if _digest_of(policy, options) != service.get("digest"):
            reasons.append(f"{at}: its digest does not match its values")
        _read_service(name, policy, f"{at}.policy", operations, inbound, reasons)
    if reasons:
        raise RefusedError(reasons)
    revision = f"sha256:{hashlib.sha256(text).hexdigest()}"
    return PolicyDocument(revision, operations, inbound, text)


def _parse(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_BYTES:
        raise RefusedError([f"{len(text)} bytes are over the limit of {MAX_BYTES}"])
    try:
        found: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RefusedError([f"it is not JSON: {error}"]) from None
    if not isinstance(found, dict):
        raise RefusedError(["it is not a JSON object"])
    data = cast("dict[str, Any]", found)
    if data.get("format") != FORMAT:
        raise RefusedError(
            [f"format {json.dumps(data.get('format'))} is not {FORMAT}, which is read"]
        )
    return data


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _object(
    data: Mapping[str, Any], key: str, at: str, reasons: list[str]
) -> dict[str, Any]:
    value = data.get(key)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    reasons.append(f"{at}.{key}: it is not an object".lstrip("."))
    return {}


def _digest_of(policy: object, options: Mapping[str, Any]) -> str:
    """The digest that a lock file has for a service; its package is no part of it."""
    relevant = {name: value for name, value in options.items() if name != "package"}
    data = {"format": FORMAT, "options": relevant, "policy": policy}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _read_service(
    name: str,
    policy: Mapping[str, Any],
    at: str,
    operations: dict[str, dict[str, Any]],
    inbound: dict[str, dict[str, Any]],
    reasons: list[str],
) -> None:
    declared = policy.get("operations")
    if declared is not None and not isinstance(declared, dict):
        reasons.append(f"{at}.operations: it is not an object")
        return
    for operation, values in cast("dict[str, Any]", declared or {}).items():
        place = f"{at}.operations.{operation}"
        if not isinstance(values, dict):
            reasons.append(f"{place}: it is not an object")
            continue
        fields = cast("dict[str, Any]", values)
        blocks = operation_blocks(fields, place, reasons)
        _refuse_unserved(name, operation, blocks, place, reasons)
        operations[f"{name}.{operation}"] = blocks
    block = policy.get("inbound")
    if isinstance(block, dict):
        fields = cast("dict[str, Any]", block)
        inbound[name] = inbound_blocks(fields, f"{at}.inbound", reasons)


def _refuse_unserved(
    service: str,
    operation: str,
    blocks: dict[str, Any],
    at: str,
    reasons: list[str],
) -> None:
    try:
        refuse_unserved(service, operation, {**dict.fromkeys(_NAMES), **blocks})
    except PolicyConfigError as error:
        reasons.append(f"{at}.{error.path}: {error.message}")
