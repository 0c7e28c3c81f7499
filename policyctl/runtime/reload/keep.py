"""The last good document on disk, for a start while its source is away."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, cast

from policyctl.runtime.stores.wall import wall_micros

_FORMAT = 1


class KeptError(ValueError):
    """What was kept cannot be used; the message says why."""


class Kept:
    """A file with the text, its checksum and when the source last confirmed it.

    Args:
        path: the file; its folder is made when it is first written.
        max_age: seconds after which it is not used any more; None: never too old.
    """

    def __init__(self, path: str | os.PathLike[str], max_age: float | None) -> None:
        self.path = Path(path).absolute()
        self.max_age = max_age

    def save(self, text: bytes) -> None:
        """Write the file whole: a crash leaves the old one or the new one.

        Raises:
            OSError: it cannot be written.
        """
        body = text.decode("utf-8")
        saved = wall_micros()
        data = {
            "format": _FORMAT,
            "saved_at_us": saved,
            "checksum": _checksum(text, saved),
            "document": body,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            with open(part, "w", encoding="utf-8") as file:
                json.dump(data, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def load(self) -> tuple[bytes, float]:
        """The text, and how many seconds ago its source confirmed it.

        Raises:
            KeptError: there is none, it is damaged, or it is too old.
        """
        text, saved = self._read()
        age = max(0.0, (wall_micros() - saved) / 1_000_000)
        if self.max_age is not None and age > self.max_age:
            raise KeptError(
                f"{self.path.name} is {age:.0f} s old, over the limit of "
                f"{self.max_age:g} s"
            )
        return text, age

    def _read(self) -> tuple[bytes, int]:
        name = self.path.name
        try:
            found: object = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            raise KeptError(f"{name} is not there") from None
        except (OSError, ValueError, RecursionError) as error:
            raise KeptError(f"{name} cannot be read: {error}") from None
        data: dict[str, Any] = {}
        if isinstance(found, dict):
            data = cast("dict[str, Any]", found)
        body, saved = data.get("document"), data.get("saved_at_us")
        if not isinstance(body, str) or not isinstance(saved, int):
            raise KeptError(f"{name} is not a kept document")
        text = body.encode("utf-8", "surrogatepass")
        if data.get("checksum") != _checksum(text, saved):
            raise KeptError(f"{name} is damaged: its checksum does not match")
        return text, saved


def _checksum(text: bytes, saved: int) -> str:
    return hashlib.sha256(b"%d\n" % saved + text).hexdigest()
