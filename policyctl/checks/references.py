"""Names of exceptions, callables, arguments and operations, checked as text.

Nothing is imported: whether ``package.module:name`` exists is for
``policyctl.model.static`` to find out.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any

from policyctl.units import UnitError, quote

CONDITIONS = ("not_sent", "connection_lost", "timeout")
"""Portable conditions: what no two libraries raise alike, mapped per transport."""

REJECTIONS = ("circuit_open", "bulkhead_full", "rate_limited", "budget_exhausted")
"""Rejections by a policy itself; ``fallback_on`` alone may name them."""

_DOTTED = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
_REFERENCE = re.compile(rf"({_DOTTED}):({_DOTTED})")
_DOTTED_NAME = re.compile(_DOTTED)
_ARGUMENT = re.compile(rf"argument:({_DOTTED})")
_LONGEST = 300


def parse_reference(text: str, what: str = "a callable") -> tuple[str, str]:
    """Return (module, name) of ``package.module:function`` or ``…:Class.method``.

    Raises:
        UnitError: the text has another form.
    """
    match = _REFERENCE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is not None and not any(map(iskeyword, re.split("[.:]", text))):
        return match.group(1), match.group(2)
    raise UnitError(f"{quote(text)} is not {what}", _reference_hint(text))


def _reference_hint(text: str) -> str:
    bare = text.strip().removesuffix("()")
    if len(text) <= _LONGEST and "." in bare and _DOTTED_NAME.fullmatch(bare):
        module, _, name = bare.rpartition(".")
        return f"write module and name with a colon: {module}:{name}"
    return "write package.module:name, for example my_app.rules:transient"


def parse_exception(text: str, *, rejections: bool = False) -> str:
    """Return ``text`` if it names an exception.

    That is a builtin (``ValueError``), ``package.module:Class``, a portable condition
    or, with ``rejections``, one of this policy's own rejections.

    Raises:
        UnitError: it does not.
    """
    if text in CONDITIONS or (rejections and text in REJECTIONS):
        return text
    if ":" in text or len(text) > _LONGEST:
        parse_reference(text, "an exception")
        return text
    if text in REJECTIONS:
        raise UnitError(
            f"{quote(text)} is a rejection by this policy, which is never retried or recorded",
            "remove it; only fallback_on may name it",
        )
    found: Any = getattr(builtins, text, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise _no_exception(text, found, rejections)
    if not issubclass(found, Exception):
        raise UnitError(
            f"{quote(text)} is never handled by a policy: it always passes through",
            "name Exception or one of its subclasses",
        )
    return text


def _no_exception(text: str, found: Any, rejections: bool) -> UnitError:
    shown = quote(text)
    if "." in text:
        return UnitError(f"{shown} is not an exception", _reference_hint(text))
    if found is not None and text.isidentifier():
        return UnitError(
            f"{shown} is a builtin but not an exception",
            "name an exception, for example ValueError",
        )
    return UnitError(
        f"{shown} is not a builtin exception", lambda: _near_exception(text, rejections)
    )


def _near_exception(text: str, rejections: bool) -> str:
    names = [*CONDITIONS, *(REJECTIONS if rejections else ())]
    for name, found in vars(builtins).items():
        if isinstance(found, type) and issubclass(found, Exception):
            names.append(name)
    near = nearest(text, names)
    if near is not None:
        return f"did you mean {near}?"
    name = text if text.isidentifier() else "Class"
    portable = ", ".join(CONDITIONS)
    return f"write package.module:{name} for one of a library, or one of {portable}"


def parse_argument(text: str) -> tuple[str, ...]:
    """Return the parts of the path in ``argument:order.id``: ``("order", "id")``.

    Raises:
        UnitError: the text has another form.
    """
    match = _ARGUMENT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(
            f"{quote(text)} is not an argument",
            "write for example argument:tenant or argument:order.id",
        )
    return tuple(match.group(1).split("."))


def parse_argument_path(text: str) -> tuple[str, ...]:
    """Return the parts of ``order.id``, a path into a named parameter.

    Raises:
        UnitError: the text has another form.
    """
    match = _DOTTED_NAME.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        hint = text.removeprefix("argument:")
        if hint != text and _DOTTED_NAME.fullmatch(hint):
            raise UnitError(f"{quote(text)} is not an argument path", f"write {hint}")
        raise UnitError(
            f"{quote(text)} is not an argument path",
            "write a parameter's name or a path such as order.id",
        )
    return tuple(text.split("."))


def parse_operation(text: str) -> tuple[str, str]:
    """Return (service, operation) of ``ledger_api.post_entry``.

    Raises:
        UnitError: the text has another form.
    """
    parts = text.split(".")
    if (
        len(text) <= _LONGEST
        and len(parts) == 2
        and all(p.isidentifier() for p in parts)
    ):
        return parts[0], parts[1]
    raise UnitError(
        f"{quote(text)} does not name an operation",
        "write service.operation, for example ledger_api.post_entry",
    )


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The candidate most like ``name``, or None when none is near."""
    from difflib import get_close_matches

    if len(name) > 60:
        return None
    folded = {c.casefold(): c for c in candidates}
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def nearest_method(target: str, name: str, candidates: Iterable[str]) -> str | None:
    """How to name the method of ``target`` that is most like ``name``, if any is.

    Names of operations are in snake case, so a method in another case, such as
    ``createCharge``, needs a target of its own. The same words in another case come
    first.
    """
    listed = list(candidates)
    words = name.replace("_", "").casefold()
    same = [c for c in listed if c.replace("_", "").casefold() == words]
    if same:
        return f"write target: {target}.{same[0]}"
    near = nearest(name, listed)
    if near is None or near == near.lower():
        return None if near is None else f"did you mean {near}?"
    return f"did you mean {near}? then write target: {target}.{near}"
