"""Find the source file of a module without importing anything, parents included."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

_LARGEST = 2_000_000

consulted: set[str] = set()
"""Folders that were searched and files that were found, for those who keep answers."""


class Found(Enum):
    """How far a module could be found."""

    ABSENT = "absent"
    """Its top-level package is not installed: nothing can be said."""
    OPAQUE = "opaque"
    """It is there, but not as readable Python source."""
    MISSING = "missing"
    """Its package is installed and has no such module."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The Python source of one module; ``package`` when it can have submodules."""

    module: str
    path: Path
    package: bool


def search_path() -> tuple[str, ...]:
    """Where modules are looked for: the working directory, its ``src``, ``sys.path``."""
    here = Path.cwd()
    places = [str(here), str(here / "src"), *(place for place in sys.path if place)]
    return tuple(dict.fromkeys(places))


def find_source(module: str, places: Sequence[str]) -> SourceFile | Found:
    """Find a module's file, from its top-level package down.

    A namespace package has no file and is ``OPAQUE`` itself; what is in it is found.
    """
    parts = module.split(".")
    if parts[0] in sys.builtin_module_names:
        return Found.OPAQUE
    path: Sequence[str] = places
    spec = None
    for index, part in enumerate(parts):
        parent, spec = spec, _find_spec(part, path)
        if spec is None:
            return _not_found(parent)
        locations = spec.submodule_search_locations
        if index + 1 < len(parts):
            if locations is None:
                return Found.OPAQUE
            path = list(locations)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return Found.OPAQUE
    file = Path(spec.origin)
    consulted.add(spec.origin)
    try:
        if file.stat().st_size > _LARGEST:
            return Found.OPAQUE
    except OSError:
        return Found.OPAQUE
    return SourceFile(module, file, spec.submodule_search_locations is not None)


def _not_found(parent: ModuleSpec | None) -> Found:
    """What it means that a module is not in its parent.

    Any folder is a namespace package, a folder ``redis`` of settings too, so that what
    it lacks may be elsewhere.
    """
    if parent is None:
        return Found.ABSENT
    return Found.OPAQUE if parent.origin is None else Found.MISSING


def _find_spec(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """The spec of ``name`` in a folder of ``path``.

    The last part of a module's name is enough to find it, and a full name would make
    the finder look for the parent among the imported modules.
    """
    consulted.update(path)
    try:
        return PathFinder.find_spec(name, path)
    except (ImportError, OSError, ValueError, KeyError):
        return None
