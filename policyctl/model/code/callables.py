"""What a target is: a method or function, with everything that decides its types."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from policyctl.model.code.classes import Lineage, Member, lineage_of
from policyctl.model.code.library import Library, Symbol
from policyctl.model.code.names import Context, as_class, parsed, resolve
from policyctl.model.code.objects import called_object, set_when_made, without_first
from policyctl.model.code.results import Returned, result_of
from policyctl.model.code.scope import Binding as Bound
from policyctl.model.code.scope import FunctionNode, accessor, is_overload, last_name

Binding = Literal["instance", "class", "static", "function"]
_RETURNED: dict[str, Returned] = {
    "Awaitable": "awaitable",
    "Coroutine": "awaitable",
    "CoroutineType": "awaitable",
    "Future": "awaitable",
    "Task": "awaitable",
    "Iterator": "stream",
    "Generator": "stream",
    "AsyncIterator": "async stream",
    "AsyncIterable": "async stream",
    "AsyncGenerator": "async stream",
    "ContextManager": "manager",
    "AbstractContextManager": "manager",
    "AsyncContextManager": "async manager",
    "AbstractAsyncContextManager": "async manager",
}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_MODULES = (
    "typing",
    "typing_extensions",
    "collections.abc",
    "asyncio",
    "contextlib",
    "types",
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method that was read.

    Attributes:
        name: its name.
        context: the place of its definition.
        binding: how it is bound: to an instance, to the class, or not at all.
        overloads: the overloads, else the one definition, in the order of the text.
        body: the definition that runs, or the last overload of a stub.
    """

    name: str
    context: Context
    binding: Binding
    overloads: tuple[FunctionNode, ...]
    body: FunctionNode

    @property
    def is_async(self) -> bool:
        """Whether a call gives a coroutine, as the definition says."""
        return isinstance(self.overloads[0], ast.AsyncFunctionDef) and not self.yields

    @property
    def yields(self) -> bool:
        """Whether it is a generator function."""
        return _yields(self.body)

    def within(self, node: FunctionNode) -> Context:
        """The place of the names in a signature."""
        context = self.context
        return Context(context.home, context.owner, context.types, node)


@dataclass(frozen=True, slots=True)
class Property:
    """A property: what gives the value, and what sets it if anything does."""

    name: str
    context: Context
    getter: FunctionNode
    setter: FunctionNode | None


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """A class whose methods are guarded."""

    symbol: Symbol
    lineage: Lineage


def read_class(library: Library, module: str, path: str) -> ClassTarget | None:
    """The class ``module:path``; None where it is none or cannot be read."""
    found = as_class(library, library.find(module, path))
    if found is None:
        return None
    return ClassTarget(found, lineage_of(library, found))


def read_method(
    library: Library, target: ClassTarget, name: str
) -> Function | Property | None:
    """A method or property by its name; None for anything else, or nothing."""
    member = target.lineage.member(library, name)
    if member is None:
        made = set_when_made(library, target.lineage, name)
        if made is None:
            return None
        return _called(library, name, made[1], made[0], "instance")
    definition = _definition(library, member)
    if definition is None:
        for value in member.binding.nodes[-1:]:
            return _called(library, name, member.context, value, "instance")
        return None
    nodes = [n for n in definition.nodes if isinstance(n, FunctionNode)]
    decorators = {last_name(d) for d in nodes[0].decorator_list}
    if any(d.endswith("property") for d in decorators):
        setters = [n for n in nodes if accessor(n) == "setter"]
        setter = setters[-1] if setters else None
        return Property(name, member.context, nodes[0], setter)
    binding: Binding = "instance"
    if "classmethod" in decorators:
        binding = "class"
    elif "staticmethod" in decorators:
        binding = "static"
    return _function(name, member.context, binding, nodes)


def read_function(library: Library, module: str, path: str) -> Function | None:
    """The function ``module:path``; None where it is none or cannot be read."""
    found = library.find(module, path)
    seen: set[str] = set()
    while found is not None and found.kind == "value" and "." not in found.name:
        same = _same_as(found)
        if same is None or same in seen:
            break
        seen.add(same)
        found = library.member(found.module, same)
    if found is not None and found.kind == "value" and found.home is not None:
        return _called(
            library, found.name, Context(found.home), found.nodes[-1], "function"
        )
    if found is None or found.kind != "function" or found.home is None:
        return None
    nodes = [n for n in found.nodes if isinstance(n, FunctionNode)]
    return _function(found.name, Context(found.home), "function", nodes)


def gives_awaitable(library: Library, context: Context, node: FunctionNode) -> bool:
    """Whether a plain function says that it returns something to await."""
    kind = returned_kind(library, context, node)
    if kind is not None or isinstance(node, ast.AsyncFunctionDef):
        return kind == "awaitable"
    result = result_of(library, context, node)
    return result is not None and "awaitable" in result.kinds()


def returned_kind(
    library: Library, context: Context, node: FunctionNode
) -> Returned | None:
    """What the return type of a plain function says must be done with the result."""
    return (
        None
        if isinstance(node, ast.AsyncFunctionDef)
        else _said(library, context, node)
    )


def opens_stream(library: Library, context: Context, node: FunctionNode) -> bool:
    """Whether a coroutine function says that its answer is iterated over.

    Such is a request that is awaited until the stream of its answer is open.
    """
    if not isinstance(node, ast.AsyncFunctionDef):
        return False
    said = _said(library, context, node)
    result = result_of(library, context, node) if said is None else None
    kinds = [said] if result is None else [*result.kinds()]
    return "async stream" in kinds


def _said(library: Library, context: Context, node: FunctionNode) -> Returned | None:
    """What the standard library's word for a return type says of the result."""
    if node.returns is None:
        return None
    returned = parsed(node.returns)
    if isinstance(returned, ast.Subscript):
        returned = returned.value
    found = None if returned is None else resolve(library, context, returned)
    if found is None or found.module not in _MODULES:
        return None
    return _RETURNED.get(found.name)


def _definition(library: Library, member: Member) -> Bound | None:
    """The function that a member is, also by ``other_name = method`` in its class."""
    owner = member.context.owner
    node = None if owner is None else owner.class_node
    binding: Bound | None = member.binding
    names = {} if node is None else library.body(node, member.context.home).names
    seen: set[str] = set()
    while binding is not None and binding.kind != "function":
        same = _same_as(binding)
        if same is None or same in seen:
            return None
        seen.add(same)
        binding = names.get(same)
    return binding


def _called(
    library: Library,
    name: str,
    context: Context,
    value: ast.AST,
    binding: Binding,
) -> Function | None:
    """What calling a value does, where its annotation or its class says so."""
    found = called_object(library, context, value)
    if found is None:
        return None
    nodes, place = found
    if binding == "function":
        nodes = [without_first(node) for node in nodes]
    return _function(name, place, binding, nodes)


def _same_as(binding: Bound | Symbol) -> str | None:
    """The name whose value an assignment repeats."""
    node = binding.nodes[0] if binding.kind == "value" and binding.nodes else None
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
        return None
    plain = all(isinstance(target, ast.Name) for target in node.targets)
    return node.value.id if plain else None


def _function(
    name: str, context: Context, binding: Binding, nodes: list[FunctionNode]
) -> Function:
    overloads = tuple(node for node in nodes if is_overload(node))
    return Function(name, context, binding, overloads or (nodes[-1],), nodes[-1])


def _yields(node: FunctionNode) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(inner, _SCOPES):
            waiting.extend(ast.iter_child_nodes(inner))
    return False
