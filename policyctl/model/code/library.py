"""Modules read so far, and what names in them stand for, across re-exports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from policyctl.model.code.conditions import Conditions
from policyctl.model.code.files import CodeFile, find_file, has_package
from policyctl.model.code.newer import parse
from policyctl.model.code.scope import Binding, Scope, read_body

_DEPTH = 30
_ONCE_STANDARD = (
    "aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 "
    "mailcap msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu "
    "xdrlib"
)
_STANDARD = frozenset(
    (
        *sys.stdlib_module_names,
        *_ONCE_STANDARD.split(),
        "typing_extensions",
        "_typeshed",
    )
)
"""Those of each Python from 3.11 to 3.13, so that all of them print the same."""
Kind = Literal["module", "class", "function", "value", "parameter", "opaque"]


@dataclass(slots=True, weakref_slot=True)
class Module:
    """A module whose text was read."""

    file: CodeFile
    scope: Scope

    @property
    def name(self) -> str:
        """The import name."""
        return self.file.module

    @property
    def package(self) -> str:
        """The package that relative imports start in."""
        return self.name if self.file.package else self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name stands for.

    Attributes:
        module: the import name of the module that defines it.
        name: its qualified name there; nothing for a module itself.
        kind: ``opaque`` where the module cannot be read; ``parameter`` for a type
            parameter that is written in brackets after a class or function.
        nodes: its definitions.
        home: the module that defines it, where that was read.
    """

    module: str
    name: str
    kind: Kind
    nodes: tuple[ast.AST, ...] = ()
    home: Module | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What tells two symbols apart."""
        return self.module, self.name

    @property
    def class_node(self) -> ast.ClassDef | None:
        """The definition of a class."""
        node = self.nodes[-1] if self.nodes else None
        return node if isinstance(node, ast.ClassDef) else None


@dataclass(slots=True)
class Library:
    """Code along one search path; files are read once."""

    places: Sequence[str]
    conditions: Conditions = field(default_factory=Conditions)
    _modules: dict[str, Module | None] = field(
        default_factory=dict[str, "Module | None"]
    )
    _bodies: dict[int, Scope] = field(default_factory=dict[int, Scope])

    def has_package(self, module: str) -> bool:
        """Whether the top-level package of ``module`` is installed as files."""
        return has_package(module, self.places)

    def module(self, name: str) -> Module | None:
        """A module by its import name, or None where it cannot be read."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def find(self, module: str, path: str) -> Symbol | None:
        """What ``module:path`` is; None where the module or the name is not there."""
        first, _, rest = path.partition(".")
        found = self.member(module, first)
        for part in rest.split(".") if rest else ():
            found = None if found is None else self.attribute(found, part)
        return found

    def member(self, module: str, name: str, depth: int = _DEPTH) -> Symbol | None:
        """What ``name`` is in a module that can be read."""
        home = self.module(module)
        if home is None or depth <= 0:
            return None
        binding = home.scope.names.get(name)
        if binding is not None:
            return self._bound(home, name, binding, depth)
        for star in reversed(home.scope.stars):
            found = self.member(star, name, depth - 1)
            if found is not None:
                return found
        if self.module(f"{module}.{name}") is not None:
            return Symbol(f"{module}.{name}", "", "module")
        return None

    def attribute(self, owner: Symbol, name: str) -> Symbol | None:
        """``owner.name`` of a module or a class (of its own body alone)."""
        if owner.kind == "module":
            if is_standard(owner.module):
                return Symbol(owner.module, name, "opaque")
            found = self.member(owner.module, name)
            if found is None and self.module(owner.module) is None:
                return Symbol(owner.module, name, "opaque")
            return found
        if owner.kind == "opaque":
            return Symbol(owner.module, f"{owner.name}.{name}", "opaque")
        node = owner.class_node
        if node is None or owner.home is None:
            return None
        binding = self.body(node, owner.home).names.get(name)
        if binding is None:
            return None
        if binding.kind in ("module", "from"):
            return self._bound(owner.home, name, binding, _DEPTH)
        return _defined(owner.home, f"{owner.name}.{name}", binding)

    def body(self, node: ast.ClassDef, home: Module) -> Scope:
        """The names of a class body."""
        known = self._bodies.get(id(node))
        if known is None:
            known = read_body(node.body, home.package, self.conditions)
            self._bodies[id(node)] = known
        return known

    def public_path(self, symbol: Symbol) -> tuple[str, str]:
        """Module and name to import a symbol by: public if there is such a place."""
        if not any(part.startswith("_") for part in symbol.module.split(".")):
            return symbol.key
        first, dot, rest = symbol.name.partition(".")
        top = Symbol(symbol.module, first, symbol.kind)
        for module in _packages(symbol.module):
            home = self.module(module)
            if home is None or not self._offers(home, first):
                continue
            found = self.member(module, first)
            if found is not None and found.key == top.key:
                return module, f"{first}{dot}{rest}"
        return symbol.key

    def _offers(self, home: Module, name: str) -> bool:
        """Whether a package re-exports a name, as type checkers see it."""
        scope = home.scope
        if name in scope.exports:
            return True
        binding = scope.names.get(name)
        if binding is not None:
            return binding.public and binding.name == name
        return not scope.exports and any(
            self.member(star, name) is not None for star in scope.stars
        )

    def _bound(
        self, home: Module, name: str, binding: Binding, depth: int
    ) -> Symbol | None:
        if binding.kind == "module":
            return Symbol(binding.module, "", "module")
        if binding.kind != "from":
            return _defined(home, name, binding)
        if is_standard(binding.module):
            return Symbol(binding.module, binding.name, "opaque")
        own = f"{binding.module}.{binding.name}"
        if binding.module == home.name and self.module(own) is not None:
            # A package that imports its own part: "from . import types".
            return Symbol(own, "", "module")
        found = self.member(binding.module, binding.name, depth - 1)
        if found is None:
            return Symbol(binding.module, binding.name, "opaque")
        return found

    def _read(self, name: str) -> Module | None:
        file = find_file(name, self.places)
        if file is None:
            return None
        try:
            tree = parse(file.path.read_bytes())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        package = name if file.package else name.rpartition(".")[0]
        return Module(file, read_body(tree.body, package, self.conditions))


def is_standard(module: str) -> bool:
    """Whether a module belongs to Python itself or has its types in every checker."""
    return module.partition(".")[0] in _STANDARD


def _defined(home: Module, name: str, binding: Binding) -> Symbol:
    kind: Kind = "value"
    if binding.kind == "class" or binding.kind == "function":
        kind = binding.kind
    return Symbol(home.name, name, kind, tuple(binding.nodes), home)


def _packages(module: str) -> Iterator[str]:
    """The public packages around a module, outermost first."""
    parts = module.split(".")
    for end in range(1, len(parts)):
        if not parts[end - 1].startswith("_"):
            yield ".".join(parts[:end])
        else:
            return
