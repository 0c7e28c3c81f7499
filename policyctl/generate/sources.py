"""How a generated file names the policy file that it comes from."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path, PurePath

_MARKERS = ("policyctl.toml", "pyproject.toml", ".git", ".hg")


def source_label(path: str, root: Path | None) -> str:
    """The path of a policy file, the same on every machine and from every folder.

    It is relative to ``root`` (the folder of the configuration), else to the nearest
    folder upwards that looks like a project's, else it is the file and its folder
    alone. Slashes are forward; it is never absolute.
    """
    if path in ("-", "<stdin>"):
        return "<stdin>"
    file = PurePath(os.path.abspath(path))
    base = PurePath(os.path.abspath(root)) if root is not None else None
    if base is None or not file.is_relative_to(base):
        base = _project_folder(file.parent)
    if base is None:
        base = file.parent.parent
    return file.relative_to(base).as_posix()


@lru_cache(maxsize=1024)
def _project_folder(folder: PurePath) -> PurePath | None:
    for candidate in (folder, *folder.parents):
        if any(os.path.lexists(candidate / marker) for marker in _MARKERS):
            return candidate
    return None
