"""What the names of a module or class body are bound to, from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from policyctl.model.code.conditions import Conditions

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Kind = Literal["module", "from", "class", "function", "value"]


@dataclass(slots=True)
class Binding:
    """One name.

    Attributes:
        kind: what bound it last.
        module: the imported module; for ``from``, the one that has ``name``.
        name: the imported name.
        nodes: the definitions: several for overloads and properties.
        public: whether an import says that the name is re-exported (``as`` itself).
    """

    kind: Kind
    module: str = ""
    name: str = ""
    nodes: list[ast.stmt] = field(default_factory=list[ast.stmt])
    public: bool = False


@dataclass(slots=True)
class Scope:
    """The names of one body; ``stars`` are modules of which everything is imported."""

    names: dict[str, Binding] = field(default_factory=dict[str, Binding])
    stars: list[str] = field(default_factory=list[str])
    exports: set[str] = field(default_factory=set[str])


def read_body(body: Sequence[ast.stmt], package: str, conditions: Conditions) -> Scope:
    """The names that ``body`` binds; ``package`` is where relative imports start."""
    scope = Scope()
    _Reader(scope, package, conditions).read(body)
    return scope


def is_overload(node: ast.stmt) -> bool:
    """Whether a function is decorated with ``overload``."""
    return isinstance(node, FunctionNode) and "overload" in map(
        last_name, node.decorator_list
    )


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, or of what is called; else nothing."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def accessor(node: ast.stmt) -> str:
    """``setter``, ``getter`` or ``deleter`` where a function is one of a property."""
    if isinstance(node, FunctionNode):
        for decorator in node.decorator_list:
            if (
                isinstance(decorator, ast.Attribute)
                and isinstance(decorator.value, ast.Name)
                and decorator.value.id == node.name
            ):
                return decorator.attr
    return ""


class _Reader:
    def __init__(self, scope: Scope, package: str, conditions: Conditions) -> None:
        self.scope = scope
        self.package = package
        self.conditions = conditions

    def read(self, body: Iterable[ast.stmt], *, keep: bool = False) -> None:
        """Bind the names of ``body``; with ``keep``, only those not bound yet."""
        for node in body:
            if isinstance(node, ast.Import):
                self._import(node, keep)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node, keep)
            elif isinstance(node, FunctionNode):
                self._function(node, keep)
            elif isinstance(node, ast.ClassDef):
                self._bind(node.name, Binding("class", nodes=[node]), keep)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node, keep)
            elif isinstance(node, ast.AnnAssign):
                self._assign(node.target, node, keep)
            elif isinstance(node, ast.AugAssign):
                self._export(node.target, node.value)
            elif isinstance(node, ast.If):
                self._if(node, keep)
            elif isinstance(node, ast.Try):
                self._try(node, keep)
            elif isinstance(node, ast.With):
                self.read(node.body, keep=keep)
            elif type(node).__name__ == "TypeAlias":
                name = cast("ast.Name", node.name)  # type: ignore[attr-defined]
                self._bind(name.id, Binding("value", nodes=[node]), keep)

    def _bind(self, name: str, binding: Binding, keep: bool) -> None:
        if not (keep and name in self.scope.names):
            self.scope.names[name] = binding

    def _import(self, node: ast.Import, keep: bool) -> None:
        for alias in node.names:
            if alias.asname is None:
                top = alias.name.partition(".")[0]
                self._bind(top, Binding("module", top), keep)
            else:
                public = alias.asname == alias.name
                binding = Binding("module", alias.name, public=public)
                self._bind(alias.asname, binding, keep)

    def _import_from(self, node: ast.ImportFrom, keep: bool) -> None:
        module = self._absolute(node)
        for alias in node.names:
            if alias.name == "*":
                self.scope.stars.append(module)
                continue
            name = alias.asname or alias.name
            public = alias.asname == alias.name
            self._bind(name, Binding("from", module, alias.name, public=public), keep)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def _function(self, node: FunctionNode, keep: bool) -> None:
        old = self.scope.names.get(node.name)
        if old is not None and old.kind == "function":
            follows_overload = is_overload(old.nodes[-1])
            if follows_overload or accessor(node):
                old.nodes.append(node)
                return
        self._bind(node.name, Binding("function", nodes=[node]), keep)

    def _assign(self, target: ast.expr, node: ast.stmt, keep: bool) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self._assign(item, node, keep)
        elif isinstance(target, ast.Name):
            self._bind(target.id, Binding("value", nodes=[node]), keep)
            self._export(target, getattr(node, "value", None))

    def _export(self, target: ast.expr, value: ast.expr | None) -> None:
        if not (isinstance(target, ast.Name) and target.id == "__all__"):
            return
        for item in ast.walk(value) if value is not None else ():
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self.scope.exports.add(item.value)

    def _if(self, node: ast.If, keep: bool) -> None:
        holds = self.conditions.holds(node.test)
        if holds is not False:
            self.read(node.body, keep=keep)
        if holds is not True:
            self.read(node.orelse, keep=keep or holds is None)

    def _try(self, node: ast.Try, keep: bool) -> None:
        self.read(node.body, keep=keep)
        self.read(node.orelse, keep=keep)
        for handler in node.handlers:
            self.read(handler.body, keep=True)
        self.read(node.finalbody, keep=keep)
