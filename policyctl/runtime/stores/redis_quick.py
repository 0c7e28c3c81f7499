"""One script that is run very often, sent with less work than the client's method takes.

The client asks each connection of its pool whether it is still good, counts and times the
command and packs all of it anew: as much work as the exchange itself. Here the command is
packed but for its last values, and connections are kept aside between two uses. That one
of them was closed meanwhile shows when it is used: callers must be able to repeat.
"""

from __future__ import annotations

from policyctl.runtime.stores.redis import error_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from policyctl.runtime.stores.redis import Argument, RedisServer, Script

KEEP = 16
"""Connections that are kept aside; as many threads at once use no other."""


class QuickScript:
    """A script with its keys and first arguments.

    Args:
        server: where it runs; on a cluster it is run by the client's own method.
        script: the script.
        keys: its keys.
        first: the arguments that are always the same.
        more: how many arguments ``run`` adds.
    """

    __slots__ = ("_first", "_idle", "_keys", "_prefix", "_script", "_server")

    def __init__(
        self,
        server: RedisServer,
        script: Script,
        keys: Sequence[str],
        first: Sequence[Argument],
        more: int,
    ) -> None:
        self._server = server
        self._script = script
        self._keys = keys
        self._first = first
        words = ["EVALSHA", script.digest, len(keys), *keys, *first]
        head = b"*%d\r\n" % (len(words) + more)
        self._prefix = head + b"".join(map(_packed, map(_bytes, words)))
        self._idle: list[tuple[Any, Any]] = []

    def run(self, *values: bytes) -> Any:
        """Run it with the values behind the first arguments, and give its reply.

        Raises:
            StoreUnavailableError, StoreFullError: as ``RedisServer.run``; also where
                the connection had been closed since its last use.
        """
        client = self._server.client()
        if self._server.is_cluster:
            return self._slowly(values)
        connection = self._borrow(client)
        try:
            packed = self._prefix + b"".join(map(_packed, values))
            connection.send_packed_command((packed,), False)
            reply = connection.read_response()
        except BaseException as error:
            code = error_code(error)
            if not code:
                connection.disconnect()  # an answer may be on its way still
            self._give_back(client, connection)
            if code in ("NOSCRIPT", "READONLY"):
                return self._slowly(values)
            if isinstance(error, Exception):
                raise self._server.translated(error) from error
            raise
        self._give_back(client, connection)
        return reply

    def _slowly(self, values: tuple[bytes, ...]) -> Any:
        return self._server.run(self._script, self._keys, [*self._first, *values])

    def _borrow(self, client: Any) -> Any:
        while True:
            try:
                owner, connection = self._idle.pop()
            except IndexError:
                break
            if owner is client:
                return connection
            _let_go(owner, connection)
        try:
            return _connection_of(client.connection_pool)
        except Exception as error:
            raise self._server.translated(error) from error

    def _give_back(self, client: Any, connection: Any) -> None:
        is_moving = getattr(connection, "should_reconnect", None)
        if is_moving is not None and is_moving():
            connection.disconnect()
        if len(self._idle) < KEEP:
            self._idle.append((client, connection))
        else:
            _let_go(client, connection)

    def close(self) -> None:
        """Close the connections that are kept aside."""
        while self._idle:
            _let_go(*self._idle.pop())


_leaked: list[object] = []


def _connection_of(pool: Any) -> Any:
    try:
        return pool.get_connection()
    except TypeError:  # older clients want to know for which command
        return pool.get_connection("EVALSHA")


def _let_go(client: Any, connection: Any) -> None:
    try:
        connection.disconnect()
        client.connection_pool.release(connection)
    except Exception:
        _leaked.append(connection)


def _bytes(value: Argument) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _packed(value: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(value), value)
