"""``policies.lock.json``: every resolved value of a package, and what it consists of.

The file is read back to merge a partial run, to tell whose files are in the folder,
and to tell a stale file from one that was edited by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from policyctl.generate.digest import FORMAT_VERSION, policy_digest

LOCK_NAME = "policies.lock.json"


# Keys whose values are spread over lines; None stands for any key.
_Levels = Mapping[str | None, "_Levels"]
_POLICY: _Levels = {"policy": {"operations": {None: {}}}}
_LEVELS: _Levels = {"files": {}, "options": {}}
_SERVICES = b',\n  "services": {'
_encode = json.JSONEncoder(sort_keys=True, allow_nan=False).encode


class LockError(ValueError):
    """The text is not a lock file that this version reads; the message says why."""


@dataclass(frozen=True, slots=True)
class LockedService:
    """One service: its digest, the file it was read from, and its resolved values."""

    digest: str
    source: str
    policy: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock file; ``files`` are digests by name, itself excepted."""

    generator: str
    options: Mapping[str, Any]
    services: Mapping[str, LockedService]
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT_VERSION

    def is_intact(self) -> bool:
        """Whether every service has the values that its digest was made of."""
        try:
            return all(
                policy_digest(service.policy, self.options, self.format)
                == service.digest
                for service in self.services.values()
            )
        except ValueError:
            return False

    def render(self) -> bytes:
        """The file: keys sorted, a block of settings on each line, ASCII."""
        return b"".join(self._parts())

    def renders_as(self, content: bytes) -> bool:
        """Whether :meth:`render` gives ``content``, without making a second copy."""
        at = 0
        for part in self._parts():
            if not content.startswith(part, at):
                return False
            at += len(part)
        return at == len(content)

    def _parts(self) -> Iterator[bytes]:
        names = sorted(self.services)
        return self.render_with((n, render_service(self.services[n])) for n in names)

    def render_with(self, services: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
        """The file in parts, with these services as :func:`render_service` prints them.

        They come in the order of their names.
        """
        head = {
            "files": self.files,
            "format": self.format,
            "generator": self.generator,
            "options": self.options,
        }
        yield "".join(_pretty(head, "", _LEVELS)).encode("ascii")[: -len("\n}")]
        yield _SERVICES
        separator = ""
        for name, text in services:
            yield f"{separator}\n    {_encode(name)}: ".encode("ascii")
            yield text
            separator = ","
        yield b"\n  }\n}\n" if separator else b"}\n}\n"

    @classmethod
    def parse_head(cls, content: bytes) -> Self:
        """A file as :meth:`render` prints it, without its services.

        Raises:
            LockError: it is not one.
        """
        return cls.parse(content.partition(_SERVICES)[0] + _SERVICES + b"}}")

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a lock file.

        Raises:
            LockError: it is not one.
        """
        try:
            data: object = json.loads(content)
        except (ValueError, RecursionError):
            raise LockError("it is not JSON") from None
        if not isinstance(data, dict):
            raise LockError("it is not a JSON object")
        found = cast("dict[str, Any]", data)
        services = {
            name: _locked_service(name, entry)
            for name, entry in _table(found, "services").items()
        }
        files = _table(found, "files")
        if not all(isinstance(value, str) for value in files.values()):
            raise LockError("files holds something other than digests")
        version, generator = found.get("format"), found.get("generator")
        if not isinstance(version, int) or not isinstance(generator, str):
            raise LockError("format or generator is missing")
        return cls(generator, _table(found, "options"), services, files, version)


def render_service(service: LockedService) -> bytes:
    """One service as it is in the file, without its name."""
    data = {
        "digest": service.digest,
        "policy": service.policy,
        "source": service.source,
    }
    return "".join(_pretty(data, "    ", _POLICY)).encode("ascii")


def _locked_service(name: str, entry: object) -> LockedService:
    if not isinstance(entry, dict):
        raise LockError(f"services.{name} is not an object")
    fields = cast("dict[str, Any]", entry)
    found, source = fields.get("digest"), fields.get("source")
    if not isinstance(found, str) or not isinstance(source, str):
        raise LockError(f"services.{name} has no digest or source")
    return LockedService(found, source, _table(fields, "policy"))


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise LockError(f"{key} is not an object")
    return cast("dict[str, Any]", value)


def _pretty(data: Mapping[str, Any], margin: str, levels: _Levels) -> Iterator[str]:
    """JSON with one key per line down to ``levels``, and below that on one line."""
    if not data:
        yield "{}"
        return
    separator = "{"
    for key in sorted(data):
        yield f"{separator}\n{margin}  {_encode(key)}: "
        value, below = data[key], levels.get(key, levels.get(None))
        if below is None:
            yield _encode(value)
        else:
            yield from _pretty(value, f"{margin}  ", below)
        separator = ","
    yield f"\n{margin}}}"
