"""YA-03: texts that YAML 1.1 reads as numbers are never silently numbers.

https://github.com/yaml/pyyaml/issues/395, https://github.com/yaml/pyyaml/issues/272
and https://github.com/nickel-lang/nickel/issues/1368
"""

from __future__ import annotations

import pytest

from policyctl.model.validate import Parsed, parse_document
from policyctl.source.reader import read


def parse(settings: str) -> Parsed:
    """Validate the settings of one operation."""
    text = f"version: 1\nservice: pay\noperations: {{a: {settings}}}\n"
    (document,) = read(text.encode(), "f.yaml").documents
    return parse_document(document)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{attempt_timeout: 1:30}", "`1:30` is a clock time, not a duration"),
        ("{attempt_timeout: '1:30'}", "`1:30` is a clock time, not a duration"),
        ("{budget: 22:22}", "`22:22` is a clock time, not a duration"),
        (
            "{circuit_breaker: {window: 10:00}}",
            "`10:00` is a clock time, not a duration",
        ),
        ("{bulkhead: {max_concurrent: 1_000}}", "`1_000` is text, not a whole number"),
        ("{bulkhead: {max_concurrent: 010}}", "`010` is text, not a whole number"),
        ("{bulkhead: {max_concurrent: 0o10}}", "`0o10` is not a whole number"),
        ("{bulkhead: {max_concurrent: 0b11}}", "`0b11` is not a whole number"),
        ("{bulkhead: {max_concurrent: 1:30}}", "`1:30` is not a whole number"),
        ("{retry: {max_attempts: 2024-01-01}}", "`2024-01-01` is not a whole number"),
        ("{retry: {backoff: {multiplier: 1:30}}}", "`1:30` is not a number"),
        ("{retry: {retry_on_status: [1:30]}}", "`1:30` is not a status"),
    ],
)
def test_sexagesimal_and_dates_are_refused(settings: str, message: str) -> None:
    """Each is a clear error with the text that was written."""
    (finding,) = parse(settings).diagnostics
    assert finding.message == message


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("010", "write 10"),
        ("1_000", "write 1000"),
        ("0o10", "write a whole number"),
        ("'10'", "write 10 without quotes"),
    ],
)
def test_the_hint_is_a_number_that_is_accepted(written: str, hint: str) -> None:
    """What a text looks like is not guessed; the plain number is asked for."""
    (finding,) = parse(f"{{bulkhead: {{max_concurrent: {written}}}}}").diagnostics
    assert finding.help == hint


def test_dates_stay_texts() -> None:
    """A date is a text that the keys for dates understand."""
    text = (
        "version: 1\nservice: pay\noperations: {}\nfacts: {as_of: 2026-11-01}\n"
        "ignore: [{rule: RT001, reason: x, until: 2026-12-31}]\n"
    )
    (document,) = read(text.encode(), "f.yaml").documents
    parsed = parse_document(document)
    assert parsed.model is not None
    assert parsed.model.model_dump(exclude_unset=True)["facts"]["as_of"] == "2026-11-01"
