"""Status matches: what is accepted, how it is written, what it covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.checks.statuses import (
    GRPC_CODES,
    StatusMatch,
    canonical_status,
    parse_status,
)
from policyctl.units import UnitError


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (429, "429"),
        ("429", "429"),
        ("502-504", "502-504"),
        ("500-500", "500"),
        ("UNAVAILABLE", "UNAVAILABLE"),
        ("40001", "40001"),
        ("08*", "08*"),
        ("HV00*", "HV00*"),
        ("57P01", "57P01"),
    ],
)
def test_each_form_has_one_canonical_text(value: str | int, canonical: str) -> None:
    """Two ways to write one match give one text, which stays as it is."""
    assert canonical_status(value) == canonical
    assert canonical_status(canonical) == canonical


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("504-502", "`504-502` is upside down", 'write "502-504"'),
        (99, "`99` is not an HTTP status", "HTTP codes are 100 to 599"),
        (
            14,
            "`14` is not an HTTP status",
            "HTTP codes are 100 to 599; for gRPC write the name UNAVAILABLE",
        ),
        (
            40001,
            "`40001` is not an HTTP status",
            'HTTP codes are 100 to 599; quote an SQLSTATE: "40001"',
        ),
        (
            8006,
            "`8006` is not an HTTP status",
            'HTTP codes are 100 to 599; quote an SQLSTATE: "08006"',
        ),
        (
            "500-600",
            "`500-600` is not an HTTP status",
            "HTTP codes are 100 to 599",
        ),
        (-5, "`-5` is not an HTTP status", "HTTP codes are 100 to 599"),
        ("5xx", "`5xx` is not a status", 'write "500-599"'),
        ("502 - 504", "`502 - 504` has a space in it", 'write "502-504"'),
        (
            "502,503",
            "`502,503` is not one status",
            "write each status as its own list item",
        ),
        ("unavailable", "`unavailable` is not a status", "write UNAVAILABLE"),
        (
            "deadline-exceeded",
            "`deadline-exceeded` is not a status",
            "write DEADLINE_EXCEEDED",
        ),
        (
            "UNAVAILIBLE",
            "`UNAVAILIBLE` is not a status",
            "write UNAVAILABLE",
        ),
        (
            "",
            "`` is not a status",
            'write for example 429, "502-504", UNAVAILABLE, "40001" or "08*"',
        ),
    ],
)
def test_a_wrong_status_is_told_its_right_form(
    value: str | int, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_status(value)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@given(st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    """Any text is a match with a stable canonical form, or one clear error."""
    try:
        canonical = canonical_status(text)
    except UnitError:
        return
    assert canonical_status(canonical) == canonical


def test_a_match_covers_its_range_and_nothing_else() -> None:
    """Bounds are included, kinds do not mix."""
    match = parse_status("502-504")
    assert [s for s in range(490, 520) if match.matches(s)] == [502, 503, 504]
    assert not match.matches("UNAVAILABLE")
    assert parse_status("UNAVAILABLE").matches("UNAVAILABLE")
    assert not parse_status("UNAVAILABLE").matches(503)


def test_a_class_of_sqlstates_covers_what_begins_so() -> None:
    """``08*`` covers connection errors of every kind; a full code covers itself."""
    assert parse_status("08*") == StatusMatch("sql", "08", prefix=True)
    assert parse_status("08*").matches("08006")
    assert not parse_status("08*").matches("40001")
    assert parse_status("40001").matches("40001")
    assert not parse_status("40001").matches("40P01")


def test_the_grpc_codes_are_the_seventeen_of_its_core() -> None:
    """Names and numbers are those of the gRPC documentation."""
    assert len(GRPC_CODES) == 17
    assert GRPC_CODES["OK"] == 0
    assert GRPC_CODES["DEADLINE_EXCEEDED"] == 4
    assert GRPC_CODES["UNAVAILABLE"] == 14
    assert GRPC_CODES["UNAUTHENTICATED"] == 16
