"""Resolved blocks as the constructor calls that the runtime takes.

A block's class and fields have the same names in ``resolve.policy`` and in
``runtime.settings``; only a jitter and a fallback are shaped differently. Every number
and switch is printed. What is off, or is one of the words below, is left out where the
runtime's own default says the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, cast

from policyctl.generate import literals
from policyctl.generate.fields import field_values
from policyctl.generate.layout import Expr, Group, call, lay_out, sequence
from policyctl.resolve.policy import Fallback, Inbound, Jitter, Operation
from policyctl.runtime import settings as runtime_settings

SETTINGS = "_settings"
BLOCKS = (
    "attempt_timeout",
    "budget",
    "retry",
    "hedge",
    "circuit_breaker",
    "rate_limit",
    "bulkhead",
    "idempotency",
    "fallback",
)
MAX_DEPTH = 50
_USUAL = frozenset({"operation", "memory", "enforce", "json"})


def policy_arguments(
    service: str, operation: str, policy: Operation, indent: int
) -> tuple[str, ...]:
    """The keyword arguments of ``Policy`` for one operation, laid out on lines.

    ``service`` and ``operation`` are the names that the policy goes by, which for an
    edge of the call graph are not those of ``policy``.

    Raises:
        UnprintableError: a value has no literal.
    """
    arguments = [
        lay_out("service=", literals.string(service), indent, ","),
        lay_out("operation=", literals.string(operation), indent, ","),
    ]
    if policy.kind != "unary":
        arguments.append(lay_out("kind=", literals.string(policy.kind), indent, ","))
    if policy.idempotent is not None:
        arguments.append(lay_out("idempotent=", repr(policy.idempotent), indent, ","))
    if policy.transport is not None:
        name = literals.string(policy.transport)
        arguments.append(lay_out("transport=", name, indent, ","))
    for name in BLOCKS:
        block: Any = getattr(policy, name)
        if isinstance(block, Fallback):
            arguments.append(lay_out(f"{name}=", expression(block), indent, ","))
        elif block is not None:
            arguments.append(_block(name, block, indent))
    return tuple(arguments)


def inbound_arguments(service: str, block: Inbound) -> tuple[str, ...]:
    """The keyword arguments of ``Inbound``, laid out on lines.

    Raises:
        UnprintableError: a value has no literal.
    """
    arguments = [lay_out("service=", literals.string(service), 4, ",")]
    for name, value in field_values(block) or ():
        if value is not None:
            arguments.append(_block(name, value, 4))
    return tuple(arguments)


@lru_cache(maxsize=4096)
def _block(name: str, block: Hashable, indent: int) -> str:
    """A block's argument; most operations of a fleet share theirs with others."""
    return lay_out(f"{name}=", expression(block), indent, ",")


def expression(value: object) -> Expr:
    """The expression of a block, a field or a plain value.

    Raises:
        UnprintableError: ``value`` has no literal.
    """
    if isinstance(value, Jitter):
        return expression(value.ratio if value.kind == "ratio" else value.kind)
    if isinstance(value, Fallback):
        return _fallback(value)
    fields = field_values(value)
    if fields is not None:
        name = type(value).__name__
        return call(f"{SETTINGS}.{name}", _settings_arguments(name, fields))
    if isinstance(value, tuple):
        return sequence([expression(item) for item in cast("Sequence[Any]", value)])
    return plain(value, 0)


def plain(value: object, depth: int) -> Expr:
    """The expression of plain data: what a YAML value can be.

    Raises:
        UnprintableError: a number is not finite or too long, or nesting is too deep.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return literals.string(value)
    if isinstance(value, (int, float)):
        return literals.number(value)
    if depth >= MAX_DEPTH:
        raise literals.UnprintableError(f"it is nested over {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return Group(
            "",
            "{}",
            tuple((literals.string(k) + ": ", plain(v, depth + 1)) for k, v in pairs),
        )
    if isinstance(value, Sequence):
        items = cast("Sequence[object]", value)
        return sequence([plain(item, depth + 1) for item in items], "[]")
    raise literals.UnprintableError(f"a {type(value).__name__} has no literal")


def _fallback(block: Fallback) -> Expr:
    form = {"value": "FallbackValue", "call": "FallbackCall"}.get(
        block.kind, "FallbackOperation"
    )
    value = getattr(block, block.kind)
    answer = plain(value, 0) if block.kind == "value" else expression(value)
    conditions = expression(block.fallback_on)
    return call(
        f"{SETTINGS}.{form}", [(block.kind, answer), ("fallback_on", conditions)]
    )


def _settings_arguments(
    name: str, fields: Sequence[tuple[str, Any]]
) -> Iterator[tuple[str, Expr]]:
    defaults = _defaults(name)
    keyed = any(str(value).startswith("argument:") for _, value in fields)
    for field, value in fields:
        if field == "max_keys" and not keyed:
            continue
        off = value is None or value == () or (type(value) is str and value in _USUAL)
        if not (off and field in defaults and defaults[field] == value):
            yield field, expression(value)


@cache
def _defaults(name: str) -> dict[str, object]:
    """The defaults of a class of the runtime's settings."""
    signature = inspect.signature(getattr(runtime_settings, name))
    return {
        parameter.name: parameter.default
        for parameter in signature.parameters.values()
        if parameter.default is not parameter.empty
    }
