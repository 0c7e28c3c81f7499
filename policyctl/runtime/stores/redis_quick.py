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


class QuickConnections:
    """Connections of a server's client that are kept aside between two uses.

    Args:
        server: where they lead.
    """

    __slots__ = ("_idle", "_most", "server")

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self._most = KEEP
        self._idle: list[tuple[Any, Any]] = []

    def borrow(self, client: Any, *, checked: bool) -> Any:
        """A connection of the client, perhaps one that was closed unless ``checked``."""
        while True:
            try:
                owner, connection = self._idle.pop()
            except IndexError:
                return self._new(client)
            if owner is client and not (checked and _is_closed(connection)):
                return connection
            _let_go(owner, connection)

    def _new(self, client: Any) -> Any:
        pool = client.connection_pool
        # Half of a small pool stays for the client's own methods.
        self._most = min(KEEP, getattr(pool, "max_connections", 2 * KEEP) // 2)
        try:
            return _connection_of(pool)
        except Exception as error:
            raise self.server.translated(error) from error

    def give_back(self, client: Any, connection: Any) -> None:
        """Keep a connection for the next use."""
        is_moving = getattr(connection, "should_reconnect", None)
        if is_moving is not None and is_moving():
            connection.disconnect()
        if len(self._idle) < self._most:
            self._idle.append((client, connection))
        else:
            _release(client, connection)

    def close(self) -> None:
        """Close the connections that are kept aside."""
        while self._idle:
            _let_go(*self._idle.pop())


class QuickScript:
    """A script with its keys and first arguments.

    Args:
        connections: what it is sent on; on a cluster the client's own method is used.
        script: the script.
        keys: its keys.
        first: the arguments that are always the same.
    """

    __slots__ = ("_connections", "_count", "_first", "_keys", "_packed", "_script")

    def __init__(
        self,
        connections: QuickConnections,
        script: Script,
        keys: Sequence[str],
        first: Sequence[Argument],
    ) -> None:
        self._connections = connections
        self._script = script
        self._keys = keys
        self._first = first
        words = ["EVALSHA", script.digest, len(keys), *keys, *first]
        self._count = len(words)
        self._packed = b"".join(map(_packed, words))

    def run(self, values: Sequence[Argument], *, checked: bool = False) -> Any:
        """Run it with the values behind the first arguments, and give its reply.

        Args:
            values: the last arguments.
            checked: look first whether the connection was closed, for scripts that
                nobody repeats.

        Raises:
            StoreUnavailableError, StoreFullError: as ``RedisServer.run``; also where
                the connection had been closed since its last use.
        """
        connections = self._connections
        client = connections.server.client()
        if connections.server.is_cluster:
            return self._slowly(values)
        head = b"*%d\r\n" % (self._count + len(values))
        command = b"".join((head, self._packed, *map(_packed, values)))
        connection = connections.borrow(client, checked=checked)
        try:
            connection.send_packed_command((command,), False)
            reply = connection.read_response()
        except BaseException as error:
            code = error_code(error)
            if not _is_answer(error):
                connection.disconnect()  # one may be on its way still
            connections.give_back(client, connection)
            if code in ("NOSCRIPT", "READONLY"):
                return self._slowly(values)
            if isinstance(error, Exception):
                raise connections.server.translated(error) from error
            raise
        connections.give_back(client, connection)
        return reply

    def _slowly(self, values: Sequence[Argument]) -> Any:
        server = self._connections.server
        return server.run(self._script, self._keys, [*self._first, *values])


_leaked: list[object] = []


def _connection_of(pool: Any) -> Any:
    try:
        return pool.get_connection()
    except TypeError:  # older clients want to know for which command
        return pool.get_connection("EVALSHA")


def _let_go(client: Any, connection: Any) -> None:
    try:
        connection.disconnect()
    except Exception:
        _leaked.append(connection)
    else:
        _release(client, connection)


def _release(client: Any, connection: Any) -> None:
    """Give a connection back to its pool."""
    try:
        client.connection_pool.release(connection)
    except Exception:
        _leaked.append(connection)


def _is_answer(error: BaseException) -> bool:
    """Whether the server said so: then its answer was read to the end."""
    return any(cls.__name__ == "ResponseError" for cls in type(error).__mro__)


def _is_closed(connection: Any) -> bool:
    """Whether something waits to be read: the end, or an answer to nobody."""
    try:
        return bool(connection.can_read())
    except Exception:
        return True


def _packed(value: Argument) -> bytes:
    if not isinstance(value, bytes):
        value = str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(value), value)
