"""What the names in outcome lists mean: exceptions, portable conditions, statuses."""

from __future__ import annotations

import builtins
from functools import lru_cache

from policyctl.checks.statuses import parse_status
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


@lru_cache(maxsize=1024)
def covered(
    wanted: tuple[int | str, ...], listed: tuple[str, ...], never: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Which of the ``wanted`` statuses a status list matches and ``never`` does not.

    SQLSTATE entries of a permanent class are given as they are written.
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
        if match.kind == "sql" and match.text.startswith(PERMANENT_SQL)
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


def repeats_possible_successes(retry: Retry) -> list[str]:
    """Entries of ``retry`` after which the callee may have done the work.

    A refused request (429, 425, RESOURCE_EXHAUSTED) was not processed.
    """
    refused = {"429", "425", "RESOURCE_EXHAUSTED"}
    never = set(retry.never_retry_on)
    found = [
        name
        for name in retry.retry_on
        if plain(name) not in NOT_SENT and name not in never
    ]
    found += [
        status
        for status in retry.retry_on_status
        if status not in refused and status not in retry.never_retry_on_status
    ]
    predicates = (
        ("retry_if", retry.retry_if),
        ("retry_if_result", retry.retry_if_result),
    )
    found += [key for key, predicate in predicates if predicate is not None]
    return found


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
