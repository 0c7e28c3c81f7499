"""Notes what a run depends on, so that the cache can answer the next one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from policyctl.cli._cache import Dependencies

if TYPE_CHECKING:
    from policyctl.cli._session import Session

_PACKAGES = ("yaml", "pydantic", "pydantic_core", "griffe", "jinja2", "black", "typer")
_CONFIGURATIONS = ("policyctl.toml", "pyproject.toml")


class Recording:
    """The dependencies of the present run; ``root`` is set once all are known."""

    def __init__(self) -> None:
        self.dependencies = Dependencies()
        self.root: str | None = None


_current: Recording | None = None


def begin() -> Recording:
    """Record the run that begins."""
    global _current
    _current = Recording()
    return _current


def end() -> None:
    """Record no longer."""
    global _current
    _current = None


def note(session: Session, *more: str | os.PathLike[str]) -> None:
    """Note that the outcome depends on ``session`` and on further paths or trees."""
    if _current is None:
        return
    found = _current.dependencies
    for file in session.gathered.files:
        if file.path is not None:
            found.file(file.path, file.data)
    found.paths(session.gathered.folders)
    found.paths(_presets(session))
    found.paths(_configurations(session.config.root))
    found.paths(_installation())
    for path in more:
        found.tree(path)
    found.only_today |= any(b"until" in f.data for f in session.gathered.files)
    _current.root = str(session.config.root)


def _presets(session: Session) -> Iterable[Path]:
    """Where presets are looked for, whether there are any or not."""
    gathered = session.gathered
    root = session.config.root
    places = {root / name: None for name in session.config.policies}
    places.update(dict.fromkeys(gathered.roots))
    places.update({f.path.parent: None for f in gathered.files if f.path is not None})
    for place in places:
        folder = place / "presets"
        yield place
        yield folder
        yield from sorted((*folder.glob("*.yaml"), *folder.glob("*.yml")))


def _configurations(root: Path) -> Iterable[str]:
    """The configuration files from here up to the one that holds, or to the top."""
    folder = os.getcwd()
    while True:
        for name in _CONFIGURATIONS:
            yield os.path.join(folder, name)
        above = os.path.dirname(folder)
        if above == folder or (
            folder == str(root)
            and os.path.exists(os.path.join(folder, "policyctl.toml"))
        ):
            return
        folder = above


def _installation() -> Iterable[str]:
    """This package with its data, the packages it uses, and where packages lie."""
    from policyctl import assets
    from policyctl.model.sources import consulted

    tree = Dependencies()
    tree.tree(Path(assets.__file__).parent)
    for folder in (assets.templates(), assets.folder("policies/presets")):
        tree.tree(folder)
    yield from tree.known()
    for name in _PACKAGES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            yield file
    yield from (place for place in sys.path if place)
    yield from consulted
