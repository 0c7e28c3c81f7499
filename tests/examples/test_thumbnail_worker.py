"""The worker example: jobs survive its death, and a bad one ends as a dead letter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from policyctl.runtime.queues.admin import open_file
from policyctl.runtime.queues.records import Stats

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "thumbnail_worker"
LONG = 250.0
"""Seconds that a step may take on a machine that does much else."""


class Store(ThreadingHTTPServer):
    """Has every picture but ``gone.jpg``, and keeps thumbnails.

    After the first one it answers nobody until ``go`` is set; ``asked`` counts who waits.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.thumbnails: dict[str, bytes] = {}
        self.asked = 0
        self.go = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Pictures out, thumbnails in."""

    server: Store

    def do_GET(self) -> None:
        """Send a picture."""
        if self.server.thumbnails and not self.server.go.is_set():
            self.server.asked += 1
            self.server.go.wait(LONG)
            return  # its worker is dead
        self.answer(404 if self.path.endswith("gone.jpg") else 200, b"x" * 500)

    def do_PUT(self) -> None:
        """Keep a thumbnail."""
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # its sender was killed in the middle
        self.server.thumbnails[self.path.rpartition("/")[2]] = body
        self.answer(204, b"")

    def answer(self, status: int, body: bytes) -> None:
        """Send a status and a body."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def store() -> Iterator[Store]:
    """A running store of pictures."""
    server = Store()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.go.set()
    server.shutdown()
    server.server_close()
    thread.join(60)


def python(folder: Path, *arguments: str, **limits: str) -> subprocess.Popen[str]:
    """Start Python in ``folder``, where the queue's file is; ``limits`` override its own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **limits},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def submit(folder: Path, *pictures: str) -> list[str]:
    """Put jobs from a process of their own; return what became of each."""
    code = (
        "import sys; from examples.thumbnail_worker.worker import submit\n"
        "print(*(submit(picture) for picture in sys.argv[1:]))"
    )
    output, _ = python(folder, "-c", code, *pictures).communicate(timeout=LONG)
    return output.split()


def stats(folder: Path) -> Stats:
    """The queue in numbers, as an operator sees them."""
    return open_file(str(folder / "var" / "thumbnails.db"))["jobs"].stats()


def wait_for(holds: Callable[[], bool], worker: subprocess.Popen[str]) -> None:
    """Wait until it is true; fail when the worker ends before, or it takes too long."""
    deadline = time.monotonic() + LONG
    while not holds():
        assert worker.poll() is None, worker.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_jobs_survive_their_worker(tmp_path: Path, store: Store) -> None:
    """Jobs put before, and held by a killed worker, are done by the next one."""
    pictures = [f"{number}.jpg" for number in range(20)]
    assert submit(tmp_path, *pictures) == ["queued"] * 20
    assert submit(tmp_path, "7.jpg", "gone.jpg") == ["duplicate", "queued"]
    url = f"http://127.0.0.1:{store.server_address[1]}"
    run = ("-m", "examples.thumbnail_worker.worker", url)

    # What it holds when it dies comes back after a second, not after half a minute.
    first = python(tmp_path, *run, THUMBNAILS_JOBS_LEASE="1s")
    wait_for(lambda: store.asked > 0, first)
    first.kill()
    first.communicate(timeout=LONG)
    left = stats(tmp_path)
    assert left.size + left.acked == 21
    assert left.size >= 19  # two threads, of which the store answered one call each
    store.go.set()

    second = python(tmp_path, *run, THUMBNAILS_JOBS_REDELIVERY_INITIAL="10ms")
    wait_for(lambda: len(store.thumbnails) == 20, second)
    wait_for(lambda: stats(tmp_path).dead == 1, second)
    second.terminate()
    output, _ = second.communicate(timeout=LONG)
    assert second.returncode == 0, output
    assert store.thumbnails == dict.fromkeys(pictures, b"x" * 200)
    end = stats(tmp_path)
    assert (end.size, end.acked, end.dead) == (0, 20, 1)


@pytest.mark.parametrize(
    "arguments", [["validate", "--fail-on", "warning"], ["generate", "--check"]]
)
def test_policies_are_clean_and_code_is_fresh(arguments: list[str]) -> None:
    """The example follows the advice of every rule, and its package is committed fresh."""
    done = subprocess.run(
        [sys.executable, "-m", "policyctl", *arguments, "--no-cache"],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
