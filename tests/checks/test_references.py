"""Names of exceptions, callables, arguments and operations."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.checks.references import (
    nearest,
    nearest_method,
    parse_argument,
    parse_argument_path,
    parse_exception,
    parse_operation,
    parse_reference,
)
from policyctl.units import UnitError


@pytest.mark.parametrize(
    "text",
    [
        "ValueError",
        "Exception",
        "OSError",
        "IOError",
        "ExceptionGroup",
        "httpx:ReadTimeout",
        "pkg.sub:Outer.Inner",
        "not_sent",
        "connection_lost",
        "timeout",
    ],
)
def test_exceptions_are_builtins_references_or_conditions(text: str) -> None:
    """All three ways to name an exception are accepted as they stand."""
    assert parse_exception(text) == text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "ValueErro",
            "`ValueErro` is not a builtin exception",
            "did you mean ValueError?",
        ),
        ("time_out", "`time_out` is not a builtin exception", "did you mean timeout?"),
        (
            "int",
            "`int` is a builtin but not an exception",
            "name an exception, for example ValueError",
        ),
        (
            "httpx.ReadTimeout",
            "`httpx.ReadTimeout` is not an exception",
            "write module and name with a colon: httpx:ReadTimeout",
        ),
        (
            "KeyboardInterrupt",
            "`KeyboardInterrupt` is never handled by a policy: it always passes through",
            "name Exception or one of its subclasses",
        ),
        (
            "BaseException",
            "`BaseException` is never handled by a policy: it always passes through",
            "name Exception or one of its subclasses",
        ),
        (
            "circuit_open",
            (
                "`circuit_open` is a rejection by this policy, "
                "which is never retried or recorded"
            ),
            "remove it; only fallback_on may name it",
        ),
        (
            "Zqx",
            "`Zqx` is not a builtin exception",
            (
                "write package.module:Zqx for one of a library, "
                "or one of not_sent, connection_lost, timeout"
            ),
        ),
        (
            "a:b:c",
            "`a:b:c` is not an exception",
            "write package.module:name, for example my_app.rules:transient",
        ),
    ],
)
def test_a_wrong_exception_is_told_its_right_form(
    text: str, message: str, hint: str
) -> None:
    """The error names the value and what to write instead."""
    with pytest.raises(UnitError) as caught:
        parse_exception(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    "text", ["circuit_open", "bulkhead_full", "rate_limited", "budget_exhausted"]
)
def test_fallbacks_may_name_rejections(text: str) -> None:
    """Rejections are accepted where they are asked for, and only there."""
    assert parse_exception(text, rejections=True) == text
    with pytest.raises(UnitError):
        parse_exception(text)


def test_a_reference_is_module_and_name() -> None:
    """The colon divides the module from the name inside it."""
    assert parse_reference("my_app.rules:transient") == ("my_app.rules", "transient")
    assert parse_reference("m:Class.method") == ("m", "Class.method")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "my_app.rules.transient",
            "write module and name with a colon: my_app.rules:transient",
        ),
        (
            "my_app.rules.transient()",
            "write module and name with a colon: my_app.rules:transient",
        ),
        ("f", "write package.module:name, for example my_app.rules:transient"),
        (
            "os:system('x')",
            "write package.module:name, for example my_app.rules:transient",
        ),
        ("class.x:y", "write package.module:name"),
        ("a:" + "b" * 400, "write package.module:name"),
        ("ａ:ｂ", "write package.module:name"),
    ],
)
def test_other_texts_are_no_references(text: str, hint: str) -> None:
    """Only identifiers, dots and one colon make a reference; keywords never do."""
    with pytest.raises(UnitError) as caught:
        parse_reference(text)
    assert caught.value.hint.startswith(hint.split(":")[0])


def test_arguments_are_paths() -> None:
    """Scope arguments carry a prefix, key arguments do not."""
    assert parse_argument("argument:order.id") == ("order", "id")
    assert parse_argument_path("order.id") == ("order", "id")
    with pytest.raises(UnitError, match=r"write order\.id"):
        parse_argument_path("argument:order.id")
    for text in ("tenant", "argument:", "argument:a b", "argument:1", "argument:a..b"):
        with pytest.raises(UnitError):
            parse_argument(text)


def test_operations_have_a_service_and_a_name() -> None:
    """Exactly two identifiers with a dot between name an operation."""
    assert parse_operation("ledger_api.post_entry") == ("ledger_api", "post_entry")
    for text in ("post_entry", "a.b.c", "a.", ".b", "a b.c", "a-b.c", ""):
        with pytest.raises(UnitError, match="does not name an operation"):
            parse_operation(text)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_attemps", "max_attempts"),
        ("MaxAttempts", "max_attempts"),
        ("zzz", None),
        ("x" * 1000, None),
    ],
)
def test_the_nearest_name_is_found(name: str, near: str | None) -> None:
    """Case is no difference; what is far, or absurdly long, has no neighbour."""
    assert nearest(name, ["max_attempts", "backoff"]) == near


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("create_charge", "write target: sdk:Client.createCharge"),
        ("say_hello", "write target: sdk:Client.SayHello"),
        (
            "create_charg",
            "did you mean createCharge? then write target: sdk:Client.createCharge",
        ),
        ("get_al", "did you mean get_all?"),
        ("unlike_any", None),
    ],
)
def test_the_nearest_method_is_named(name: str, expected: str | None) -> None:
    """A method in another case needs a target, since operations are in snake case."""
    methods = ["charge", "createCharge", "get_all", "SayHello"]
    assert nearest_method("sdk:Client", name, methods) == expected


@given(st.text(max_size=80))
def test_no_text_breaks_the_parsers(text: str) -> None:
    """Any text is accepted, or refused as a value."""
    for parse in (parse_exception, parse_reference, parse_argument, parse_operation):
        with suppress(UnitError):
            parse(text)
