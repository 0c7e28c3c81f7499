"""LK-03: a bad text is never remembered, and a stale value says that it is.

synara PR 737.
"""

from __future__ import annotations

import pytest

from policyctl.runtime.reload import LastGood, StaleError


class Source:
    """A text and a clock that tests set."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.now = 1000.0

    def reader(self, max_stale: float | None = None) -> LastGood[int]:
        """Reads whole numbers."""
        return LastGood(
            lambda: self.text, int, max_stale=max_stale, now=lambda: self.now
        )


def test_good_then_bad_twice_then_good() -> None:
    """Both looks at the bad text give v1, stale, with the error; then v2 is fresh."""
    source = Source(b"1")
    reader = source.reader()
    first = reader.read()
    assert (first.value, first.stale, first.error, first.changed) == (
        1,
        False,
        None,
        True,
    )
    source.text = b"bad"
    for _ in range(2):
        found = reader.read()
        assert (found.value, found.stale) == (1, True)
        assert isinstance(found.error, ValueError)
    source.text = b"2"
    last = reader.read()
    assert (last.value, last.stale, last.error, last.age) == (2, False, None, 0.0)


def test_back_to_the_same_text() -> None:
    """After a bad text the old one again is fresh, and no change."""
    source = Source(b"1")
    reader = source.reader()
    reader.read()
    source.text = b"bad"
    reader.read()
    source.text = b"1"
    found = reader.read()
    assert (found.value, found.stale, found.changed) == (1, False, False)


def test_beyond_max_stale_is_an_error() -> None:
    """Not v1: an error with the age and what is wrong."""
    source = Source(b"1")
    reader = source.reader(max_stale=10.0)
    reader.read()
    source.text = b"bad"
    source.now += 10.0
    assert reader.read().age == 10.0
    source.now += 0.5
    with pytest.raises(StaleError, match="over max_stale of 10 s") as caught:
        reader.read()
    assert caught.value.age == 10.5
    assert isinstance(caught.value.error, ValueError)
    source.text = b"3"
    assert reader.read().value == 3


def test_a_clock_set_back() -> None:
    """The age is never negative."""
    source = Source(b"1")
    reader = source.reader(max_stale=10.0)
    reader.read()
    source.text = b"bad"
    source.now -= 500.0
    found = reader.read()
    assert (found.value, found.age) == (1, 0.0)


def test_never_any_good() -> None:
    """Without a value there is nothing to fall back to."""
    source = Source(b"bad")
    with pytest.raises(StaleError, match="there has never been a good value") as caught:
        source.reader().read()
    assert caught.value.age is None
