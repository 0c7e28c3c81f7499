"""The worker example: jobs survive its death, and a bad one ends as a dead letter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "thumbnail_worker"


class Store(ThreadingHTTPServer):
    """Has every picture but ``gone.jpg``, and keeps thumbnails."""

    daemon_threads = True

    def __init__(self) -> None:
        self.thumbnails: dict[str, bytes] = {}
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Pictures out, thumbnails in."""

    server: Store

    def do_GET(self) -> None:
        """Send a picture."""
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
    server.shutdown()
    server.server_close()
    thread.join(60)


def python(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start Python in ``folder``, where the queue's file is."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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
    output, _ = python(folder, "-c", code, *pictures).communicate(timeout=250)
    return output.split()


def dead_letters(folder: Path) -> int:
    """How many dead letters the queue holds, as an operator sees them."""
    code = (
        "from examples.thumbnail_worker.resilience import thumbnails\n"
        "print(thumbnails.jobs.stats().dead)"
    )
    output, _ = python(folder, "-c", code).communicate(timeout=250)
    return int(output)


def test_jobs_survive_their_worker(tmp_path: Path, store: Store) -> None:
    """Jobs put before, and left by a killed worker, are done by the next one."""
    pictures = [f"{number}.jpg" for number in range(20)]
    assert submit(tmp_path, *pictures) == ["queued"] * 20
    assert submit(tmp_path, "7.jpg", "gone.jpg") == ["duplicate", "queued"]
    url = f"http://127.0.0.1:{store.server_address[1]}"
    run = ("-m", "examples.thumbnail_worker.worker", url)

    first = python(tmp_path, *run)
    deadline = time.monotonic() + 250
    while not store.thumbnails and time.monotonic() < deadline:
        time.sleep(0.01)
    first.kill()
    first.communicate(timeout=250)

    second = python(tmp_path, *run)
    deadline = time.monotonic() + 250
    while len(store.thumbnails) < 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    while dead_letters(tmp_path) < 1 and time.monotonic() < deadline:
        time.sleep(0.5)
    second.terminate()
    output, _ = second.communicate(timeout=250)
    assert second.returncode == 0, output
    assert store.thumbnails == dict.fromkeys(pictures, b"x" * 200)
    assert dead_letters(tmp_path) == 1


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
