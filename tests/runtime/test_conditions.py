"""Portable conditions, against real libraries on loopback and against the table."""

from __future__ import annotations

import asyncio
import errno
import http.client
import importlib
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import httpx
import pytest

from docs.conditions_page import PAGE, page
from policyctl.runtime.condition_table import TABLE
from policyctl.runtime.conditions import CONDITIONS, conditions_of
from policyctl.runtime.errors import (
    AttemptTimeoutError,
    BudgetExhaustedError,
    CircuitOpenError,
)

NOT_SENT, LOST, TIMEOUT = {"not_sent"}, {"connection_lost"}, {"timeout"}
CONNECT_TIMEOUT = {"not_sent", "timeout"}


@pytest.mark.parametrize(
    ("error", "conditions"),
    [
        (ConnectionRefusedError(), NOT_SENT),
        (socket.gaierror(), NOT_SENT),
        (ConnectionResetError(), LOST),
        (BrokenPipeError(), LOST),
        (ConnectionAbortedError(), LOST),
        (ConnectionError(), LOST),
        (OSError(errno.EHOSTUNREACH, "no route"), LOST),
        (OSError(errno.ECONNRESET, "reset"), LOST),
        (OSError(errno.ETIMEDOUT, "late"), TIMEOUT),
        (OSError(errno.ENOENT, "no file"), set()),
        (FileNotFoundError(), set()),
        (TimeoutError(), TIMEOUT),
        (asyncio.IncompleteReadError(b"", 5), LOST),
        (http.client.RemoteDisconnected("x"), LOST),
        (http.client.IncompleteRead(b""), LOST),
        (ssl.SSLEOFError(), LOST),
        (ssl.SSLCertVerificationError(), set()),
        (urllib.error.URLError(ConnectionRefusedError()), NOT_SENT),
        (urllib.error.URLError("unknown url type"), set()),
        (AttemptTimeoutError("s", "o"), TIMEOUT),
        (BudgetExhaustedError("s", "o"), set()),
        (CircuitOpenError("s", "o"), set()),
        (ValueError(), set()),
        (EOFError(), set()),
        (KeyboardInterrupt(), set()),
    ],
    ids=repr,
)
def test_the_standard_library(error: BaseException, conditions: set[str]) -> None:
    """Built-in and standard errors count for every transport."""
    for transport in (None, "http", "grpc", "sql", "redis", "local"):
        assert conditions_of(error, transport) == conditions


def test_subclasses_follow_the_nearest_class_of_the_table() -> None:
    """A user's subclass means what its base means."""

    class Mine(httpx.PoolTimeout):
        pass

    assert conditions_of(Mine("x"), "http") == NOT_SENT
    assert conditions_of(httpx.ReadTimeout("x"), "http") == TIMEOUT
    assert conditions_of(httpx.ConnectTimeout("x"), "http") == CONNECT_TIMEOUT
    assert conditions_of(httpx.UnsupportedProtocol("x"), "http") == set()


def test_rows_count_for_their_transport_alone() -> None:
    """A refused cache is no reason to repeat an HTTP call that was made before it."""
    redis = pytest.importorskip("redis")
    error = redis.ConnectionError("no connection available")
    assert conditions_of(error, "redis") == NOT_SENT
    assert conditions_of(error) == NOT_SENT
    assert conditions_of(error, "http") == set()
    assert conditions_of(httpx.ConnectError("x"), "sql") == set()


def raised_by(call: Callable[[], object]) -> Exception:
    """What a call raises."""
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def with_httpx(url: str, **options: Any) -> object:
    """One request, without the proxies of the environment."""
    with httpx.Client(trust_env=False, timeout=options.get("timeout", 5)) as client:
        return client.get(url)


def with_httpx_async(url: str, **options: Any) -> object:
    """One request of the async client."""

    async def request() -> object:
        timeout = options.get("timeout", 5)
        async with httpx.AsyncClient(trust_env=False, timeout=timeout) as client:
            return await client.get(url)

    return asyncio.run(request())


