"""Subtracting status lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policyctl.resolve.statuses import parse, without

STATUS = st.one_of(
    st.integers(400, 430).map(str),
    st.tuples(st.integers(400, 430), st.integers(0, 10)).map(
        lambda pair: f"{pair[0]}-{pair[0] + pair[1]}"
    ),
)
LISTS = st.lists(STATUS, max_size=4).map(tuple)


def numbers(statuses: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for status in statuses:
        span = parse(status)
        assert span is not None
        found.update(range(span[0], span[1] + 1))
    return found


@given(LISTS, LISTS)
def test_the_rest_covers_exactly_the_difference(
    statuses: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    """What is left matches the same numbers as a difference of sets."""
    assert numbers(without(statuses, removed)) == numbers(statuses) - numbers(removed)


def test_ranges_are_cut_at_both_ends() -> None:
    """A hole in the middle of a range leaves two ranges."""
    assert without(("400-499",), ("408", "429")) == ("400-407", "409-428", "430-499")
    assert without(("408", "429", "500-599"), ("429",)) == ("408", "500-599")
    assert without(("408",), ("400-499",)) == ()


def test_names_and_sqlstates_are_left_alone() -> None:
    """Only HTTP numbers are ranges."""
    assert without(("UNAVAILABLE", "40001", "08*"), ("400-499",)) == (
        "UNAVAILABLE",
        "40001",
        "08*",
    )
    assert parse("40001") is None
