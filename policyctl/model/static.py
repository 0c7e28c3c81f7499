"""Look names of Python code up statically: nothing is imported or executed.

A look-up answers with what it found, or with ``Missing`` where the package is
installed and lacks the name; None means that nothing can be said, because the package
is not installed here, is no Python source, or makes the name at run time.
"""

from __future__ import annotations

import builtins
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from policyctl.model.code.library import Library
from policyctl.model.code.parameters import Parameters, parameters_of
from policyctl.model.sources import Found, SourceFile, find_source, search_path

if TYPE_CHECKING:
    from griffe import Class, Module, Object

_QUIET = logging.NullHandler()
_DEPTH = 20
_RUN_TIME = ("globals()", "sys.modules[", "setattr(sys.modules", "__path__")
_DOTTED = re.compile(r"([A-Za-z_][\w.]*)(?:\[.*\])?", re.DOTALL)

__all__ = ["Kind", "Lookup", "Missing", "Parameters"]

Kind = Literal["exception", "base", "other"]


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that is not there; ``names`` are those that are, ``module`` is where."""

    name: str
    module: str
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Lookup:
    """Look-ups along one search path; parsed modules are kept."""

    places: Sequence[str] = field(default_factory=search_path)
    _library: Library | None = None
    _dynamic: set[str] = field(default_factory=set[str])
    _modules: dict[str, Module | Found] = field(
        default_factory=dict[str, "Module | Found"]
    )

    def find(self, module: str, name: str) -> Object | Missing | None:
        """What ``module:name`` is."""
        return self._find(module, name, _DEPTH)

    def exception_kind(self, found: Object) -> Kind | None:
        """Whether a class is an exception, a BaseException only, or neither."""
        if not found.is_class:
            return None if found.is_attribute else "other"
        return self._class_kind(found, _DEPTH)  # type: ignore[arg-type]

    @property
    def library(self) -> Library:
        """Signatures along the same search path, stubs included."""
        if self._library is None:
            self._library = Library(self.places)
        return self._library

    def parameters_of(self, module: str, name: str) -> Parameters | None:
        """The parameters of a callable; None where they cannot be told."""
        return parameters_of(self.library, module, name)

    def _module(self, module: str) -> Module | Found:
        known = self._modules.get(module)
        if known is None:
            known = self._modules[module] = self._visit(module)
        return known

    def _visit(self, module: str) -> Module | Found:
        file = find_source(module, self.places)
        if not isinstance(file, SourceFile):
            return file
        from griffe import visit

        logging.getLogger("griffe").addHandler(_QUIET)
        try:
            code = file.path.read_text(encoding="utf-8")
            if any(mark in code for mark in _RUN_TIME):
                self._dynamic.add(module)
            return visit(module, filepath=file.path, code=code)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return Found.OPAQUE

    def _find(self, module: str, name: str, depth: int) -> Object | Missing | None:
        tree = self._module(module)
        if tree is Found.MISSING:
            return self._no_module(module)
        if isinstance(tree, Found) or depth <= 0:
            return None
        first, _, rest = name.partition(".")
        found = self._member(tree, first, depth)
        if not rest or found is None or isinstance(found, Missing):
            return found
        return self._attribute(found, rest, module, depth)

    def _no_module(self, module: str) -> Missing | None:
        parent, _, name = module.rpartition(".")
        if self._module(parent) is Found.MISSING:
            return self._no_module(parent)
        return None if parent in self._dynamic else Missing(name, parent)

    def _member(self, tree: Module, name: str, depth: int) -> Object | Missing | None:
        member = tree.members.get(name)
        if member is None:
            return self._elsewhere(tree, name, depth)
        if member.is_alias:
            return self._follow(str(getattr(member, "target_path", "")), depth - 1)
        return member  # type: ignore[return-value]

    def _follow(self, path: str, depth: int) -> Object | Missing | None:
        """The object at a dotted path whose module ends somewhere along it."""
        parts = path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:cut])
            if not isinstance(self._module(module), Found):
                found = self._find(module, ".".join(parts[cut:]), depth)
                return None if isinstance(found, Missing) else found
        return None

    def _elsewhere(
        self, tree: Module, name: str, depth: int
    ) -> Object | Missing | None:
        """A name that the module does not define itself."""
        if "__getattr__" in tree.members:
            return None
        unsure = tree.path in self._dynamic
        names = [n for n in tree.members if n.isidentifier()]
        for target in _wildcards(tree):
            found = self._find(target, name, depth - 1)
            if found is None:
                unsure = True
            elif isinstance(found, Missing):
                names += found.names
            else:
                return found
        if unsure or (_is_package(tree) and self._has_submodule(tree, name)):
            return None
        return Missing(name, tree.path, tuple(names))

    def _has_submodule(self, tree: Module, name: str) -> bool:
        return self._module(f"{tree.path}.{name}") is not Found.MISSING

    def _attribute(
        self, found: Object, rest: str, module: str, depth: int
    ) -> Object | Missing | None:
        """``rest`` inside a class; anything else cannot be told."""
        if not found.is_class:
            return None
        first, _, more = rest.partition(".")
        names: list[str] = []
        for owner in self._lineage(found, depth):  # type: ignore[arg-type]
            if owner is None or _is_dynamic(owner):
                return None
            member = owner.members.get(first)
            if member is not None:
                if member.is_alias:
                    return None
                return self._attribute(member, more, module, depth) if more else member  # type: ignore[arg-type,return-value]
            names += owner.members
        return Missing(rest, f"{found.path}", tuple(dict.fromkeys(names)))

    def _lineage(self, found: Class, depth: int) -> Iterator[Class | None]:
        """The class and its bases, depth first; None where a base cannot be told."""
        yield found
        for base in found.bases:
            kind = self._base(found, str(base), depth - 1)
            if kind is None:
                yield None
            elif not isinstance(kind, type):
                yield from self._lineage(kind, depth - 1)

    def _base(self, owner: Class, text: str, depth: int) -> Class | type | None:
        """The class that a base's expression names."""
        match = _DOTTED.fullmatch(text)
        if match is None or depth <= 0:
            return None
        name = match.group(1)
        found = self._find(owner.module.path, name, depth)
        if isinstance(found, Missing) and "." not in name:
            builtin = getattr(builtins, name, None)
            return builtin if isinstance(builtin, type) else None
        if found is None:
            found = self._imported(owner, name, depth)
        if found is None or isinstance(found, Missing) or not found.is_class:
            return None
        return found  # type: ignore[return-value]

    def _imported(self, owner: Class, name: str, depth: int) -> Object | None:
        """``module.Class`` where the module itself is what was imported."""
        first, _, rest = name.partition(".")
        member = owner.module.members.get(first)
        if member is None or not member.is_alias or not rest:
            return None
        found = self._follow(f"{getattr(member, 'target_path', '')}.{rest}", depth)
        return None if isinstance(found, Missing) else found

    def _class_kind(self, found: Class, depth: int) -> Kind | None:
        if depth <= 0:
            return None
        kinds: set[Kind | None] = set()
        for text in map(str, found.bases):
            base = self._base(found, text, depth)
            if base is None:
                kinds.add(None)
            elif isinstance(base, type):
                kinds.add(_builtin_kind(base))
            else:
                kinds.add(self._class_kind(base, depth - 1))
        for kind in ("exception", None, "base"):
            if kind in kinds:
                return kind
        return "other"


def _builtin_kind(found: type) -> Kind:
    if issubclass(found, Exception):
        return "exception"
    return "base" if issubclass(found, BaseException) else "other"


def _is_dynamic(owner: Class) -> bool:
    """Whether a class may have members that its source does not show."""
    decorators = {str(d.value).partition("(")[0] for d in owner.decorators}
    metaclass = str(owner.keywords.get("metaclass", "ABCMeta")).rpartition(".")[2]
    return (
        "__getattr__" in owner.members
        or metaclass != "ABCMeta"
        or not decorators
        <= {"dataclass", "dataclasses.dataclass", "final", "typing.final"}
    )


def _is_package(tree: Module) -> bool:
    return getattr(tree.filepath, "stem", "") == "__init__"


def _wildcards(tree: Module) -> Iterator[str]:
    for name in tree.members:
        if name.endswith("/*"):
            yield name.removesuffix("/*").replace("/", ".")
