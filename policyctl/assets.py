"""Find the folders that ship with the package, installed or in a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def folder(kind: str) -> Path:
    """The shipped folder ``kind``: ``templates`` or ``policies/presets``.

    In a wheel it lies inside the package; in a checkout, and so for an editable
    installation, beside it. A checkout is told by the folder beside the package
    together with ``pyproject.toml``, and there it wins: what an editable
    installation copied into site-packages may be stale.

    Raises:
        FileNotFoundError: the folder is in neither place.
    """
    package = Path(str(files("policyctl")))
    beside = package.parent.joinpath(*kind.split("/"))
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    inside = package.joinpath(*kind.split("/"))
    if inside.is_dir():
        return inside
    raise FileNotFoundError(f"the {kind} folder is missing from this installation")


def presets() -> dict[str, Path]:
    """The shipped presets by name."""
    found = sorted(folder("policies/presets").glob("*.yaml"))
    return {path.stem: path for path in found}


def templates() -> Path:
    """The folder of the shipped templates."""
    return folder("templates")
