"""The runtime inside the generated package, for ``runtime = "bundled"``.

Every module of ``policyctl.runtime`` is copied, and whatever else of policyctl they
import. Imports become relative ones, so the copy works under any package's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from policyctl.generate.digest import content_digest
from policyctl.generate.header import Header

FOLDER = "_runtime"
"""The folder of the copy inside the generated package."""

_CHECKERS = (
    "mypy: ignore-errors",
    "pyright: basic, reportMissingImports=false, reportMissingModuleSource=false",
    "pyright: reportAttributeAccessIssue=false",
)
_IMPORT = re.compile(
    r"^(?P<margin> *)from policyctl\.(?P<module>[\w.]+) import ", re.MULTILINE
)
_ANY_IMPORT = re.compile(r"^ *(?:from|import) +policyctl\b", re.MULTILINE)


@cache
def bundled_runtime() -> dict[str, bytes]:
    """The files of the copy by their paths below the package, headers included."""
    found: dict[str, bytes] = {}
    for path, text in sorted(_sources().items()):
        source = f"policyctl/{path}"
        header = Header(source, content_digest(text.encode("utf-8")))
        # Checked where it comes from; optional packages may not be installed here.
        lines = (*header.lines(), *_CHECKERS)
        comment = "".join(f"# {line}\n" for line in lines)
        name = f"{FOLDER}/{_inside(path)}"
        found[name] = (comment + _relative(path, text)).encode("utf-8")
    return found


def _sources() -> dict[str, str]:
    """All modules of the runtime, and what they import, by path below ``policyctl``."""
    root = Path(str(files("policyctl")))
    waiting = [
        str(PurePosixPath(path.relative_to(root)))
        for path in sorted((root / "runtime").rglob("*.py"))
    ]
    found: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = (root / path).read_text(encoding="utf-8")
        for match in _IMPORT.finditer(found[path]):
            waiting += _needed(root, match["module"])
    return found


def _needed(root: Path, module: str) -> Iterator[str]:
    """The files of a module and of the packages around it, outside of the runtime."""
    parts = module.split(".")
    if parts[0] == "runtime":
        return
    for end in range(1, len(parts) + 1):
        for path in (
            "/".join(parts[:end]) + ".py",
            "/".join(parts[:end]) + "/__init__.py",
        ):
            if (root / path).is_file():
                yield path


def _inside(path: str) -> str:
    """The place of a file of policyctl in the copy."""
    return path.removeprefix("runtime/")


def _relative(path: str, text: str) -> str:
    """The text with imports that are relative to its place in the copy.

    Raises:
        ValueError: an import has a form that cannot be made relative.
    """
    dots = "." * len(PurePosixPath(_inside(path)).parts)

    def rewrite(match: re.Match[str]) -> str:
        module = match["module"]
        inner = module.removeprefix("runtime").removeprefix(".")
        if module.split(".")[0] != "runtime":
            inner = module
        return f"{match['margin']}from {dots}{inner} import "

    done = _IMPORT.sub(rewrite, text)
    left = _ANY_IMPORT.search(done)
    if left is not None:
        raise ValueError(f"{path}: {left[0].strip()} cannot be bundled")
    return done
