"""A small hotel server with a fixed capacity that can be told to fail or to hang.

It serves ``SLOTS`` requests at a time, each for ``SERVICE_TIME`` seconds; the others
wait in line. Like most thread-pool servers it also works on requests whose client
has gone away: that is what keeps an overloaded server overloaded.

    GET  /hotels/<id>                       200 with JSON, or what the mode says
    POST /control/<ok|fail|hang>            change the mode
    GET  /control/stats                     {"received": …, "waiting": …}
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOTS = 2
SERVICE_TIME = 0.05
HANG_LIMIT = 2.0


class State:
    """The mode, the slots, and how many requests came in and are waiting."""

    def __init__(self) -> None:
        self.mode = "ok"
        self.changed = threading.Event()
        self.slots = threading.Semaphore(SLOTS)
        self.lock = threading.Lock()
        self.received = 0
        self.waiting = 0

    def switch(self, mode: str) -> None:
        """Change the mode and wake the requests that hang."""
        self.mode = mode
        self.changed.set()
        self.changed = threading.Event()

    def serve(self) -> int:
        """Wait for a slot, do the work, and return an HTTP status."""
        with self.lock:
            self.received += 1
            self.waiting += 1
        self.slots.acquire()
        try:
            with self.lock:
                self.waiting -= 1
            if self.mode == "fail":
                return 503
            if self.mode == "hang":
                self.changed.wait(HANG_LIMIT)
                return 503
            time.sleep(SERVICE_TIME)
            return 200
        finally:
            self.slots.release()


class Server(ThreadingHTTPServer):
    """One daemon thread a connection, with room for a burst of connections."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        self.state = State()
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(
        self,
        request: socket.socket | tuple[bytes, socket.socket],
        client_address: object,
    ) -> None:
        """Say nothing: clients that gave up are the point of the demonstration."""


class Handler(BaseHTTPRequestHandler):
    """Routes; every answer closes its connection."""

    server: Server

    def do_GET(self) -> None:
        """A hotel, or the counters."""
        state = self.server.state
        if self.path == "/control/stats":
            with state.lock:
                body = {"received": state.received, "waiting": state.waiting}
            self.answer(200, body)
        else:
            status = state.serve()
            self.answer(status, {"hotel": self.path.rpartition("/")[2], "rooms": 3})

    def do_POST(self) -> None:
        """Change the mode."""
        self.server.state.switch(self.path.rpartition("/")[2])
        self.answer(200, {})

    def answer(self, status: int, body: Mapping[str, object]) -> None:
        """Send JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal for the time line."""


def main() -> None:
    """Print the port, then serve until standard input closes."""
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
