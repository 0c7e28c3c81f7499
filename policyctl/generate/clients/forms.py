"""How a method's result has to be used, and whether its operation is of that kind."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Literal

from policyctl.model.code.callables import Function, opens_stream, returned_kind
from policyctl.model.code.library import Library
from policyctl.model.code.results import Returned, result_of
from policyctl.model.code.scope import FunctionNode, last_name

Form = Returned | Literal["plain", "generator"]

_MANAGERS: dict[str, Form] = {
    "contextmanager": "manager",
    "asynccontextmanager": "async manager",
}
_WORDS: dict[Form, str] = {
    "generator": "is a generator function",
    "stream": "returns an iterator",
    "async stream": "returns an async iterator",
    "manager": "is a context manager",
    "async manager": "is an async context manager",
}


def form_of(
    library: Library, function: Function, node: FunctionNode, kind: str
) -> Form:
    """The form of a function, of which ``node`` is the definition that counts.

    An object of the library's own may be used in several ways; ``kind``, that of the
    operation, says which of them is meant.
    """
    for decorator in node.decorator_list:
        form = _MANAGERS.get(last_name(decorator))
        if form is not None:
            return form
    if function.yields:
        return "generator"
    context = function.within(node)
    known = returned_kind(library, context, node)
    if kind == "stream" and opens_stream(library, context, node):
        return "async stream"
    if known is not None or isinstance(node, ast.AsyncFunctionDef):
        return known or "plain"
    result = result_of(library, context, node)
    for found in () if result is None else result.kinds():
        if (found == "awaitable") != (kind == "stream"):
            return found
    return "plain"


def suited(library: Library, function: Function, kind: str) -> Function:
    """The function with the overloads that a stream can guard alone, if it has such.

    One function may give an answer or a stream of it, by its arguments.
    """
    if kind != "stream":
        return function
    fit = [
        node
        for node in function.overloads
        if objection(form_of(library, function, node, kind), kind) is None
    ]
    return replace(function, overloads=tuple(fit)) if fit else function


def needs_word(form: Form) -> bool:
    """Whether the runtime has to be told the form, since the object does not show it."""
    return form not in ("plain", "generator")


def objection(form: Form, kind: str) -> tuple[str, str] | None:
    """Why an operation of this kind cannot guard it, and what to do; or None."""
    if kind != "stream":
        word = _WORDS.get(form)
        return (f"{word}, not one answer", "write kind: stream") if word else None
    if form in ("plain", "awaitable"):
        return "gives one answer, not a stream", "remove kind: stream"
    return None
