"""The shipped presets: valid, without findings, and with arithmetic that holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.engine import lint
from policyctl.resolve.policy import Operation
from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project
from policyctl.resolve.worst_case import local_wait, longest_waits

ROOT = Path(__file__).parents[2]
PRESETS = sorted((ROOT / "policies" / "presets").glob("*.yaml"))

# The worst case in seconds without hints of the server, as the comments work it out.
WORST = {
    "http-client": 3 * 2 + 0.1 + 0.2,
    "critical-http": 3 * (0.05 + 1) + 0.05 + 0.1,
    "internal-rpc": 2 * (0.02 + 0.3) + 0.025,
    "database": 3 * (0.1 + 1.5) + 0.05 + 0.1,
    "batch-job": 3 * (10 + 30) + 5 + 10,
    "agent-uplink": 3 * 8 + 1 + 2,
    "llm-client": 2 * (2 + 60) + 2,
}


def load(name: str, idempotent: str) -> Loaded:
    text = f"""version: 1
service: example_api
owner: example-team
extends: [{name}]
operations:
  call:
{idempotent}    facts: {{rate: 1/s, callers: 2, latency: {{p50: 50ms}}}}
"""
    return load_project(Inputs((InputFile("example_api.yaml", text.encode()),)))


def operation(name: str, idempotent: str = "") -> Operation:
    found = load(name, idempotent).project.find_operation("example_api.call")
    assert found is not None
    return found


def test_all_promised_presets_ship() -> None:
    """The language reference names these seven."""
    assert {path.stem for path in PRESETS} == set(WORST)


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_named_like_its_file(path: Path) -> None:
    """Shipped presets are found by the name of their file."""
    assert f"\npreset: {path.stem}\n" in path.read_text()


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_says_why(path: Path) -> None:
    """Each begins with a comment on its numbers and has comments in between."""
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert sum(line.lstrip().startswith("#") for line in lines) >= 6


@pytest.mark.parametrize(
    "idempotent", ["", "    idempotent: true\n", "    idempotent: false\n"]
)
@pytest.mark.parametrize("name", WORST)
def test_a_preset_has_no_findings(name: str, idempotent: str) -> None:
    """Whatever the operation says of itself, lint has nothing above info to say.

    The model client alone states what idempotent calls may retry, and says what to
    switch off with it.
    """
    if name == "llm-client" and "false" in idempotent:
        idempotent += "    retry: {retry_on_status: off}\n"
    loaded = load(name, idempotent)
    assert loaded.diagnostics == ()
    findings = lint(loaded.project).diagnostics
    assert [f for f in findings if f.severity > Severity.INFO] == []


@pytest.mark.parametrize("name", WORST)
def test_all_attempts_fit_the_budget(name: str) -> None:
    """The worst case of the comment is the formula's, and is within the budget."""
    found = operation(name)
    assert found.attempt_timeout is not None
    assert found.attempt_timeout.total is not None
    assert found.retry is not None
    assert found.retry.max_attempts is not None
    assert found.budget is not None
    assert found.budget.total is not None
    wait = local_wait(found.bulkhead, found.rate_limit)
    attempts = found.retry.max_attempts * (wait + found.attempt_timeout.total)
    waits = longest_waits(found.retry.backoff, found.retry.max_attempts - 1)
    assert attempts + waits == pytest.approx(WORST[name])
    assert attempts + waits <= found.budget.total
    assert found.retry.backoff.jitter.kind == "full"


@pytest.mark.parametrize("name", WORST)
def test_a_break_outlasts_the_call_that_opened_it(name: str) -> None:
    """Even the shortest break, with jitter, is longer than the rest of a call."""
    found = operation(name)
    assert found.circuit_breaker is not None
    assert found.retry is not None
    assert found.retry.max_attempts is not None
    assert found.attempt_timeout is not None
    assert found.attempt_timeout.total is not None
    recovery = found.circuit_breaker.recovery_timeout
    shortest = recovery.initial * (1 - recovery.jitter)
    retries = found.retry.max_attempts - 1
    rest = longest_waits(found.retry.backoff, retries)
    assert shortest > rest + retries * found.attempt_timeout.total


def test_the_model_client_waits_as_long_as_its_provider_asks() -> None:
    """Two attempts of 60 s, two waits for a slot and a hint of 20 s are within 150 s."""
    found = operation("llm-client")
    assert found.retry is not None
    assert found.retry.retry_after is not None
    assert found.budget is not None
    hint = found.retry.retry_after.max
    assert hint == 20.0
    assert found.budget.total == 150.0
    assert 2 * (2 + 60) + hint <= 150
