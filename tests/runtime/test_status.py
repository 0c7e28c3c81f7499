"""Statuses of outcomes, and lists of them."""

from __future__ import annotations

import enum
import http
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.checks.statuses import GRPC_CODES, parse_status
from policyctl.runtime.status import StatusMatcher, sqlstate_of, status_of


class GrpcCode(enum.Enum):
    """As in grpc: the value is a tuple, the name is the status."""

    UNAVAILABLE = (14, "unavailable")


def broken(*_: object) -> Any:
    """A property or method that fails."""
    raise RuntimeError("not read yet")


BROKEN: Any = type("Broken", (), {"status_code": property(broken), "status": 503})()


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (SimpleNamespace(status_code=503), 503),
        (SimpleNamespace(status_code=http.HTTPStatus.BAD_GATEWAY), 502),
        (SimpleNamespace(status=429), 429),
        (SimpleNamespace(code=404), 404),
        (SimpleNamespace(code=lambda: GrpcCode.UNAVAILABLE), "UNAVAILABLE"),
        (SimpleNamespace(code="429"), 429),
        (SimpleNamespace(code="unavailable"), "UNAVAILABLE"),
        (SimpleNamespace(code="insufficient_quota", status_code=429), 429),
        (SimpleNamespace(status="active", code=500), 500),
        (SimpleNamespace(status="active"), "ACTIVE"),
        (SimpleNamespace(response=SimpleNamespace(status_code=503)), 503),
        (SimpleNamespace(response=None, status=None), None),
        (SimpleNamespace(status_code=True), None),
        (SimpleNamespace(status_code=5.5), None),
        (SimpleNamespace(status_code=""), None),
        (SimpleNamespace(sqlstate="40001"), "40001"),
        (SimpleNamespace(pgcode="08p01"), "08P01"),
        (SimpleNamespace(orig=SimpleNamespace(sqlstate="40P01")), "40P01"),
        (SimpleNamespace(code="e3q8", orig=SimpleNamespace(pgcode="40001")), "40001"),
        (
            SimpleNamespace(response={"ResponseMetadata": {"HTTPStatusCode": 503}}),
            503,
        ),
        (SimpleNamespace(response={"Error": {}}), None),
        (BROKEN, 503),
        (ValueError("x"), None),
        (httpx.Response(418), 418),
        ({"status_code": 500}, None),
        ("503", None),
        (503, None),
        (None, None),
    ],
)
def test_where_a_status_is_found(outcome: object, status: int | str | None) -> None:
    """The documented places in their order; what fails to answer is passed over."""
    assert status_of(outcome) == status


def test_only_a_method_called_code_is_called() -> None:
    """A result's own methods may do anything, so they are left alone."""
    called: list[str] = []

    class Container:
        def status(self) -> int:
            called.append("status")
            return 500

        async def code(self) -> int:
            called.append("code")
            return 500

    assert status_of(Container()) is None
    assert called == []


def test_a_status_error_of_httpx_carries_its_response() -> None:
    """raise_for_status() errors are matched by response.status_code."""
    response = httpx.Response(503, request=httpx.Request("GET", "http://a"))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        response.raise_for_status()
    assert status_of(caught.value) == 503


def test_an_sqlstate_has_five_characters() -> None:
    """Other texts under the same attribute are none."""
    assert sqlstate_of(SimpleNamespace(sqlstate="HY")) is None
    assert sqlstate_of(SimpleNamespace(sqlstate=None, pgcode="57p01")) == "57P01"


@pytest.mark.parametrize(
    ("patterns", "inside", "outside"),
    [
        (["429"], [429], [428, 430, "429x", None]),
        (["502-504"], [502, 503, 504], [501, 505]),
        (["UNAVAILABLE"], ["UNAVAILABLE"], ["INTERNAL", 14, None]),
        (["40001"], ["40001"], ["40002", 400, "4000"]),
        (["08*"], ["08006", "08P01"], ["40001", "80800"]),
        (["429", "08*", "ABORTED"], [429, "08000", "ABORTED"], [500, "OK"]),
        ([], [], [200, "OK", None]),
    ],
)
def test_lists_match(
    patterns: list[str], inside: list[object], outside: list[object]
) -> None:
    """Codes, ranges, gRPC names, SQLSTATE codes and classes."""
    matcher = StatusMatcher(patterns)
    assert bool(matcher) == bool(patterns)
    assert [status for status in inside if status not in matcher] == []
    assert [status for status in outside if status in matcher] == []


@given(
    st.lists(
        st.integers(100, 599).map(str)
        | st.tuples(st.integers(100, 599), st.integers(0, 99)).map(
            lambda pair: f"{pair[0]}-{min(599, sum(pair))}"
        )
        | st.sampled_from(sorted(GRPC_CODES))
        | st.from_regex(r"[0-9][0-9A-Z]{4}", fullmatch=True).filter(
            lambda text: not text.isdigit() or len(text) == 5
        )
        | st.from_regex(r"[0-9A-Z]{2,4}\*", fullmatch=True),
        max_size=4,
    ),
    st.integers(0, 999)
    | st.sampled_from(sorted(GRPC_CODES))
    | st.from_regex(r"[0-9][0-9A-Z]{4}", fullmatch=True),
)
def test_runtime_and_model_read_lists_alike(
    patterns: list[str], status: int | str
) -> None:
    """What validation accepted means the same when calls are classified."""
    expected = any(parse_status(pattern).matches(status) for pattern in patterns)
    assert (status in StatusMatcher(patterns)) == expected
