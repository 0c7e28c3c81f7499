"""Loopback servers that misbehave in known ways."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port on loopback that nobody listens on, and that nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


class RawServer:
    """Accepts connections and ends or holds each of them after the first bytes."""

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                connection.settimeout(60)
                connection.recv(16)
                self._answer(connection)
            except OSError:
                return

    def _answer(self, connection: socket.socket) -> None:
        if self._behaviour == "hang":
            self._held.append(connection)
            return
        if self._behaviour == "reset":
            now = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        connection.close()

    def close(self) -> None:
        """Stop listening and drop what is held."""
        with suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._held:
            connection.close()


@pytest.fixture
def resetting_port() -> Iterator[int]:
    """A port whose connections are reset after the first bytes."""
    server = RawServer("reset")
    yield server.port
    server.close()


@pytest.fixture
def closing_port() -> Iterator[int]:
    """A port whose connections are closed after the first bytes."""
    server = RawServer("close")
    yield server.port
    server.close()


@pytest.fixture
def hanging_port() -> Iterator[int]:
    """A port that takes a request and never answers."""
    server = RawServer("hang")
    yield server.port
    server.close()


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose connections are never made: nobody accepts, and no more may wait."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting: list[socket.socket] = []
        for _ in range(8):
            waiting.append(socket.socket())
            waiting[-1].settimeout(0.1)
            try:
                waiting[-1].connect(address)
            except TimeoutError:
                break
        else:
            pytest.skip("this system makes connections that nobody accepts")
        yield address[1]
        for connection in waiting:
            connection.close()
