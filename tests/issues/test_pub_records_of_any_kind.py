"""Records that break formatters: json-log-formatter #41, logging_json #17, dockerflow #46.

Values that JSON cannot hold, exception information that is no triple, and a stack that
was asked for and never shown.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from policyctl.runtime.telemetry.json_lines import JsonFormatter


def formatted(**attributes: Any) -> dict[str, Any]:
    """The line for a record with these attributes, as JSON reads it."""
    record = logging.LogRecord("app", logging.INFO, "app.py", 1, "hello", (), None)
    record.__dict__.update(attributes)
    found: dict[str, Any] = json.loads(JsonFormatter().format(record))
    return found


def circular() -> dict[str, Any]:
    """A dictionary that holds itself."""
    found: dict[str, Any] = {}
    found["self"] = found
    return found


@pytest.mark.parametrize(
    "value",
    [10**5000, -(10**5000), float("nan"), circular(), "\ud800", b"\xff", {1}, object()],
    ids=["huge", "negative", "nan", "circular", "surrogate", "bytes", "set", "object"],
)
def test_any_extra_value_makes_a_line(value: Any) -> None:
    """The message is there, and the field has some text or number."""
    line = formatted(odd=value)
    assert line["message"] == "hello"
    assert "odd" in line["extra"]


def test_integers_of_everyday_size_stay_numbers() -> None:
    """Up to far more than any counter."""
    assert formatted(size=2**64)["extra"] == {"size": 2**64}


@pytest.mark.parametrize(
    "given", [True, (None, None, None), ValueError("x"), 5, ("only",), False]
)
def test_any_exception_information_makes_a_line(given: Any) -> None:
    """A formatter cannot choose what ``exc_info`` it gets."""
    assert formatted(exc_info=given)["message"] == "hello"


def test_a_stack_that_was_asked_for_is_shown() -> None:
    """``stack_info=True`` comes out under ``stack``."""
    assert formatted(stack_info="Stack (most recent call last):\n  here")[
        "stack"
    ].endswith("here")
