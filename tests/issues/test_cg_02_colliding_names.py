"""CG-02: two names that would become one are an error that shows both lines.

Reported for generators that normalise ``getThing`` and ``get_thing`` to one identifier
and silently keep the later one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.cli.main import run

TWO_OVERRIDES = """\
version: 1
service: booking_agent
operations:
  book:
    transport: local
    bulkhead: {max_concurrent: 1}
    calls: [{to: tax_api.compute, override: {attempt_timeout: 300ms}}]
  cancel:
    transport: local
    bulkhead: {max_concurrent: 1}
    calls: [{to: tax_api.compute, override: {attempt_timeout: 400ms}}]
---
version: 1
service: tax_api
operations: {compute: {transport: local, attempt_timeout: 1s}}
"""


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policy folder of a project that is the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "policies"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("get_thing", "getThing"),
        ("get_thing", "get-thing"),
        ("get_thing", "GET thing"),
        ("get_thing", "get_thing"),
        ("id", "_id"),
    ],
)
def test_two_operations_of_one_name(
    first: str, second: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is generated for two spellings of one name."""
    (policies / "a.yaml").write_text(
        "version: 1\nservice: a\noperations:\n"
        f"  {first!r}: {{transport: local}}\n  {second!r}: {{transport: local}}\n"
    )
    assert run(["generate"]) == 1
    assert "policies/a.yaml:5:" in "".join(capsys.readouterr())
    assert not Path("generated").exists()


def test_one_service_in_two_files(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two documents of one service name both places, and nothing is generated."""
    for name in ("a.yaml", "b.yaml"):
        (policies / name).write_text(
            "version: 1\nservice: same\noperations: {x: {transport: local}}\n"
        )
    assert run(["generate"]) == 1
    output = "".join(capsys.readouterr())
    assert "policies/a.yaml:2:" in output
    assert "policies/b.yaml:2:" in output
    assert not Path("generated").exists()


def test_an_operation_and_a_queue_of_one_name(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both would be a variable of the module."""
    (policies / "a.yaml").write_text(
        "version: 1\nservice: a\noperations: {x: {transport: local}}\n"
        "queues: {x: {store: external, max_size: 5}}\n"
    )
    assert run(["generate"]) == 1
    assert "name-collision" in "".join(capsys.readouterr())


def test_two_overrides_for_one_callee(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A caller has one policy for what it calls; two are told apart, not merged."""
    (policies / "a.yaml").write_text(TWO_OVERRIDES)
    assert run(["generate"]) == 1
    output = "".join(capsys.readouterr())
    assert "two overrides for tax_api.compute" in output
    assert "policies/a.yaml:11:" in output
    assert "\n 7 |" in output
    (policies / "a.yaml").write_text(TWO_OVERRIDES.replace("400ms", "300ms"))
    assert run(["generate"]) == 0
