"""The steps of docs/adopting.md work on a project with findings of every kind."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from policyctl.cli.main import run

PAGE = Path(__file__).parents[2] / "docs" / "adopting.md"
OLD = """\
version: 1
service: ledger_api
owner: ledger-team
operations:
  post_entry:
    transport: http
    idempotent: true
    facts: {callers: 8}
    attempt_timeout: 500ms
    budget: 10s
    retry: {max_attempts: 6, backoff: {jitter: none}}
"""


def test_the_commands_of_the_guide_lead_to_a_passing_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of the first three steps runs, and afterwards validate passes."""
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "policies" / "ledger.yaml"
    policy.parent.mkdir()
    policy.write_text(OLD, "utf-8")
    assert run(["validate"]) == 1
    text = PAGE.read_text("utf-8")
    for block in re.findall(
        r"```(\w+)\n(.*?)```", text.partition("## 4.")[0], re.DOTALL
    ):
        if block[0] == "toml":
            (tmp_path / "policyctl.toml").write_text(block[1], "utf-8")
        for line in block[1].splitlines() if block[0] == "sh" else ():
            if line.startswith("policyctl"):
                command = line.partition("|")[0].partition("#")[0]
                assert run(shlex.split(command)[1:]) in (0, 1), line
    assert "jitter: full" in policy.read_text("utf-8")
    capsys.readouterr()
    assert run(["validate"]) == 0
    assert "in the baseline" in capsys.readouterr().out


def test_the_settings_of_the_guide_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of severities and thresholds is a valid configuration."""
    monkeypatch.chdir(tmp_path)
    (settings,) = re.findall(
        r"## 4.*?```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "policyctl.toml").write_text(settings, "utf-8")
    assert run(["config", "show"]) == 0
