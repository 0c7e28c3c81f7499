"""C17: what a server says about when to come back."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.runtime import settings
from policyctl.runtime.budget import budget
from policyctl.runtime.hints import LONGEST, parse_retry_after, retry_hint
from policyctl.runtime.policy import Policy
from policyctl.testing import fake_clock


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 3 ", 3.0),
        ("1.5", 1.5),
        ("9999999999", LONGEST),
        ("1893456000", LONGEST),
        ("-5", None),
        ("1e400", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("1_0", None),
        ("0x10", None),
        ("٣", None),
        ("soon", None),
        ("5,", None),
        (".5", None),
        ("1" * 5000, None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        (None, None),
        (7, None),
    ],
)
def test_parse(text: Any, seconds: float | None) -> None:
    """RT-09: seconds or a date; anything else is ignored, nothing overflows."""
    assert parse_retry_after(text) == seconds


@pytest.mark.parametrize(
    "date",
    [
        "Sun, 06 Nov 1994 08:50:07 GMT",
        "Sunday, 06-Nov-94 08:50:07 GMT",
        "Sun Nov  6 08:50:07 1994",
    ],
)
def test_dates_are_measured_from_the_servers_clock(date: str) -> None:
    """All three forms of RFC 9110, against the Date header."""
    assert parse_retry_after(date, "Sun, 06 Nov 1994 08:49:37 GMT") == 30.0


def test_date_without_date_header_uses_our_clock() -> None:
    """A date ten years ahead is cut to the longest hint."""
    import time

    ahead = formatdate(time.time() + 10 * 365 * 86400, usegmt=True)
    assert parse_retry_after(ahead) == LONGEST


@given(st.text(max_size=40))
def test_any_text_is_none_or_in_bounds(text: str) -> None:
    """No header makes an exception or a negative or unbounded wait."""
    seconds = parse_retry_after(text)
    assert seconds is None or 0.0 <= seconds <= LONGEST


class Failure(ConnectionError):
    """An error with headers, as the HTTP clients have it."""

    def __init__(self, **headers: str) -> None:
        super().__init__("503")
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}


def test_hint_of_grpc() -> None:
    """gRFC A6: pushback in milliseconds in the trailing metadata."""

    class Rpc(Exception):
        def trailing_metadata(self) -> Any:
            """Pairs, as grpc gives them."""
            return (("grpc-retry-pushback-ms", "250"),)

    assert retry_hint(Rpc()) == 0.25
    assert retry_hint(ValueError()) is None


def _policy(longest: float | None) -> Policy:
    return Policy(
        retry=settings.Retry(
            max_attempts=2,
            backoff=settings.Backoff(initial=1.0, jitter="none"),
            retry_on=("ConnectionError",),
            retry_after=settings.RetryAfter(max=longest),
        )
    )


def _fail(**headers: str) -> None:
    raise Failure(**headers)


def test_hint_replaces_the_delay() -> None:
    """C17: 7 s instead of the computed 1 s; without a hint it is 1 s."""
    with fake_clock() as clock:
        for headers in ({"Retry_After": "7"}, {"retry_after": "6"}, {}):
            with pytest.raises(Failure):
                _policy(10.0).call(_fail, **headers)
    assert clock.slept == [7.0, 6.0, 1.0]


def test_hint_over_the_maximum_ends_the_call() -> None:
    """C17, RT-10: it never retries earlier than it was told; the note has the number."""
    with fake_clock() as clock, pytest.raises(Failure) as caught:
        _policy(10.0).call(_fail, Retry_After="3600")
    assert clock.slept == []
    assert "asks to wait 3600.000 s, over 10 s" in caught.value.__notes__[0]


def test_hint_over_the_budget_ends_the_call() -> None:
    """C17, RT-10: 3600 s does not fit in 5 s; both numbers are in the note."""
    with fake_clock() as clock, budget(5.0), pytest.raises(Failure) as caught:
        _policy(None).call(_fail, Retry_After="3600")
    assert clock.slept == []
    assert "5.000 s of the budget left" in caught.value.__notes__[0]
    assert "wait 3600.000 s" in caught.value.__notes__[0]
