"""Records in Redis or Valkey, for all processes of all machines.

A record is one hash, and each step is one script on it, so that it works on a cluster.
It ends by the server's own clock, and what a lost reply hides may be asked again.
"""

from __future__ import annotations

from math import ceil

from policyctl.runtime.idempotency.memory import Record
from policyctl.runtime.stores.errors import StoreFullError, StoreUnavailableError
from policyctl.runtime.stores.redis import RedisServer, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PREFIX = "policyctl:idempotency:"
FOREVER = 366 * 86400
"""Seconds that a call without a limit may be in progress."""
_SCAN = 500

_CLAIM = Script("""
local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'owner', 'payload')
if found[1] and found[2] ~= ARGV[2] then return found end
if not found[3] then
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'owner', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return false
""")
_COMPLETE = Script("""
local found = redis.call('HMGET', KEYS[1], 'owner', 'payload')
if found[1] ~= ARGV[1] then return 0 end
if found[2] then return found[2] == ARGV[2] and 1 or 0 end
redis.call('HSET', KEYS[1], 'payload', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
""")
_RELEASE = Script("""
local found = redis.call('HMGET', KEYS[1], 'owner', 'payload')
if found[1] == ARGV[1] and not found[2] then redis.call('DEL', KEYS[1]) end
return 0
""")


class RedisStore:
    """A hash for each record, with the prefix ``policyctl:idempotency:``.

    Args:
        url_env: the environment variable with the address.
        max_bytes: the largest outcome that is kept.
        name: ``service.operation``, which the keys of its records begin with.
    """

    blocking = True

    def __init__(self, url_env: str, max_bytes: int, name: str) -> None:
        self.max_bytes = max_bytes
        self._name = name
        self._server = RedisServer(url_env)

    def claim(
        self, key: str, fingerprint: str, owner: str, in_progress: float | None
    ) -> Record | None:
        """Take the key for ``owner``; else what is there, unchanged.

        Raises:
            StoreUnavailableError: the server is away. The key may be taken; it is
                given back when ``in_progress`` is over.
        """
        lasts = _millis(FOREVER if in_progress is None else in_progress)
        found = self._run(_CLAIM, key, fingerprint, owner, lasts)
        if found is None:
            return None
        record = Record(found[0].decode(), found[1].decode(), float("inf"))
        record.payload = found[2]
        return record

    def complete(self, key: str, owner: str, payload: bytes, ttl: float) -> bool:
        """Store an outcome; False if the key is not the owner's any more.

        Raises:
            StoreUnavailableError: the server is away; ask again to be sure.
        """
        return bool(self._run(_COMPLETE, key, owner, payload, _millis(ttl)))

    def release(self, key: str, owner: str) -> None:
        """Free the key if it is the owner's.

        Raises:
            StoreUnavailableError: the server is away.
        """
        self._run(_RELEASE, key, owner)

    def watch(self, key: str, wake: Callable[[], object]) -> bool:
        """Nobody tells of what other processes do: poll."""
        return False

    def unwatch(self, key: str, wake: Callable[[], object]) -> None:
        """There is nothing to forget."""

    def clear(self) -> None:
        """Forget the records of this operation, for tests and operators.

        Raises:
            StoreUnavailableError: the server is away.
        """
        client = self._server.client()
        pattern = f"{PREFIX}{_escaped(self._name)}:*"
        for key in client.scan_iter(match=pattern, count=_SCAN):
            client.delete(key)

    def after_fork(self) -> None:
        """The server forgets its connections by itself."""

    def _run(self, script: Script, key: str, *args: str | bytes | int) -> Any:
        try:
            return self._server.run(script, [PREFIX + key], args)
        except StoreFullError as error:
            raise StoreUnavailableError(
                store=self._server.address, message=str(error)
            ) from error


def _millis(seconds: float) -> int:
    return max(1, ceil(round(seconds * 1_000_000) / 1000))


def _escaped(name: str) -> str:
    return "".join(f"\\{c}" if c in "*?[]\\" else c for c in name)
