"""What ``telemetry`` in a policy does in a program that uses the generated module."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from subprocess import run

CASE = Path(__file__).parents[2] / "generate" / "cases" / "telemetry" / "expected"

PROGRAM = """
    import sys

    sys.path.insert(0, sys.argv[1])
    import card_api, report_jobs

    assert "prometheus_client" not in sys.modules

    class HTTPError(Exception):
        status_code = 404

    @card_api.charge
    def charge(works):
        if not works:
            raise HTTPError("no such card")
        return "receipt"

    assert charge(True) == "receipt"
    try:
        charge(False)
    except HTTPError:
        pass

    from prometheus_client import generate_latest

    print(generate_latest().decode())
"""


def test_a_program(tmp_path: Path) -> None:
    """Nothing at import; then metrics in the default registry and lines of JSON."""
    done = run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), str(CASE)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    names = 'operation="charge",outcome="{}",service="card_api"'
    for outcome in ("success", "failure"):
        line = f"policyctl_calls_total{{{names.format(outcome)}}} 1.0"
        assert line in done.stdout.splitlines()
    assert 'policyctl_heartbeat_timestamp_seconds{service="card_api"}' in done.stdout
    events = [json.loads(line)["policyctl"] for line in done.stderr.splitlines()]
    (failed,) = [event for event in events if event["event"] == "failed"]
    assert (failed["operation"], failed["status"]) == ("charge", 404)
    assert list(tmp_path.iterdir()) == []
