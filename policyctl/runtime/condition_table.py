"""Which exception of which library is which portable condition: the one table.

Rows are read in order. For an exception the nearest class of its MRO that has rows
decides; of that class's rows the first whose clues all hold. A class whose rows end
without an answer is no condition, whatever its bases are.

Classes are named by the package that they belong to, not by module, since libraries
move classes between private modules. ``http``, ``grpc``, ``sql`` and ``redis`` rows
count for operations of that transport and for operations that name none; ``any`` rows
count for all, ``local`` included.

Clues:

- ``inside``: what the exception wraps (``__cause__``, ``reason``, ``orig``, an argument
  or ``__context__``) is a condition, and that is the answer;
- ``code A B``: its status is one of these;
- ``errno 2003 EHOSTUNREACH``: its first argument or ``errno`` is one of these;
- ``sqlstate 08001 57P*``: its SQLSTATE is one of these;
- ``text some words``: its text holds these words, in any case.

Sources: the exception hierarchies and raise statements of httpx 0.28, httpx2 2.16,
httpcore 1.0, requests 2.34, urllib3 2.8, aiohttp 3.14, redis 8.1, valkey 6.2, psycopg
3.3, psycopg2 2.9, asyncpg 0.32, SQLAlchemy 2.1, PyMySQL 1.2, grpcio 1.85, openai 3.57,
anthropic 2.14 and botocore 1.44; SQLSTATE classes of appendix A of the PostgreSQL
manual; client error numbers of the MySQL error reference; gRPC status codes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Row = tuple[str, str, str, tuple[str, ...], str]

NOT_SENT = "not_sent"
LOST = "connection_lost"
TIMEOUT = "timeout"
CONNECT_TIMEOUT = "not_sent timeout"
NONE = ""

_HTTPX = "httpx httpx2"
_HTTPCORE = "httpcore httpcore2"
_LLM = "openai anthropic"
_REDIS = "redis valkey"
_PSYCOPG = "psycopg psycopg2"

# Of our own errors: another one where the runtime is a part of a generated package.
_OWN = __name__.partition(".")[0]

_UNREACHABLE = "errno ENETDOWN ENETUNREACH ENETRESET EHOSTDOWN EHOSTUNREACH"

# Transport, packages, classes, clues, conditions.
TABLE: tuple[Row, ...] = (
    # The standard library
    ("any", "builtins", "ConnectionRefusedError", (), NOT_SENT),
    ("any", "socket", "gaierror herror", (), NOT_SENT),
    ("any", "builtins", "TimeoutError", (), TIMEOUT),
    ("any", "builtins", "ConnectionError", (), LOST),
    ("any", "builtins", "OSError", (_UNREACHABLE,), LOST),
    ("any", "asyncio", "IncompleteReadError", (), LOST),
    ("any", "ssl", "SSLEOFError SSLZeroReturnError", (), LOST),
    ("any", "ssl", "SSLError", (), NONE),
    ("any", "http", "IncompleteRead RemoteDisconnected", (), LOST),
    ("any", "urllib", "HTTPError", (), NONE),
    ("any", "urllib", "URLError", ("inside",), NONE),
    ("any", _OWN, "AttemptTimeoutError", (), TIMEOUT),
    ("any", _OWN, "PolicyError", (), NONE),
    # httpx and httpcore
    ("http", f"{_HTTPX} {_HTTPCORE}", "ConnectError PoolTimeout", (), NOT_SENT),
    ("http", f"{_HTTPX} {_HTTPCORE}", "ProxyError", (), NOT_SENT),
    ("http", f"{_HTTPX} {_HTTPCORE}", "ConnectTimeout", (), CONNECT_TIMEOUT),
    ("http", f"{_HTTPX} {_HTTPCORE}", "TimeoutException", (), TIMEOUT),
    ("http", f"{_HTTPX} {_HTTPCORE}", "NetworkError RemoteProtocolError", (), LOST),
    # requests and urllib3
    ("http", "requests", "ConnectTimeout", (), CONNECT_TIMEOUT),
    ("http", "requests", "Timeout", (), TIMEOUT),
    ("http", "requests", "SSLError", ("inside",), NONE),
    ("http", "requests", "ProxyError", (), NOT_SENT),
    ("http", "requests", "ConnectionError", ("inside",), NONE),
    ("http", "requests", "ConnectionError", (), LOST),
    ("http", "requests", "ChunkedEncodingError", (), LOST),
    ("http", "requests", "RequestException", (), NONE),
    ("http", "urllib3", "NewConnectionError EmptyPoolError ProxyError", (), NOT_SENT),
    ("http", "urllib3", "ConnectTimeoutError", (), CONNECT_TIMEOUT),
    ("http", "urllib3", "TimeoutError", (), TIMEOUT),
    ("http", "urllib3", "ProtocolError IncompleteRead", (), LOST),
    ("http", "urllib3", "MaxRetryError SSLError", ("inside",), NONE),
    # aiohttp
    (
        "http",
        "aiohttp",
        "ClientConnectorError ClientProxyConnectionError",
        (),
        NOT_SENT,
    ),
    ("http", "aiohttp", "ClientSSLError ServerFingerprintMismatch", (), NONE),
    ("http", "aiohttp", "ConnectionTimeoutError", (), CONNECT_TIMEOUT),
    ("http", "aiohttp", "ServerTimeoutError", (), TIMEOUT),
    ("http", "aiohttp", "ClientConnectionError ClientPayloadError", (), LOST),
    # openai and anthropic
    ("http", _LLM, "APITimeoutError", ("inside",), NONE),
    ("http", _LLM, "APITimeoutError", (), TIMEOUT),
    ("http", _LLM, "APIConnectionError", ("inside",), NONE),
    ("http", _LLM, "APIConnectionError", (), LOST),
    # botocore
    ("http", "botocore", "EndpointConnectionError ProxyConnectionError", (), NOT_SENT),
    ("http", "botocore", "ConnectTimeoutError", (), CONNECT_TIMEOUT),
    ("http", "botocore", "ReadTimeoutError", (), TIMEOUT),
    ("http", "botocore", "ConnectionClosedError ResponseStreamingError", (), LOST),
    ("http", "botocore", "IncompleteReadError", (), LOST),
    ("http", "botocore", "HTTPClientError", ("inside",), NONE),
    ("http", "botocore", "BotoCoreError", (), NONE),
    # grpc; a client that cannot connect says so in the details alone
    (
        "grpc",
        "grpc",
        "RpcError",
        ("code UNAVAILABLE", "text failed to connect"),
        NOT_SENT,
    ),
    (
        "grpc",
        "grpc",
        "RpcError",
        ("code UNAVAILABLE", "text resolution failed"),
        NOT_SENT,
    ),
    ("grpc", "grpc", "RpcError", ("code UNAVAILABLE",), LOST),
    ("grpc", "grpc", "RpcError", ("code DEADLINE_EXCEEDED",), TIMEOUT),
    ("grpc", "grpc", "FutureTimeoutError", (), TIMEOUT),
    # redis and valkey
    ("redis", _REDIS, "AuthenticationError AuthorizationError", (), NONE),
    ("redis", _REDIS, "BusyLoadingError MaxConnectionsError", (), NOT_SENT),
    ("redis", _REDIS, "TimeoutError", ("text connecting to",), CONNECT_TIMEOUT),
    ("redis", _REDIS, "TimeoutError", (), TIMEOUT),
    ("redis", _REDIS, "ConnectionError", ("inside",), NONE),
    ("redis", _REDIS, "ConnectionError", ("text no connection available",), NOT_SENT),
    ("redis", _REDIS, "ConnectionError", (), LOST),
    # psycopg and psycopg2: libpq tells most things by text alone
    ("sql", "psycopg", "ConnectionTimeout", (), CONNECT_TIMEOUT),
    ("sql", "psycopg_pool", "PoolTimeout TooManyRequests", (), NOT_SENT),
    ("sql", _PSYCOPG, "QueryCanceled QueryCanceledError", (), TIMEOUT),
    (
        "sql",
        _PSYCOPG,
        "OperationalError",
        ("sqlstate 08001 08004 53300 57P03",),
        NOT_SENT,
    ),
    ("sql", _PSYCOPG, "OperationalError", ("sqlstate 08* 57P01 57P02",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("sqlstate *",), NONE),
    ("sql", _PSYCOPG, "OperationalError", ("text timeout expired",), CONNECT_TIMEOUT),
    ("sql", _PSYCOPG, "OperationalError", ("text connection refused",), NOT_SENT),
    (
        "sql",
        _PSYCOPG,
        "OperationalError",
        ("text could not translate host name",),
        NOT_SENT,
    ),
    ("sql", _PSYCOPG, "OperationalError", ("text failed to resolve host",), NOT_SENT),
    ("sql", _PSYCOPG, "OperationalError", ("text closed the connection",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("text connection is lost",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("text connection is closed",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("text could not receive data",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("text could not send data",), LOST),
    ("sql", _PSYCOPG, "OperationalError", ("text ssl syscall error",), LOST),
    ("sql", _PSYCOPG, "InterfaceError", ("text connection already closed",), LOST),
    # asyncpg; connecting fails with the built-in errors
    ("sql", "asyncpg", "ClientCannotConnectError CannotConnectNowError", (), NOT_SENT),
    (
        "sql",
        "asyncpg",
        "ConnectionRejectionError TooManyConnectionsError",
        (),
        NOT_SENT,
    ),
    ("sql", "asyncpg", "PostgresConnectionError", (), LOST),
    ("sql", "asyncpg", "AdminShutdownError CrashShutdownError", (), LOST),
    ("sql", "asyncpg", "QueryCanceledError", (), TIMEOUT),
    # PyMySQL
    (
        "sql",
        "pymysql",
        "OperationalError",
        ("errno 2003", "text timed out"),
        CONNECT_TIMEOUT,
    ),
    ("sql", "pymysql", "OperationalError", ("errno 1040 2002 2003 2005",), NOT_SENT),
    ("sql", "pymysql", "OperationalError", ("errno 2013", "text timed out"), TIMEOUT),
    ("sql", "pymysql", "OperationalError", ("errno 1053 2006 2013 2055",), LOST),
    ("sql", "pymysql", "OperationalError", ("errno 3024",), TIMEOUT),
    ("sql", "pymysql", "InterfaceError", ("errno 0",), LOST),
    # SQLAlchemy wraps the driver's error; its own timeout is that of the pool
    ("sql", "sqlalchemy", "TimeoutError", (), NOT_SENT),
    ("sql", "sqlalchemy", "DisconnectionError", (), LOST),
    ("sql", "sqlalchemy", "DBAPIError", ("inside",), NONE),
)
"""Transport, packages, classes, clues and conditions of each row."""
