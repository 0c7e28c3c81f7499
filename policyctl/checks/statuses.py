"""Status matches: HTTP codes and ranges, gRPC names, SQLSTATE codes and classes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from policyctl.checks.references import nearest
from policyctl.units import UnitError, quote

GRPC_CODES: dict[str, int] = {
    name: code
    for code, name in enumerate(
        (
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        )
    )
}
"""The canonical gRPC status codes, from the gRPC core documentation (statuscodes.md)."""

_RANGE = re.compile(r"([0-9]{3})(?:-([0-9]{3}))?")
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_SQL_CLASS = re.compile(r"[0-9A-Z]{2,4}\*")
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class StatusMatch:
    """What one entry of a status list matches.

    ``kind`` is ``http`` (``low`` to ``high``, both included), ``grpc`` or ``sql``
    (``text`` without the ``*``; a ``prefix`` matches every code that begins so).
    """

    kind: Literal["http", "grpc", "sql"]
    text: str
    low: int = 0
    high: int = 0
    prefix: bool = False

    def matches(self, status: int | str) -> bool:
        """Whether ``status`` (an HTTP code, a gRPC name or an SQLSTATE) is covered."""
        if isinstance(status, int):
            return self.kind == "http" and self.low <= status <= self.high
        return status.startswith(self.text) if self.prefix else status == self.text


def parse_status(value: str | int) -> StatusMatch:
    """Return the match for ``429``, ``"502-504"``, ``UNAVAILABLE``, ``"40001"``, ``"08*"``.

    Raises:
        UnitError: the range is upside down or out of range, or the form is unknown.
    """
    if isinstance(value, int):
        return _http(value, value, value)
    if len(value) > _LONGEST:
        raise _unknown(value)
    match = _RANGE.fullmatch(value)
    if match is not None:
        low, high = int(match.group(1)), int(match.group(2) or match.group(1))
        return _http(value, low, high)
    if value in GRPC_CODES:
        return StatusMatch("grpc", value)
    if _SQLSTATE.fullmatch(value) and any(c.isdigit() for c in value):
        return StatusMatch("sql", value)
    if _SQL_CLASS.fullmatch(value):
        return StatusMatch("sql", value[:-1], prefix=True)
    raise _unknown(value)


def canonical_status(value: str | int) -> str:
    """Return the canonical text of a status entry: ``429`` is ``"429"``.

    Raises:
        UnitError: as ``parse_status``.
    """
    match = parse_status(value)
    if match.kind == "http":
        return (
            str(match.low) if match.low == match.high else f"{match.low}-{match.high}"
        )
    return match.text + "*" if match.prefix else match.text


def _http(value: str | int, low: int, high: int) -> StatusMatch:
    if low > high:
        raise UnitError(f"{quote(value)} is upside down", f'write "{high}-{low}"')
    for code in (low, high):
        if not 100 <= code <= 599:
            raise UnitError(
                f"{quote(value)} is not an HTTP status", _out_of_range(value)
            )
    return StatusMatch("http", str(value), low, high)


def _out_of_range(code: str | int) -> str:
    if not isinstance(code, int):
        return "HTTP codes are 100 to 599"
    for name, number in GRPC_CODES.items():
        if number == code:
            return f"HTTP codes are 100 to 599; for gRPC write the name {name}"
    if 0 < code < 100_000 and code > 599:
        return f'HTTP codes are 100 to 599; quote an SQLSTATE: "{code:05}"'
    return "HTTP codes are 100 to 599"


def _unknown(value: str) -> UnitError:
    shown = quote(value)
    forms = 'write for example 429, "502-504", UNAVAILABLE, "40001" or "08*"'
    if len(value) > _LONGEST:
        return UnitError(f"{shown} is not a status", forms)
    compact = "".join(value.split())
    digits = re.fullmatch(r"([1-5])xx", compact, re.IGNORECASE)
    if digits is not None:
        return UnitError(
            f"{shown} is not a status", f'write "{digits[1]}00-{digits[1]}99"'
        )
    if compact != value and _RANGE.fullmatch(compact):
        return UnitError(f"{shown} has a space in it", f'write "{compact}"')
    if "," in compact:
        return UnitError(
            f"{shown} is not one status", "write each status as its own list item"
        )
    return UnitError(f"{shown} is not a status", lambda: _near_status(compact, forms))


def _near_status(text: str, forms: str) -> str:
    near = nearest(text.upper().replace("-", "_"), GRPC_CODES, 0.75)
    return f"write {near}" if near else forms
