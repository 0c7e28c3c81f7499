"""The script with requests: fresh, typed, and driven against an API that fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from examples.report_script.__main__ import main
from examples.report_script.resilience import orders_api
from policyctl.testing import fresh_policies, no_sleep

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "report_script"
PAGES = {
    "1": [{"id": 1, "total": 250}, {"id": 2, "total": 100}],
    "2": [{"id": 3, "total": 5}],
}
REPORT = "order,total\r\n1,250\r\n2,100\r\n3,5\r\nsum,355\r\n"


class OrderApi(ThreadingHTTPServer):
    """An order API that answers with the statuses that it is told, then with pages."""

    daemon_threads = True

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.received: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Answer with a page, or with the next status."""

    server: OrderApi

    def do_GET(self) -> None:
        """Send a page of orders."""
        page = parse_qs(urlsplit(self.path).query)["page"][0]
        self.server.received.append(page)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        body = json.dumps(PAGES.get(page, [])).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def api() -> Iterator[OrderApi]:
    """A running API, with policies as new and back-off that takes no time."""
    server = OrderApi()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with fresh_policies(), no_sleep():
        yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.mark.parametrize(
    "arguments",
    [("generate", "--check"), ("validate", "--fail-on", "warning")],
)
def test_policies_are_clean_and_code_is_fresh(arguments: tuple[str, ...]) -> None:
    """The committed package is what the policies generate, and no rule warns."""
    done = subprocess.run(
        [sys.executable, "-m", "policyctl", *arguments],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_report_of_all_pages(api: OrderApi, tmp_path: Path) -> None:
    """Each page is read once, and the sum is at the end."""
    file = tmp_path / "orders.csv"
    assert main(api.url, file) == 0
    assert file.read_bytes().decode() == REPORT
    assert api.received == ["1", "2", "3"]
    assert [p.name for p in tmp_path.iterdir()] == ["orders.csv"]


def test_an_api_that_stumbles(api: OrderApi, tmp_path: Path) -> None:
    """Two failures of one page are retried; the report is the same."""
    api.statuses = [200, 503, 429]
    file = tmp_path / "orders.csv"
    assert main(api.url, file) == 0
    assert file.read_bytes().decode() == REPORT
    assert api.received == ["1", "2", "2", "2", "3"]


def test_an_api_that_stays_down(
    api: OrderApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three attempts, one line, and no half report; eight failures open the circuit."""
    api.statuses = [503] * 8
    file = tmp_path / "orders.csv"
    assert main(api.url, file) == 1
    assert api.received == ["1", "1", "1"]
    assert "503 Server Error" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    main(api.url, file)
    main(api.url, file)
    assert len(api.received) == 8
    assert orders_api.get.circuit_breaker.state == "open"
    assert main(api.url, file) == 1
    assert len(api.received) == 8
    assert "no report: " in capsys.readouterr().err


def test_a_wrong_page_is_not_retried(api: OrderApi, tmp_path: Path) -> None:
    """A 404 is the script's own mistake."""
    api.statuses = [404]
    assert main(api.url, tmp_path / "orders.csv") == 1
    assert api.received == ["1"]
