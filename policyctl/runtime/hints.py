"""What a server says about when to come back (C17).

``Retry-After`` is RFC 9110, section 10.2.3: seconds or an HTTP date. gRPC servers send
``grpc-retry-pushback-ms`` (gRFC A6) in the trailing metadata, where a value below zero
or one that is no number asks for no retry at all.
"""

from __future__ import annotations

import time
from math import inf

from policyctl.runtime.signatures import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 2_592_000.0
"""Longer hints (30 days) are cut to this, so that no sum of them overflows."""

_LONGEST_TEXT = 64


def retry_hint(outcome: object) -> float | None:
    """Seconds that an exception or a result asks to wait; infinity for no retry.

    None where nothing is asked for.

    Looked for in ``Retry-After`` among the headers of the outcome or its ``response``,
    in a number called ``retry_after``, and in gRPC's pushback.
    """
    for holder in (outcome, _attribute(outcome, "response")):
        hint = _from_headers(_headers_of(holder))
        if hint is not None:
            return hint
    given = _attribute(outcome, "retry_after")
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return min(float(given), LONGEST) if given >= 0 else None
    return _from_metadata(_attribute(outcome, "trailing_metadata"))


def parse_retry_after(text: object, sent: object = None) -> float | None:
    """Seconds of a ``Retry-After`` header; None if it is not one.

    Args:
        text: the header's value.
        sent: the ``Date`` header, which a date is measured from if it is there.
    """
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return None
    text = text.strip()
    whole, _, part = text.partition(".")
    if _is_digits(whole) and (_is_digits(part) or text == whole):
        return min(float(text), LONGEST)
    when = _instant(text)
    if when is None:
        return None
    base = _instant(sent) if isinstance(sent, str) else None
    return min(max(0.0, when - (time.time() if base is None else base)), LONGEST)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _instant(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date."""
    if not text[:3].isalpha() or ("," not in text and text.count(":") != 2):
        return None
    from email.utils import parsedate_tz

    try:
        parsed = parsedate_tz(text)
        if parsed is None:
            return None
        from calendar import timegm

        return float(timegm((*parsed[:6], 0, 0, 0))) - (parsed[9] or 0)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _headers_of(holder: Any) -> Any:
    """Headers, which botocore has in a dictionary instead of an attribute."""
    if kind_of(holder) is not dict:
        return _attribute(holder, "headers")
    try:
        return holder["ResponseMetadata"]["HTTPHeaders"]
    except Exception:
        return None


def _from_headers(headers: Any) -> float | None:
    if headers is None:
        return None
    try:
        value = _header(headers, "retry-after")
        if value is None:
            return None
        return parse_retry_after(_text(value), _text(_header(headers, "date")))
    except Exception:
        return None


def _header(headers: Any, name: str) -> Any:
    """The first value of a header, however its client spells and holds them."""
    kind = kind_of(headers)
    pairs: Any = headers if issubclass(kind, (list, tuple)) else ()
    get = _attribute(headers, "get")
    if get is not None:
        for spelling in (name.title(), name):
            value = get(spelling)
            if value is not None:
                return value
        if issubclass(kind, dict):
            pairs = headers.items()
    for key, value in pairs:
        if str(_text(key)).lower() == name:
            return value
    return None


def _text(value: Any) -> Any:
    """A header's value as text, where it is bytes, a number or alone in a list."""
    kind = kind_of(value)
    if issubclass(kind, (list, tuple)) and len(value) == 1:
        (value,) = value
        kind = kind_of(value)
    if kind is bytes:
        return value.decode("latin-1")
    return str(value) if kind in (int, float) else value


def _from_metadata(metadata: Any) -> float | None:
    try:
        pairs: Any = metadata() if metadata is not None else ()
        for key, value in pairs or ():
            if key == "grpc-retry-pushback-ms":
                text = _text(value)
                digits = _is_digits(text) and len(text) <= _LONGEST_TEXT
                return min(int(text) / 1000, LONGEST) if digits else inf
    except Exception:
        return None
    return None


def _attribute(holder: object, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:
        return None
