"""One Redis or Valkey server, or a cluster of them: connections and scripts.

Nothing is imported or opened before the first command. Commands are never repeated
blindly: a lost reply says nothing about whether the command ran (RQ-13). What is safe to
repeat is repeated once: a script that the server does not know, and one that it refused
because it is no primary any more (RQ-12).
"""

from __future__ import annotations

import os
from hashlib import sha1
from threading import Lock
from urllib.parse import urlsplit
from weakref import WeakSet

from policyctl.runtime.stores.errors import StoreFullError, StoreUnavailableError
from policyctl.runtime.stores.redis_sentinel import (
    connect,
    is_sentinel,
    without_secrets,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Argument = str | bytes | int | float
    Step = tuple["Script", Sequence[str], Sequence[Argument]]

_REFUSED = {
    "OSError",
    "RedisError",
    "ValkeyError",
    "RedisClusterException",
    "ValkeyClusterException",
}
TIMEOUT = 1.0
"""Seconds that connecting, and waiting for an answer, may take unless said otherwise."""

_servers: WeakSet[RedisServer] = WeakSet()
_leaked: list[object] = []


class Script:
    """A Lua script; the server keeps it by its digest.

    Attributes:
        text: the source.
        digest: what the server calls it.
    """

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisServer:
    """A server whose address an environment variable holds.

    Safe for many threads; a child process of a fork makes its own connections.

    Args:
        url_env: the environment variable with the address, such as
            ``redis://127.0.0.1:6379/0``, ``rediss://…``, ``unix://…`` or
            ``redis+sentinel://…``.
        timeout: seconds to connect, and seconds to wait for an answer.
    """

    def __init__(self, url_env: str, *, timeout: float = TIMEOUT) -> None:
        self.url_env = url_env
        self.timeout = timeout
        self.after_fork()
        _servers.add(self)

    def after_fork(self) -> None:
        """In a child process: forget the connections of the parent."""
        _leaked.extend(filter(None, [getattr(self, "_client", None)]))
        self._client: Any = None
        self._cluster = False
        self._process = os.getpid()
        self._lock = Lock()

    @property
    def address(self) -> str:
        """The address without user and password; the variable's name if it is unset."""
        url = os.environ.get(self.url_env, "")
        if not url:
            return f"${self.url_env}"
        if is_sentinel(url):
            return without_secrets(url)
        try:
            parts = urlsplit(url)
            place = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
        except ValueError:
            return f"${self.url_env}"
        return f"{parts.scheme}://{place}{parts.path}"

    @property
    def is_cluster(self) -> bool:
        """Whether the client found a cluster; False before the first command."""
        return self._cluster

    def client(self) -> Any:
        """The client: ``redis.Redis`` or ``redis.RedisCluster``, answering in bytes.

        Raises:
            StoreUnavailableError: there is no address, no client library or no server.
        """
        if os.getpid() != self._process:
            self.after_fork()
        client = self._client
        if client is None:
            with self._lock:
                client = self._client
                if client is None:
                    client = self._client = self._connect()
        return client

    def run(self, script: Script, keys: Sequence[str], args: Sequence[Argument]) -> Any:
        """Run a script and give its reply.

        Raises:
            StoreUnavailableError: the server is away, loading or no primary, or the
                reply was lost: the script may have run.
            StoreFullError: the server has no memory left; nothing was written.
        """
        try:
            return self._run(self.client(), script, keys, args)
        except Exception as error:
            if not _is_demoted(error):
                raise self.translated(error) from error
        self.reconnect()
        try:
            return self._run(self.client(), script, keys, args)
        except Exception as error:
            raise self.translated(error) from error

    def get(self, key: str) -> bytes | None:
        """The value of a key, None if there is none.

        Raises:
            StoreUnavailableError: the server is away.
        """
        try:
            found: bytes | None = self.client().get(key)
        except Exception as error:
            raise self.translated(error) from error
        return found

    def run_many(self, steps: Sequence[Step]) -> list[Any]:
        """Run scripts in order, in one exchange where the server is not a cluster.

        Returns:
            A reply or an exception for each step.

        Raises:
            StoreUnavailableError: none of the replies came; scripts may have run.
        """
        client = self.client()
        if self._cluster or len(steps) == 1:
            return [self._one(step) for step in steps]
        pipeline = client.pipeline(transaction=False)
        for script, keys, args in steps:
            pipeline.evalsha(script.digest, len(keys), *keys, *args)
        try:
            replies: list[Any] = pipeline.execute(raise_on_error=False)
        except Exception as error:
            raise self.translated(error) from error
        if any(_is_demoted(reply) for reply in replies):
            self.reconnect()
        for index, reply in enumerate(replies):
            if error_code(reply) in ("NOSCRIPT", "READONLY"):
                replies[index] = self._one(steps[index])
            elif isinstance(reply, Exception):
                replies[index] = self.translated(reply)
        return replies

    def _one(self, step: Step) -> Any:
        try:
            return self.run(*step)
        except Exception as error:
            return error

    @staticmethod
    def _run(
        client: Any, script: Script, keys: Sequence[str], args: Sequence[Argument]
    ) -> Any:
        try:
            return client.evalsha(script.digest, len(keys), *keys, *args)
        except Exception as error:
            if error_code(error) != "NOSCRIPT":
                raise
        return client.eval(script.text, len(keys), *keys, *args)

    def reconnect(self) -> None:
        """Drop the connections; the next command resolves the address anew."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            _close(client)

    def close(self) -> None:
        """Close the connections; the next command opens new ones."""
        self.reconnect()

    def _connect(self) -> Any:
        url = os.environ.get(self.url_env)
        if not url:
            raise self._away(f"the environment variable {self.url_env} is not set")
        library = _library()
        if library is None:
            raise self._away("neither redis nor valkey is installed")
        options: dict[str, Any] = {
            "socket_timeout": self.timeout,
            "socket_connect_timeout": self.timeout,
        }
        try:
            never = library.retry.Retry(library.backoff.NoBackoff(), 0)
            if is_sentinel(url):
                return connect(library.name, url, {"retry": never, **options})
            single = library.client_class.from_url(url, retry=never, **options)
            self._cluster = _is_cluster(single)
            if not self._cluster:
                return single
            _close(single)
            return _never_repeating(
                library.cluster_class.from_url(url, retry=never, **options)
            )
        except ValueError:  # its text may hold a part of a password
            message = "the address is not one like redis://127.0.0.1:6379/0"
            raise self._away(message) from None
        except Exception as error:
            raise self.translated(error) from error

    def _away(self, message: str) -> StoreUnavailableError:
        return StoreUnavailableError(store=self.address, message=message)

    def translated(self, error: Exception) -> Exception:
        """The error for callers: away, full, or what it is."""
        if isinstance(error, (StoreUnavailableError, StoreFullError)):
            return error
        code = error_code(error)
        if code == "OOM":
            return StoreFullError(str(error))
        names = {cls.__name__ for cls in type(error).__mro__}
        # Every refusal counts, such as NOREPLICAS, BUSY, NOPERM or WRONGTYPE.
        if names & _REFUSED:
            return self._away(str(error) or type(error).__name__)
        return error


class _Library:
    """The parts of redis-py, or of the valkey client, that are used."""

    def __init__(self, name: str) -> None:
        from importlib import import_module

        module: Any = import_module(name)
        self.name = name
        self.retry: Any = import_module(f"{name}.retry")
        self.backoff: Any = import_module(f"{name}.backoff")
        title = name.capitalize()
        self.client_class: Any = getattr(module, title)
        self.cluster_class: Any = getattr(module, f"{title}Cluster")


def _library() -> _Library | None:
    for name in ("redis", "valkey"):
        try:
            return _Library(name)
        except ImportError:
            continue
    return None


def _never_repeating(cluster: Any) -> Any:
    """Have the client of a cluster follow moved slots, but repeat no lost command.

    Newer clients go by ``retry``, older ones by a number of their own.
    """
    if hasattr(cluster, "cluster_error_retry_attempts"):
        cluster.cluster_error_retry_attempts = 0
    return cluster


def _is_cluster(client: Any) -> bool:
    try:
        found: Any = client.info("cluster")
    except Exception as error:
        if error_code(error) == "NOPERM":
            return False
        raise
    return bool(found.get("cluster_enabled"))


_BY_CLASS = {
    "ReadOnlyError": "READONLY",
    "NoScriptError": "NOSCRIPT",
    "BusyLoadingError": "LOADING",
    "OutOfMemoryError": "OOM",
    "MasterDownError": "MASTERDOWN",
    "ClusterDownError": "CLUSTERDOWN",
    "TryAgainError": "TRYAGAIN",
    "NoPermissionError": "NOPERM",
}


def error_code(reply: object) -> str:
    """The word that an error of a server begins with; empty for anything else."""
    if not isinstance(reply, Exception):
        return ""
    known = _BY_CLASS.get(type(reply).__name__)
    if known is not None:
        return known
    word = str(reply).partition(" ")[0]
    if "READONLY" in str(reply):  # an older server says so inside the script's error
        return "READONLY"
    return word if word.isupper() else ""


def _is_demoted(reply: object) -> bool:
    return error_code(reply) == "READONLY"


def _close(client: Any) -> None:
    """Close the connections that nobody uses at this moment.

    Those in use end with their command: closed under another thread, they would give it
    an error that says nothing, or the file of a stranger.
    """
    try:
        for pool in _pools(client):
            pool.disconnect(inuse_connections=False)
    except Exception:
        _leaked.append(client)


def _pools(client: Any) -> list[Any]:
    if hasattr(client, "connection_pool"):
        return [client.connection_pool]
    names = ("redis_connection", "valkey_connection")
    found = [getattr(node, name, None) for node in client.get_nodes() for name in names]
    return [one.connection_pool for one in found if one is not None]


def _after_fork_in_child() -> None:
    for server in list(_servers):
        server.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
