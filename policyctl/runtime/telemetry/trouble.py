"""How telemetry says that it is in trouble itself: once each, and never by raising."""

from __future__ import annotations

_MOST = 256
_told: set[tuple[str, str]] = set()


def report(what: str, error: BaseException | None = None, level: str = "error") -> None:
    """Log ``what`` with ``error`` on the logger ``policyctl``, once for each pair."""
    kind = "" if error is None else f"{type(error).__module__}.{type(error).__name__}"
    if (what, kind) in _told or len(_told) >= _MOST:
        return
    _told.add((what, kind))
    tell(what, error, level)


def tell(what: str, error: BaseException | None = None, level: str = "error") -> None:
    """The same, every time."""
    try:
        import logging

        logger = logging.getLogger("policyctl")
        number: int = getattr(logging, level.upper())
        logger.log(number, "%s%s", what, _text(error), exc_info=error)
    except Exception:
        return  # the log is what is broken; there is nobody left to tell


def _text(error: BaseException | None) -> str:
    if error is None:
        return ""
    try:
        return f": {error!r}"
    except Exception:
        return f": {type(error).__name__}"


def forget() -> None:
    """Tell everything again, for tests."""
    _told.clear()
