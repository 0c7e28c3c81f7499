"""Find the file that tells a module's types, as type checkers look for it (PEP 561)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyctl.model.sources import consulted

_PART = re.compile(r"[^\W\d]\w*")
_LARGEST = 8_000_000


@dataclass(frozen=True, slots=True)
class CodeFile:
    """The file of one module.

    Attributes:
        module: its import name.
        path: the file, ``.py`` or ``.pyi``.
        package: whether it is an ``__init__`` file, which relative imports start in.
        typed: whether its package says that it has types: a stub, or ``py.typed``.
    """

    module: str
    path: Path
    package: bool
    typed: bool


def find_file(module: str, places: Sequence[str]) -> CodeFile | None:
    """The file of ``module``: a stub package's, else a stub, else the source.

    None where there is none: not installed, compiled, or larger than 8 MB.
    """
    parts = module.split(".")
    if not all(map(_PART.fullmatch, parts)):
        return None
    for stubs in (True, False):
        for place in places:
            for found in _in_place(Path(place), parts, stubs):
                return found
    return None


def has_package(module: str, places: Sequence[str]) -> bool:
    """Whether the top-level package or module of ``module`` is installed as files."""
    top = module.partition(".")[0]
    if _PART.fullmatch(top) is None:
        return False
    for folder in map(Path, places):
        if any((folder / f"{top}{end}").is_file() for end in (".py", ".pyi")):
            return True
        for name in (top, f"{top}-stubs"):
            if _init(folder / name) is not None:
                return True
    return False


def _in_place(place: Path, parts: list[str], stubs: bool) -> Iterator[CodeFile]:
    top = f"{parts[0]}-stubs" if stubs else parts[0]
    folder = place / top
    if len(parts) == 1 and not stubs:
        yield from _found(parts, place, parts[0], False)
        return
    if not folder.is_dir():
        return
    typed = stubs or (folder / "py.typed").is_file()
    if len(parts) == 1:
        init = _init(folder)
        if init is not None and _readable(init):
            yield CodeFile(parts[0], init, True, typed)
        return
    for part in parts[1:-1]:
        folder /= part
        typed = typed or (folder / "py.typed").is_file()
    yield from _found(parts, folder, parts[-1], typed)


def _found(
    parts: list[str], folder: Path, name: str, typed: bool
) -> Iterator[CodeFile]:
    """A package or module called ``name`` in ``folder``."""
    inner = folder / name
    init = _init(inner)
    if init is not None:
        if _readable(init):
            typed = typed or (inner / "py.typed").is_file() or init.suffix == ".pyi"
            yield CodeFile(".".join(parts), init, True, typed)
        return
    for end in (".pyi", ".py"):
        file = folder / f"{name}{end}"
        if _readable(file):
            yield CodeFile(".".join(parts), file, False, typed or end == ".pyi")
            return


def _init(folder: Path) -> Path | None:
    for name in ("__init__.pyi", "__init__.py"):
        file = folder / name
        if file.is_file():
            return file
    return None


def _readable(file: Path) -> bool:
    consulted.add(str(file.parent))
    try:
        if not file.is_file():
            return False
        consulted.add(str(file))
        return file.stat().st_size <= _LARGEST
    except OSError:
        return False
