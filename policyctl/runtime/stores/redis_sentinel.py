"""Addresses of Sentinels, which tell clients who the primary is now.

``redis+sentinel://[user:password@]host:port[,host:port…]/name[/database]``, with
``rediss+sentinel`` for a primary over TLS; ``name`` is what the Sentinels call the set of
servers. User and password are those of the servers. Each new connection asks for the
primary, so that clients follow a failover by themselves.
"""

from __future__ import annotations

from importlib import import_module
from urllib.parse import unquote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMES = ("redis+sentinel", "rediss+sentinel")
PORT = 26379


def is_sentinel(url: str) -> bool:
    """Whether the address is one of Sentinels."""
    return url.partition("://")[0] in SCHEMES


def without_secrets(url: str) -> str:
    """The address without user and password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def connect(library: str, url: str, options: dict[str, Any]) -> Any:
    """A client that follows the primary; nothing is sent yet.

    Args:
        library: ``redis`` or ``valkey``.
        url: the address.
        options: those of the client, which the Sentinels are asked with too.

    Raises:
        ValueError: the address is not of the form above.
    """
    scheme, _, rest = url.partition("://")
    login, _, place = rest.rpartition("@")
    hosts, _, path = place.partition("/")
    name, _, database = path.partition("/")
    if not name or "?" in path:
        raise ValueError("an address of Sentinels ends with the name of the primary")
    user, _, password = login.partition(":")
    found: dict[str, Any] = {
        "username": unquote(user) or None,
        "password": unquote(password) or None,
        "db": int(database or 0),
        "ssl": scheme.startswith("rediss"),
    }
    sentinels = import_module(f"{library}.sentinel")
    waits = {key: value for key, value in options.items() if key != "retry"}
    asked = sentinels.Sentinel(
        [_host(text) for text in hosts.split(",")], sentinel_kwargs=waits
    )
    return asked.master_for(unquote(name), **found, **options)


def _host(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if text.endswith("]") or not colon:  # an IPv6 address or a name without a port
        host, port = text, str(PORT)
    if not host:
        raise ValueError("a Sentinel has a host")
    return host.strip("[]"), int(port)
