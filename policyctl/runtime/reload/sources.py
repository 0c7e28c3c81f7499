"""Where documents come from: a file, a callable such as a URL fetcher, a Redis key."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from policyctl.runtime.reload.document import MAX_BYTES
from policyctl.runtime.stores.redis import RedisServer

REDIS_URL = "POLICY_REDIS_URL"


class Source(Protocol):
    """Gives the text of a document; safe to call again and again from one thread."""

    @property
    def name(self) -> str:
        """What people call it, without passwords."""
        ...

    def fetch(self) -> bytes:
        """The text as it is now; raises where it cannot be had."""
        ...


class FileSource:
    """A file that is looked at by time, size and, where those may mislead, content.

    A file that changed within the last two seconds is read again, since its time may
    not tell two writes apart.

    Args:
        path: the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self._seen: tuple[int, int, int, int] | None = None
        self._text = b""
        self._digest: str = ""

    @property
    def name(self) -> str:
        """The path."""
        return str(self._path)

    def fetch(self) -> bytes:
        """The content.

        Raises:
            OSError: it cannot be read.
            ValueError: it is too large, or no regular file: a pipe would never end.
        """
        found = os.stat(self._path)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        seen = found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
        if seen == self._seen and self._is_settled():
            return self._text
        if found.st_size > MAX_BYTES:
            raise ValueError(f"{found.st_size} bytes are over the limit of {MAX_BYTES}")
        with open(self._path, "rb") as file:
            text = file.read(MAX_BYTES + 1)  # it may grow meanwhile
        digest = hashlib.sha256(text).hexdigest()
        if digest != self._digest:
            self._text, self._digest = text, digest
        self._seen = seen
        return self._text

    def _is_settled(self) -> bool:
        import time

        assert self._seen is not None
        return abs(time.time_ns() - self._seen[0]) > 2_000_000_000


class FetchSource:
    """A callable of yours: an HTTP client, an object store, a config service.

    Args:
        fetch: gives the text as bytes or str; raises where it cannot. It runs in the
            reloader's thread and should have a timeout of its own.
        name: what logs call it.
    """

    def __init__(self, fetch: Callable[[], bytes | str], name: str = "fetcher") -> None:
        self._fetch = fetch
        self._name = name

    @property
    def name(self) -> str:
        """What logs call it."""
        return self._name

    def fetch(self) -> bytes:
        """What the callable gives; whatever it raises comes out."""
        text: object = self._fetch()
        if isinstance(text, str):
            return text.encode("utf-8")
        if isinstance(text, bytes):
            return text
        raise TypeError(f"{self._name} gave {type(text).__name__}, not bytes or str")


class RedisSource:
    """A key of Redis or Valkey that holds the text.

    Args:
        key: the key.
        url_env: the environment variable with the address.
    """

    def __init__(self, key: str, url_env: str = REDIS_URL) -> None:
        self._key = key
        self._server = RedisServer(url_env)

    @property
    def name(self) -> str:
        """The address without user and password, and the key."""
        return f"{self._server.address} {self._key}"

    def fetch(self) -> bytes:
        """The value of the key.

        Raises:
            StoreUnavailableError: the server is away.
            LookupError: there is no such key.
        """
        found = self._server.get(self._key)
        if found is None:
            raise LookupError(f"there is no key {self._key!r}")
        return found
