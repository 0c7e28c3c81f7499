"""Keeps what the generator has printed, in the cache folder beside the answers."""

from __future__ import annotations

import os
import time
from pathlib import Path

from policyctl.cli import _cache
from policyctl.generate.memo import Memo, installation

_NAME = "modules"
_MOST_BYTES = 100_000_000


def read(root: Path) -> Memo:
    """The memo of a project; an empty one where there is none that can be used."""
    if os.environ.get(_cache.VARIABLE):
        return Memo()
    try:
        path = _path(root)
        if path.stat().st_size > _MOST_BYTES:
            return Memo()
        head, *lines = path.read_text("ascii").split("\n")
        if head != installation() or lines.pop() != "end":
            return Memo()
        parts = (line.partition(" ") for line in lines)
        return Memo({key: digest for key, _, digest in parts})
    except (OSError, ValueError, IndexError):
        return Memo()


def write(root: Path, memo: Memo, *, partial: bool) -> None:
    """Keep what this run has used, and after a partial run what was known before.

    If that fails, the next run renders everything.
    """
    found = {**memo.known, **memo.used} if partial else memo.used
    if os.environ.get(_cache.VARIABLE) or found == memo.known:
        return
    lines = [installation(), *map(" ".join, found.items()), "end"]
    path = _path(root)
    temporary = path.with_name(f"{_NAME}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        _cache._make(str(path.parent))
        temporary.write_text("\n".join(lines), "ascii")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _path(root: Path) -> Path:
    return root / _cache.FOLDER / _NAME
