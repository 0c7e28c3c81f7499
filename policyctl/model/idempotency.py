"""``idempotency``: one effect however often a call is made."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from policyctl.model.fields import (
    Block,
    Items,
    Marker,
    Off,
    Settings,
    fail,
    is_off,
    setting,
    show_value,
)
from policyctl.model.kinds import ARGUMENT_PATH, HEADER, KEYWORD, Callable, Codec, Words
from policyctl.model.scalars import Choice, Number


class KeyCall(Settings):
    """A key made by a function, or from argument paths."""

    call: Callable = setting(
        "A function that gets the arguments.", "my_app.keys:key_of"
    )
    arguments: Annotated[
        list[str] | None, Items(ARGUMENT_PATH, off=False, nonempty=True)
    ] = setting("Argument paths that form the key together.", ["hotel_id", "order.id"])


@dataclass(frozen=True, slots=True)
class KeyForms(Marker):
    """A list of argument paths, or a mapping with ``call``."""

    off: bool = True

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """One model behind a function, so that no union shows in an error's path."""
        return core_schema.no_info_wrap_validator_function(
            self._validate,
            handler.generate_schema(KeyCall),
            serialization=core_schema.simple_ser_schema("any"),
        )

    def _validate(self, value: Any, handler: Function[[Any], KeyCall]) -> object:
        if self.off and is_off(value):
            return "off"
        if isinstance(value, list):
            return handler({"arguments": value}).arguments
        if not isinstance(value, dict):
            hint = (
                f"write [{value}]"
                if isinstance(value, str) and len(value) < 60
                else "write a list of argument paths"
            )
            raise fail(
                "wrong-type",
                f"{show_value(value)} is not a key",
                f"{hint}, or {{call: package.module:function}}",
            )
        return handler(value)


class Forward(Settings):
    """Where the callee gets the key: one of a header and an argument."""

    header: Annotated[str | None, HEADER] = setting(
        "The header that carries the key.", "Idempotency-Key"
    )
    argument: Annotated[str | None, KEYWORD] = setting(
        "The keyword argument that carries the key.", "idempotency_key"
    )


class Idempotency(Settings):
    """Results kept by key."""

    key: Annotated[list[str] | KeyCall | Off | None, KeyForms()] = setting(
        "Argument paths that form the key together, or a function that makes it.",
        ["hotel_id", "checkin", "order.id"],
        {"call": "my_app.keys:key_of"},
    )
    forward: Annotated[Forward | Off | None, Block(Forward)] = setting(
        "Give the callee the same key on every attempt.", {"header": "Idempotency-Key"}
    )
    ttl: Annotated[float | Off | None, Number("idempotency.ttl")] = setting(
        "How long a result is kept.", "24h", default="24h"
    )
    in_progress: Annotated[float | Off | None, Number("idempotency.in_progress")] = (
        setting(
            "A first call that died is released after this.",
            "30s",
            by_default="the longest that the call can last",
        )
    )
    on_conflict: Annotated[str | None, Choice(("wait", "reject"))] = setting(
        "What a second caller does while the first runs.",
        "wait",
        "reject",
        default="wait",
    )
    store: Annotated[str | None, Choice(("memory", "sqlite", "redis"))] = setting(
        "Where results are kept.", "memory", "sqlite", "redis", default="memory"
    )
    path: Words = setting("The SQLite file, where store is sqlite.", "var/keys.db")
    codec: Codec = setting(
        "How results are turned into bytes: json, or a codec of your own.",
        "json",
        "my_app.codecs:Codec",
        default="json",
    )


IDEMPOTENCY = Block(Idempotency)
