"""Argument names against the parameters of a target that is read, never imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.project import Loaded

Load = Callable[..., Loaded]
Only = Callable[..., Diagnostic]

CLIENT = """
raise SystemExit("imported")


class Client:
    async def book(self, hotel_id: str, checkin: str, *, timeout: float = 1.0) -> None: ...

    def plain(self, hotel_id: str) -> None: ...

    def anything(self, **names: object) -> None: ...

    def nothing(self) -> None: ...


def book(hotel_id: str, order: object) -> None: ...
"""


@pytest.fixture(autouse=True)
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a module that must never be imported."""
    (tmp_path / "booking_client.py").write_text(CLIENT)
    monkeypatch.syspath_prepend(tmp_path)


TARGET = "target: booking_client:Client.book"


@pytest.mark.parametrize(
    ("settings", "here", "message", "help_text"),
    [
        (
            "idempotency: {key: [hotel_id, chekin]}",
            "chekin",
            "booking_client:Client.book has no parameter 'chekin'",
            "did you mean checkin?",
        ),
        (
            "idempotency: {key: [zzz.id]}",
            "zzz.id",
            "booking_client:Client.book has no parameter 'zzz'",
            "its parameters are hotel_id, checkin, timeout",
        ),
        (
            "idempotency: {key: [hotel_id], forward: {argument: key}}",
            "key}",
            "booking_client:Client.book has no parameter 'key'",
            "its parameters are hotel_id, checkin, timeout",
        ),
        (
            "circuit_breaker: {scope: 'argument:tenant'}",
            "'argument:tenant'",
            "booking_client:Client.book has no parameter 'tenant'",
            "its parameters are hotel_id, checkin, timeout",
        ),
        (
            "bulkhead: {max_concurrent: 3, scope: 'argument:hotel'}",
            "'argument:hotel'",
            "booking_client:Client.book has no parameter 'hotel'",
            "did you mean hotel_id?",
        ),
        (
            "attempt_timeout: {total: 1s, argument: time_out}",
            "time_out",
            "booking_client:Client.book has no parameter 'time_out'",
            "did you mean timeout?",
        ),
    ],
)
def test_an_unknown_parameter(
    only: Only, settings: str, here: str, message: str, help_text: str
) -> None:
    """The name is pointed at, the target is the second place, the nearest is named."""
    found = only(f"{TARGET}\n{settings}")
    assert (found.code, found.message, found.help) == ("VA118", message, help_text)
    line = f"    {settings}"
    assert found.span.line == 7
    assert line[found.span.column - 1 :].startswith(here)
    assert [(r.span.line, r.span.column) for r in found.related] == [(6, 13)]


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("booking_client:Client.book", "idempotency: {key: [hotel_id, checkin.day]}"),
        ("booking_client:book", "idempotency: {key: [order.id]}"),
        ("booking_client:Client.anything", "idempotency: {key: [whatever]}"),
        ("not_installed.client:Client.book", "idempotency: {key: [whatever]}"),
        ("booking_client:Client.book", "idempotency: {key: {call: 'a.b:c'}}"),
    ],
)
def test_what_the_target_takes_or_may_take_is_fine(
    load: Load, target: str, settings: str
) -> None:
    """Paths below a parameter, open signatures and unknown packages pass."""
    loaded = load(
        f"service: s\noperations:\n  op:\n    target: {target}\n    {settings}"
    )
    assert loaded.diagnostics == ()


def test_a_method_of_the_services_class_is_the_operations_target(load: Load) -> None:
    """An operation without a target is the method of its name in the class."""
    loaded = load("""
        service: s
        target: booking_client:Client
        operations:
          book: {idempotency: {key: [hotel]}}
          other: {idempotency: {key: [hotel]}}
    """)
    [found, other] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA118", "0.yaml:5:30")
    assert found.message == "booking_client:Client.book has no parameter 'hotel'"
    assert (other.code, str(other.span)) == ("VA136", "0.yaml:6:3")
    assert other.message == "booking_client:Client has no method 'other'"
    assert other.help == "write target: off for an operation that is no method of it"


def test_a_method_that_is_gone(load: Load, tmp_path: Path) -> None:
    """The nearest name is told; an operation that is off its class is no method."""
    loaded = load("""
        service: s
        target: booking_client:Client
        operations:
          boook: {}
          local: {target: off}
          elsewhere: {target: "booking_client:book"}
    """)
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA136", "0.yaml:5:3")
    assert found.help == "did you mean book?"


def test_a_method_in_another_case(load: Load, tmp_path: Path) -> None:
    """The help is the line that guards it, since an operation cannot have its name."""
    (tmp_path / "camel_client.py").write_text(
        "class Client:\n    def createCharge(self): ...\n"
    )
    loaded = load("""
        service: s
        target: camel_client:Client
        operations:
          create_charge: {}
    """)
    [found] = loaded.diagnostics
    assert (found.code, str(found.span)) == ("VA136", "0.yaml:5:3")
    assert found.help == "write target: camel_client:Client.createCharge"


@pytest.mark.parametrize(
    "more",
    [
        "class Client(Unknown):\n    pass\n",
        "class Client:\n    def __getattr__(self, name): ...\n",
        "from elsewhere import Client\n",
    ],
)
def test_a_class_whose_methods_cannot_be_told(
    load: Load, more: str, tmp_path: Path
) -> None:
    """Nothing is said of methods that may be made elsewhere or at run time."""
    (tmp_path / "booking_client.py").write_text(more)
    text = "service: s\ntarget: booking_client:Client\noperations: {missing: {}}\n"
    assert load(text).diagnostics == ()


def test_stubs_are_read_before_source(only: Only, tmp_path: Path) -> None:
    """A stub beside the source, as type checkers have it, tells the parameters."""
    (tmp_path / "booking_client.pyi").write_text(
        "def book(hotel: str, *, night: int = ...) -> None: ...\n"
    )
    found = only("target: booking_client:book\nidempotency: {key: [hotel_id]}")
    assert (found.code, found.help) == ("VA118", "did you mean hotel?")


def test_a_target_without_parameters(only: Only) -> None:
    """There is nothing to suggest."""
    found = only("target: booking_client:Client.nothing\nidempotency: {key: [a]}")
    assert found.help == "it takes none"


def test_only_async_functions_are_hedged(only: Only, load: Load) -> None:
    """A plain function cannot be hedged, an async one can."""
    found = only(
        "target: booking_client:Client.plain\nidempotent: true\nhedge: {delay: 1s}"
    )
    assert (found.code, found.message) == (
        "VA129",
        "hedge is for async functions, but booking_client:Client.plain is a plain one",
    )
    assert len(found.related) == 1
    loaded = load(
        f"service: s\noperations: {{op: {{{TARGET}, idempotent: true, hedge: {{delay: 1s}}}}}}"
    )
    assert loaded.diagnostics == ()
