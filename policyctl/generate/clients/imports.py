"""The names under which a generated module knows the types of other packages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from policyctl.model.code.library import Library, Symbol, is_standard

_TAKEN = (
    "_builtins",
    "_clients",
    "_inbound",
    "_policy",
    "_queues",
    "_settings",
    "_typing",
)

_UNTYPED = "  # type: ignore[import-not-found, import-untyped, unused-ignore]"


@dataclass(slots=True)
class Imports:
    """Imports and type variables that the annotations of one module need.

    ``shadowed`` are names that mean something else where annotations stand, such as a
    method called ``list``; builtins of those names are then imported too.
    """

    library: Library
    shadowed: frozenset[str] = frozenset()
    _aliases: dict[str, str] = field(default_factory=dict[str, str])
    _variables: dict[str, str] = field(default_factory=dict[str, str])

    def name(self, symbol: Symbol) -> str:
        """How the module writes a symbol."""
        if symbol.module == "builtins" and symbol.name not in self.shadowed:
            return symbol.name
        module, name = self.library.public_path(symbol)
        alias = self.module(module)
        return f"{alias}.{name}" if name else alias

    def builtin(self, name: str) -> str:
        """How the module writes a builtin."""
        return self.name(Symbol("builtins", name, "opaque"))

    def module(self, module: str) -> str:
        """The private name of an imported module."""
        if module == "typing":
            return "_typing"
        known = self._aliases.get(module)
        if known is None:
            wanted = "_" + module.replace("._", ".").lstrip("_").replace(".", "_")
            known = _free(wanted, {*_TAKEN, *self._aliases.values(), *self._variables})
            if module == "builtins":
                known = "_builtins"
            self._aliases[module] = known
        return known

    def variable(self, name: str, arguments: str) -> str:
        """The private name of a type variable, declared once for equal ones.

        ``arguments`` are what its constructor takes after its name, class first:
        ``TypeVar`` or ``TypeVar, bound="…"``.
        """
        wanted = f"_{name.lstrip('_')}"
        number = 1
        while True:
            candidate = wanted if number == 1 else f"{wanted}_{number}"
            taken = {*_TAKEN, *self._aliases.values()}
            if candidate not in taken:
                known = self._variables.setdefault(candidate, arguments)
                if known == arguments:
                    return candidate
            number += 1

    def lines(self) -> tuple[str, ...]:
        """The import statements, sorted."""
        found: list[str] = []
        for module in sorted(self._aliases):
            line = f"import {module} as {self._aliases[module]}"
            if not self._has_types(module):
                line += _UNTYPED
            found.append(line)
        return tuple(found)

    def declarations(self) -> tuple[str, ...]:
        """The assignments of the type variables, sorted."""
        found: list[str] = []
        for name in sorted(self._variables):
            kind, _, rest = self._variables[name].partition(", ")
            rest = f", {rest}" if rest else ""
            found.append(f'{name} = _typing.{kind}("{name}"{rest})')
        return tuple(found)

    def _has_types(self, module: str) -> bool:
        if is_standard(module) or module == "builtins":
            return True
        home = self.library.module(module)
        if home is None:
            return False
        return home.file.typed or "site-packages" not in home.file.path.parts


def _free(wanted: str, taken: Iterable[str]) -> str:
    names = set(taken)
    candidate, number = wanted, 1
    while candidate in names:
        number += 1
        candidate = f"{wanted}_{number}"
    return candidate