def with_urllib(url: str, **options: Any) -> object:
    """One request of the standard library."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(url, timeout=options.get("timeout", 5))


def with_requests(url: str, **options: Any) -> object:
    """One request of requests."""
    requests = pytest.importorskip("requests")
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, timeout=options.get("timeout", 5))


def with_urllib3(url: str, **options: Any) -> object:
    """One request of urllib3, with its retries off."""
    urllib3 = pytest.importorskip("urllib3")
    timeout = options.get("timeout", 5)
    return urllib3.PoolManager().request("GET", url, retries=False, timeout=timeout)


def with_aiohttp(url: str, **options: Any) -> object:
    """One request of aiohttp."""
    aiohttp = pytest.importorskip("aiohttp")

    async def request() -> object:
        timeout = aiohttp.ClientTimeout(sock_read=options.get("timeout", 5))
        async with aiohttp.ClientSession(timeout=timeout) as session:
            return await session.get(url)

    return asyncio.run(request())


CLIENTS = [
    with_httpx,
    with_httpx_async,
    with_urllib,
    with_requests,
    with_urllib3,
    with_aiohttp,
]


@pytest.mark.parametrize("client", CLIENTS)
def test_http_clients_on_a_refused_connection(
    client: Callable[..., object], refusing_port: int
) -> None:
    """Whatever the library raises, it is not_sent."""
    error = raised_by(lambda: client(f"http://127.0.0.1:{refusing_port}/"))
    assert conditions_of(error, "http") == NOT_SENT


@pytest.mark.parametrize("client", CLIENTS)
def test_http_clients_on_a_name_that_does_not_resolve(
    client: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name error is not_sent; nothing leaves the machine for the test."""

    def fail(*_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    error = raised_by(lambda: client("http://nowhere.invalid/"))
    assert conditions_of(error, "http") == NOT_SENT


@pytest.mark.parametrize("client", CLIENTS)
def test_http_clients_on_a_reset_connection(
    client: Callable[..., object], resetting_port: int
) -> None:
    """A reset after the request is connection_lost."""
    error = raised_by(lambda: client(f"http://127.0.0.1:{resetting_port}/"))
    assert conditions_of(error, "http") == LOST


@pytest.mark.parametrize("client", CLIENTS)
def test_http_clients_on_a_closed_connection(
    client: Callable[..., object], closing_port: int
) -> None:
    """A close before the response is connection_lost."""
    error = raised_by(lambda: client(f"http://127.0.0.1:{closing_port}/"))
    assert conditions_of(error, "http") == LOST


@pytest.mark.timing
@pytest.mark.parametrize("client", CLIENTS)
def test_http_clients_on_silence(
    client: Callable[..., object], hanging_port: int
) -> None:
    """A response that does not come in time is a timeout."""
    url = f"http://127.0.0.1:{hanging_port}/"
    error = raised_by(lambda: client(url, timeout=0.1))
    assert conditions_of(error, "http") == TIMEOUT


def test_redis_clients(
    refusing_port: int, resetting_port: int, hanging_port: int
) -> None:
    """refused, reset and silent servers as redis-py reports them."""
    redis = pytest.importorskip("redis")

    def error(port: int) -> Exception:
        client = redis.Redis(port=port, retry=None, socket_timeout=0.1)
        return raised_by(lambda: client.get("a"))

    assert conditions_of(error(refusing_port), "redis") == NOT_SENT
    assert conditions_of(error(resetting_port), "redis") == LOST
    assert conditions_of(error(hanging_port), "redis") == TIMEOUT


@pytest.mark.timing
def test_a_pool_without_a_free_connection_is_not_sent(hanging_port: int) -> None:
    """The callee saw nothing of a request that waited for a connection in vain."""

    async def run() -> Exception:
        limits = httpx.Limits(max_connections=1)
        timeout = httpx.Timeout(5, pool=0.05)
        url = f"http://127.0.0.1:{hanging_port}/"
        async with httpx.AsyncClient(
            trust_env=False, limits=limits, timeout=timeout
        ) as client:
            first = asyncio.create_task(client.get(url))
            await asyncio.sleep(0.05)
            with pytest.raises(httpx.HTTPError) as caught:
                await client.get(url)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return caught.value

    assert conditions_of(asyncio.run(run()), "http") == NOT_SENT


def fake(package: str, name: str, *bases: type) -> type[Exception]:
    """An exception class as a library that is not installed would define it."""
    kind = type(name, bases or (Exception,), {"__module__": f"{package}.inner"})
    assert issubclass(kind, Exception)
    return kind


def test_grpc_tells_by_code_and_details() -> None:
    """Only details tell a channel that never connected from one that broke."""

    class RpcError(Exception):
        __module__ = "grpc"

        def code(self) -> str:
            return str(self.args[0])

    def of(code: str, details: str = "") -> frozenset[str]:
        return conditions_of(RpcError(code, details), "grpc")

    assert of("UNAVAILABLE", "Failed to connect to all addresses") == NOT_SENT
    assert of("UNAVAILABLE", "DNS resolution failed") == NOT_SENT
    assert of("UNAVAILABLE", "Socket closed") == LOST
    assert of("DEADLINE_EXCEEDED") == TIMEOUT
    assert of("INVALID_ARGUMENT") == set()


@pytest.mark.parametrize(
    ("state", "text", "conditions"),
    [
        ("08001", "", NOT_SENT),
        ("57P03", "", NOT_SENT),
        ("08006", "", LOST),
        ("57P01", "terminating connection", LOST),
        ("40001", "could not serialize", set()),
        (None, "server closed the connection unexpectedly", LOST),
        (None, "connection failed: Connection refused", NOT_SENT),
        (None, "timeout expired", CONNECT_TIMEOUT),
        (None, "password authentication failed", set()),
    ],
)
def test_psycopg_tells_by_sqlstate_or_text(
    state: str | None, text: str, conditions: set[str]
) -> None:
    """libpq has an SQLSTATE once the server has spoken, and texts before."""
    error = fake("psycopg", "OperationalError")(text)
    error.sqlstate = state  # type: ignore[attr-defined]
    assert conditions_of(error, "sql") == conditions
    wrapper = fake("sqlalchemy", "OperationalError", fake("sqlalchemy", "DBAPIError"))()
    wrapper.orig = error  # type: ignore[attr-defined]
    assert conditions_of(wrapper, "sql") == conditions


@pytest.mark.parametrize(
    ("number", "text", "conditions"),
    [
        (2003, "Can't connect ([Errno 111])", NOT_SENT),
        (2003, "Can't connect (timed out)", CONNECT_TIMEOUT),
        (2013, "Lost connection (timed out)", TIMEOUT),
        (2013, "Lost connection", LOST),
        (2006, "gone away", LOST),
        (1064, "syntax", set()),
    ],
)
def test_pymysql_tells_by_number(number: int, text: str, conditions: set[str]) -> None:
    """The client's own numbers, and the text where a number means two things."""
    error = fake("pymysql", "OperationalError")(number, text)
    assert conditions_of(error, "sql") == conditions


def test_what_is_wrapped_is_looked_up_without_end() -> None:
    """A chain that bites its own tail, or is very long, ends with no condition."""
    error = fake("requests", "ConnectionError")()
    error.__cause__ = ring = fake("requests", "ConnectionError")()
    ring.__cause__ = error
    assert conditions_of(error, "http") == LOST
    deep = last = fake("urllib3", "MaxRetryError")()
    for _ in range(50):
        last.__cause__ = fake("urllib3", "MaxRetryError")()
        last = last.__cause__
    last.__cause__ = ConnectionRefusedError()
    assert conditions_of(deep, "http") == set()


def test_a_suppressed_context_is_not_looked_into() -> None:
    """``raise … from None`` hides the context from us too."""
    error = fake("openai", "APIConnectionError")()
    error.__context__ = ConnectionRefusedError()
    assert conditions_of(error, "http") == NOT_SENT
    error.__suppress_context__ = True
    assert conditions_of(error, "http") == LOST


def test_errors_that_cannot_even_be_printed_are_no_problem() -> None:
    """A broken __str__ or attribute neither matches nor raises."""

    class OperationalError(Exception):
        __module__ = "psycopg"

        def __str__(self) -> str:
            raise RuntimeError

        @property
        def orig(self) -> object:
            raise RuntimeError

    assert conditions_of(OperationalError(), "sql") == set()


def test_the_table_is_well_formed() -> None:
    """Known transports, conditions and clues; a row without clues ends its class."""
    ended: set[tuple[str, str, str]] = set()
    for transport, packages, classes, clues, conditions in TABLE:
        assert transport in {"any", "http", "grpc", "sql", "redis"}
        assert set(conditions.split()) <= set(CONDITIONS)
        for clue in clues:
            assert clue.split()[0] in {"inside", "code", "errno", "sqlstate", "text"}
            assert not clue.startswith("text ") or clue == clue.lower()
        for package in packages.split():
            for name in classes.split():
                key = (transport, package, name)
                assert key not in ended, f"{key} is unreachable"
                if not clues:
                    ended.add(key)


MODULES = {
    "aiohttp": "aiohttp",
    "anthropic": "anthropic",
    "asyncio": "asyncio",
    "asyncpg": "asyncpg.exceptions",
    "botocore": "botocore.exceptions",
    "builtins": "builtins",
    "grpc": "grpc",
    "http": "http.client",
    "httpcore": "httpcore",
    "httpcore2": "httpcore2",
    "httpx": "httpx",
    "httpx2": "httpx2",
    "openai": "openai",
    "policyctl": "policyctl.runtime.errors",
    "psycopg": "psycopg psycopg.errors",
    "psycopg2": "psycopg2 psycopg2.errors psycopg2.extensions",
    "psycopg_pool": "psycopg_pool",
    "pymysql": "pymysql.err",
    "redis": "redis.exceptions",
    "requests": "requests.exceptions",
    "socket": "socket",
    "sqlalchemy": "sqlalchemy.exc",
    "ssl": "ssl",
    "urllib": "urllib.error",
    "urllib3": "urllib3.exceptions",
    "valkey": "valkey.exceptions",
}


@pytest.mark.parametrize("package", sorted(MODULES))
def test_the_classes_of_the_table_exist(package: str) -> None:
    """Every class named is in the installed library, under that package."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    modules = [importlib.import_module(name) for name in MODULES[package].split()]
    rows = [row for row in TABLE if package in row[1].split()]
    assert rows
    for _, packages, classes, _, _ in rows:
        for name in classes.split():
            found = [getattr(module, name, None) for module in modules]
            kinds = [kind for kind in found if isinstance(kind, type)]
            if not kinds and len(packages.split()) > 1:
                continue  # one of two siblings has it
            assert kinds, f"{package} has no {name}"
            assert all(k.__module__.split(".")[0] == package for k in kinds)


def test_every_package_of_the_table_is_looked_at() -> None:
    """A package that is added is checked against its library too."""
    named = {package for row in TABLE for package in row[1].split()}
    assert named == set(MODULES)


def test_no_client_library_is_imported_to_be_matched() -> None:
    """Making the table and asking it loads none of the libraries."""
    code = (
        "import sys; from policyctl.runtime.conditions import conditions_of; "
        "conditions_of(TimeoutError()); "
        "print([m for m in sys.modules if m.split('.')[0] in "
        f"{sorted(set(MODULES) - {'builtins', 'policyctl'})!r}])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_the_page_is_made_from_the_table() -> None:
    """docs/conditions.md is what ``python -m docs.conditions_page`` writes."""
    assert PAGE.read_text(encoding="utf-8") == page()
