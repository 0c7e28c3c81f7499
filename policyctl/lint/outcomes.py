"""What the names in outcome lists mean: exceptions, portable conditions, statuses."""

from __future__ import annotations

import builtins
from functools import lru_cache

from policyctl.checks.statuses import StatusMatch, parse_status
from policyctl.resolve.policy import Backoff, Retry

NOT_SENT = frozenset(
    {
        "not_sent",
        "ConnectionRefusedError",
        "socket:gaierror",
        "httpx:ConnectError",
        "httpx:PoolTimeout",
        "requests:ConnectTimeout",
        "aiohttp:ClientConnectorError",
    }
)
"""Names that say the callee never saw the attempt."""

ANYTHING = frozenset({"Exception", "BaseException"})
"""Names that match every failure."""

PERMANENT_STATUSES: tuple[int | str, ...] = (
    *(400, 401, 403, 404, 405, 409, 410, 413, 422),
    *("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED"),
    *("UNAUTHENTICATED", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    "CANCELLED",
)
"""Statuses that a second try cannot change."""

PERMANENT_SQL = ("22", "23", "28", "42")
"""SQLSTATE classes of bad data, broken constraints, refused logins and bad SQL."""


ROLLED_BACK = frozenset({"40001", "40P01"})
"""SQLSTATEs of a serialization failure and a deadlock: the transaction was undone."""

_REFUSED_HTTP = frozenset({425, 429})
_REFUSED_GRPC = frozenset({"RESOURCE_EXHAUSTED"})


@lru_cache(maxsize=1024)
def covered(
    wanted: tuple[int | str, ...], listed: tuple[str, ...], never: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Which of the ``wanted`` statuses a status list matches and ``never`` does not.

    SQLSTATE entries of a permanent class are given as they are written, unless ``never``
    takes all that they match.
    """
    takes = [parse_status(status) for status in listed]
    leaves = [parse_status(status) for status in never]
    found = [
        str(status)
        for status in wanted
        if any(match.matches(status) for match in takes)
        and not any(match.matches(status) for match in leaves)
    ]
    found += [
        text
        for text, match in zip(listed, takes, strict=True)
        if match.kind == "sql"
        and match.text.startswith(PERMANENT_SQL)
        and not any(_takes_all(other, match) for other in leaves)
    ]
    return tuple(found)


def plain(name: str) -> str:
    """The name without ``builtins:``."""
    return name.removeprefix("builtins:")


def builtin(name: str) -> type[BaseException] | None:
    """The builtin exception called ``name``, or None."""
    found = getattr(builtins, plain(name), None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    return None


def matches_timeout(name: str) -> bool:
    """Whether an entry takes timeouts: the condition, or a class that covers them."""
    known = builtin(name)
    if known is not None:
        return issubclass(TimeoutError, known)
    return "timeout" in name.lower() and name not in NOT_SENT


def retries_timeouts(retry: Retry) -> bool:
    """Whether an attempt that ran into its timeout may be tried again.

    A predicate could say yes, so it counts as one that does.
    """
    if any(matches_timeout(name) for name in retry.never_retry_on):
        return False
    listed = any(matches_timeout(name) for name in retry.retry_on)
    return listed or retry.retry_if is not None


def repeats_possible_successes(retry: Retry, transport: str | None = None) -> list[str]:
    """Entries of ``retry`` after which the callee may have done the work.

    A refused request (429, 425, RESOURCE_EXHAUSTED) was not processed, and what an SQL
    server rolled back was undone. What the ``never`` lists cover is not retried.
    """
    undone = ROLLED_BACK if transport == "sql" else frozenset[str]()
    found = [
        name
        for name in retry.retry_on
        if plain(name) not in NOT_SENT and not is_never(name, retry.never_retry_on)
    ]
    never = [parse_status(status) for status in retry.never_retry_on_status]
    found += [
        status
        for status in retry.retry_on_status
        if status not in undone and _may_be_processed(parse_status(status), never)
    ]
    predicates = (
        ("retry_if", retry.retry_if),
        ("retry_if_result", retry.retry_if_result),
    )
    found += [key for key, predicate in predicates if predicate is not None]
    return found


def is_never(name: str, never: tuple[str, ...]) -> bool:
    """Whether an entry, or a builtin class that it is derived from, is never retried."""
    known = builtin(name)
    above = tuple(found for item in never if (found := builtin(item)) is not None)
    return name in never or (known is not None and issubclass(known, above))


def _may_be_processed(status: StatusMatch, never: list[StatusMatch]) -> bool:
    """Whether an entry leaves a status that is retried and no refusal."""
    if status.kind == "http":
        return any(
            not any(match.matches(code) for match in never)
            for code in range(status.low, status.high + 1)
            if code not in _REFUSED_HTTP
        )
    if status.text in _REFUSED_GRPC:
        return False
    return not any(_takes_all(match, status) for match in never)


def _takes_all(match: StatusMatch, status: StatusMatch) -> bool:
    """Whether a name or SQLSTATE entry covers all that another one matches."""
    return match.matches(status.text) and (match.prefix or not status.prefix)


def has_jitter(backoff: Backoff) -> bool:
    """Whether delays differ between clients."""
    jitter = backoff.jitter
    return jitter.kind != "none" and not (jitter.kind == "ratio" and jitter.ratio == 0)


def overlap(
    one: tuple[str, ...], other: tuple[str, ...], never: tuple[str, ...] = ()
) -> bool:
    """Whether two status lists share a status that ``never`` does not take out."""
    codes = tuple(
        int(code) for code in covered(tuple(range(100, 600)), one) if code.isdigit()
    )
    names = [status for status in one if parse_status(status).kind != "http"]
    if covered(codes, other, never):
        return True
    return bool(set(names) & set(other) - set(never))
