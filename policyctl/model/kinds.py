"""Ready-made kinds of keys that several patterns share."""

from __future__ import annotations

import re
from typing import Annotated

from policyctl.checks.names import check_preset, check_service
from policyctl.checks.references import (
    parse_argument,
    parse_argument_path,
    parse_exception,
    parse_operation,
    parse_reference,
)
from policyctl.model.fields import Items, Off
from policyctl.model.scalars import Choice, Status, Text
from policyctl.units import UnitError, quote


def recorded(text: str) -> str:
    """Check an exception or portable condition."""
    return parse_exception(text)


def rejected(text: str) -> str:
    """Check an exception, a portable condition or a rejection."""
    return parse_exception(text, rejections=True)


def _header(text: str) -> None:
    if len(text) > 100 or re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", text) is None:
        raise UnitError(
            f"{quote(text)} is not a header name", "write for example X-Timeout-Budget"
        )


def _variable(text: str) -> None:
    if "://" in text:
        raise UnitError(
            "this is an address, not the name of an environment variable",
            "put the address into a variable and write its name, for example POLICY_REDIS_URL",
        )
    if len(text) > 100 or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is None:
        raise UnitError(
            f"{quote(text)} is not the name of an environment variable",
            "write the variable's name, for example POLICY_REDIS_URL",
        )


def _keyword(text: str) -> None:
    parse_argument_path(text)
    if "." in text:
        raise UnitError(
            f"{quote(text)} is a path, not a keyword",
            "write the name of one keyword argument",
        )


def _scope(text: str) -> None:
    if text in ("operation", "service"):
        return
    if not text.startswith("argument:"):
        raise UnitError(
            f"{quote(text)} is not a scope",
            "write operation, service or argument:NAME, for example argument:tenant",
        )
    parse_argument(text)


def _rule(text: str) -> None:
    if re.fullmatch(r"[A-Z]{2}[0-9]{3}", text) is None:
        raise UnitError(
            f"{quote(text)} is not a rule's code", "write for example RT001"
        )


def _callable(text: str) -> None:
    parse_reference(text)


def _class(text: str) -> None:
    parse_reference(text, "a class")


def _codec(text: str) -> None:
    if text != "json":
        parse_reference(text, "a codec")


CALLABLE = Text("package.module:function", _callable, "invalid-callable")
CLASS = Text("package.module:Class", _class, "invalid-callable")
CODEC = Text("json or package.module:Codec", _codec, "invalid-callable")
KEYWORD = Text("the name of one keyword argument", _keyword, "invalid-argument")
ARGUMENT_PATH = Text(
    "a parameter's name or path", parse_argument_path, "invalid-argument", off=False
)
OPERATION = Text("service.operation", parse_operation, "invalid-operation")
OPERATION_NAME = Text(
    "service.operation", parse_operation, "invalid-operation", off=False
)
SERVICE = Text("the service's name", check_service, "invalid-name", off=False)
PRESET = Text("a preset's name", check_preset, "invalid-name", off=False)
RULE = Text("a rule's code", _rule, off=False)
FIELD = Text("a field of the payload", parse_argument_path, "invalid-argument")
HEADER = Text("a header's name", _header)
VARIABLE = Text("the name of an environment variable", _variable)
SCOPE = Text("operation, service or argument:NAME", _scope, "invalid-argument")
JITTERS = ("none", "full", "equal", "decorrelated")
STORES = ("memory", "redis")
MODES = ("enforce", "observe", "disabled")

Exceptions = Annotated[
    list[str] | Off | None,
    Items(Text("an exception", recorded, "invalid-exception", off=False)),
]
Rejections = Annotated[
    list[str] | Off | None,
    Items(
        Text("an exception or a rejection", rejected, "invalid-exception", off=False)
    ),
]
Statuses = Annotated[list[str] | Off | None, Items(Status())]
Callable = Annotated[str | None, CALLABLE]
Codec = Annotated[str | None, CODEC]
Mode = Annotated[str | None, Choice(MODES)]
Store = Annotated[str | None, Choice(STORES)]
Scope = Annotated[str | None, SCOPE]
Variable = Annotated[str | None, VARIABLE]
Words = Annotated[str | None, Text()]
