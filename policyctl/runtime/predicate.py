"""Predicates of the application, asked so that a bug in them costs no call."""

from __future__ import annotations

from policyctl.runtime.lazy import LazyCallable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.settings import Predicate

_MOST_REPORTS = 100
_reported: set[str] = set()


def predicate(name: Predicate | None, path: str) -> LazyCallable | None:
    """The predicate that a setting names, imported on first use; None if it is unset."""
    return None if name is None else LazyCallable(name, path)


def holds(predicate: LazyCallable | None, value: object) -> bool:
    """Whether a predicate accepts ``value``; one that raises says no.

    The first failure of each predicate is logged with its traceback.
    """
    if predicate is None:
        return False
    try:
        return bool(predicate(value))
    except Exception as error:
        _report(repr(predicate), error)
        return False


def _report(name: str, error: Exception) -> None:
    if name in _reported or len(_reported) >= _MOST_REPORTS:
        return
    _reported.add(name)
    import logging

    logging.getLogger("policyctl").error(
        "%s failed and counts as False: %s: %s",
        name,
        type(error).__name__,
        error,
        exc_info=error,
    )
