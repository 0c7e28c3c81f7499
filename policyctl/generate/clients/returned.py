"""The type of a guarded call's result, where it is not the one that the library has.

An object of the library's own that is awaited, entered or iterated over is used up under
the policy, and a coroutine, context manager or generator takes its place.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from policyctl.generate.clients.annotations import ANY, Annotations
from policyctl.generate.clients.forms import Form
from policyctl.model.code.callables import returned_kind
from policyctl.model.code.library import Symbol
from policyctl.model.code.names import Context
from policyctl.model.code.results import Result, Returned, result_of
from policyctl.model.code.scope import FunctionNode

_TYPES: dict[Returned, tuple[str, str, str]] = {
    "awaitable": ("typing", "Coroutine", f"{ANY}, {ANY}, {{}}"),
    "stream": ("typing", "Generator", "{}, None, None"),
    "async stream": ("typing", "AsyncGenerator", "{}, None"),
    "manager": ("contextlib", "AbstractContextManager", "{}"),
    "async manager": ("contextlib", "AbstractAsyncContextManager", "{}"),
}


def returned_text(
    annotations: Annotations, context: Context, node: FunctionNode, form: Form
) -> str:
    """The return annotation of a function whose results are used as ``form`` says."""
    used = None if form == "plain" or form == "generator" else form
    result = None if used is None else _own(annotations, context, node, used)
    if result is None or used is None or used not in [*result.kinds()]:
        return annotations.text(node.returns, context)
    item = result.item(used)
    inner = ANY
    if item is not None:
        within = annotations
        if "Self" in ast.dump(item.node):
            own = annotations.text(node.returns, context)
            within = replace(annotations, instance=own)
        inner = within.text(item.node, item.context)
    module, name, arguments = _TYPES[used]
    head = annotations.imports.name(Symbol(module, name, "opaque"))
    return f"{head}[{arguments.format(inner)}]"


def _own(
    annotations: Annotations, context: Context, node: FunctionNode, used: Returned
) -> Result | None:
    """The class that is returned, where the standard library has no word for it."""
    library = annotations.library
    if isinstance(node, ast.AsyncFunctionDef) and used != "async stream":
        return None
    if returned_kind(library, context, node) is not None:
        return None
    return result_of(library, context, node)
