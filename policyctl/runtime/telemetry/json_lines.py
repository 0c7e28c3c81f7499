"""Log records as JSON, one object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from policyctl.runtime.telemetry.plain import plain, text

_STANDARD = frozenset(
    {
        *logging.LogRecord("", 0, "", 0, "", (), None).__dict__,
        *("message", "asctime", "taskName", "policyctl"),
    }
)


class JsonFormatter(logging.Formatter):
    """Formats any record as one line of JSON; what is in the record cannot make it fail.

    Keys: ``time`` (UTC, ISO 8601), ``level``, ``logger``, ``message``, ``policyctl``
    with the fields of an event, ``extra`` with fields that the application gave,
    ``exception`` with a traceback, and ``stack`` where the call asked for it. Fields are
    nested, so they clash with nothing.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        data: dict[str, Any] = {
            "time": _time(record.created),
            "level": text(record.levelname),
            "logger": text(record.name),
            "message": _message(record),
        }
        fields = record.__dict__.get("policyctl")
        if fields is not None:
            data["policyctl"] = plain(fields)
        extra = {k: v for k, v in record.__dict__.items() if k not in _STANDARD}
        if extra:
            data["extra"] = plain(extra)
        exception = self._exception(record)
        if exception:
            data["exception"] = exception
        if record.stack_info:
            data["stack"] = str(record.stack_info)
        return json.dumps(data)

    def _exception(self, record: logging.LogRecord) -> str | None:
        if not record.exc_info:
            return record.exc_text
        try:
            return self.formatException(record.exc_info)
        except Exception:
            return text(record.exc_info)


def _time(created: float) -> str:
    moment = datetime.fromtimestamp(created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:
        return text(record.msg)
