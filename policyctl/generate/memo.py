"""What this installation has printed before, so that it need not print it again.

A module is a function of its service, the options and the generator. Where all three
are those of an earlier run, and the file on disk is the one that came out then, there
is nothing to render. The lock file cannot tell that: it is part of the package, anybody
may have edited it, and the same version of policyctl may have other code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from policyctl import assets

_PACKAGES = ("black", "jinja2", "markupsafe", "griffe")


class Memo:
    """Digests of rendered files by what they were rendered from.

    Attributes:
        known: those of earlier runs.
        used: those of this run, which are worth keeping.
    """

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.known = {} if known is None else known
        self.used: dict[str, str] = {}

    def find(self, key: str) -> str | None:
        """The digest of the file that came of ``key``, if that is known."""
        return self.known.get(key)

    def note(self, key: str, digest: str) -> None:
        """Keep what came of ``key``."""
        self.used[key] = digest


def key_of(*parts: Any) -> str:
    """The key for JSON data; other than in digests, the order of its keys counts."""
    text = json.dumps(parts, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=20).hexdigest()


@cache
def installation() -> str:
    """A digest of the generator's code and templates, and of what it prints with."""
    found = blake2b(sys.version.encode())
    package = Path(assets.__file__).parent
    for path in (*_all(package, "*.py"), *_all(assets.templates(), "*.jinja")):
        found.update(f"{path}\0".encode("utf-8", "surrogateescape"))
        found.update(path.read_bytes())
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            status = Path(spec.origin).stat()
            found.update(f"{spec.origin} {status.st_mtime_ns}\0".encode())
    return found.hexdigest()[:40]


def _all(folder: Path, pattern: str) -> Iterable[Path]:
    return sorted(folder.rglob(pattern))
