"""policyctl baseline update, and validate with a baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

OLD = """\
version: 1
service: quotes_api
owner: quotes-team
operations:
  get_quote:
    transport: http
    idempotent: true
    facts: {rate: 20/s, callers: 4, latency: {p50: 40ms, p99: 400ms}}
    attempt_timeout: 1s
    budget: 10s
    retry: {max_attempts: 7}
"""
RULE = ("--select", "RT001")


@pytest.fixture
def old_code(write: Write) -> Path:
    """A project with a finding, and a configuration that names a baseline."""
    write("policyctl.toml", 'baseline = "known.json"\nselect = ["RT001"]\n')
    return write("policies/quotes.yaml", OLD)


def test_a_baseline_is_made_with_the_flag(
    run_cli: Run, old_code: Path, tmp_path: Path
) -> None:
    """Recording needs a decision; then validate passes and counts what it hides."""
    refused = run_cli("baseline", "update")
    assert refused.code == 1
    assert not (tmp_path / "known.json").exists()
    assert "RT001" in refused.out
    assert "record them with --allow-growth" in refused.err
    made = run_cli("baseline", "update", "--allow-growth")
    assert made.code == 0
    assert made.out == "updated: known.json, 1 finding (1 added)\n"
    (entry,) = json.loads((tmp_path / "known.json").read_text("utf-8"))["findings"]
    path = "quotes_api.operations.get_quote.retry.max_attempts"
    assert entry == {"rule": "RT001", "path": path, "count": 1}
    clean = run_cli("validate")
    assert clean.code == 0
    assert clean.out == "clean: no findings in 1 file, 1 service (1 in the baseline)\n"


def test_new_findings_fail_and_moved_ones_do_not(run_cli: Run, old_code: Path) -> None:
    """Lines may move; another operation with the same flaw is new."""
    run_cli("baseline", "update", "--allow-growth")
    old_code.write_text("# a line above\n\n" + OLD, "utf-8")
    assert run_cli("validate").code == 0
    more = OLD.split("operations:\n")[1].replace("get_quote", "get_list")
    old_code.write_text(OLD + more, "utf-8")
    done = run_cli("validate")
    assert done.code == 1
    assert "get_list" in done.out
    assert "(1 in the baseline)" in done.out


def test_mended_findings_make_the_baseline_stale(
    run_cli: Run, old_code: Path, tmp_path: Path
) -> None:
    """A warning names the entry; an update removes it, and the next has nothing to do."""
    run_cli("baseline", "update", "--allow-growth")
    old_code.write_text(OLD.replace("7", "3"), "utf-8")
    done = run_cli("validate")
    assert done.code == 0
    assert "warning[BL001] stale-baseline-entry" in done.out
    assert "--> known.json:4:31" in done.out
    assert '"rule": "RT001"' in done.out
    updated = run_cli("baseline", "update")
    assert updated.out == "updated: known.json, 0 findings (1 removed)\n"
    assert run_cli("baseline", "update").out == "unchanged: known.json, 0 findings\n"
    assert run_cli("validate").out.startswith("clean")


def test_a_service_that_is_gone_is_stale(
    run_cli: Run, old_code: Path, write: Write
) -> None:
    """Where all policies were looked at, entries of services that left are reported."""
    run_cli("baseline", "update", "--allow-growth")
    old_code.write_text(
        OLD.replace("quotes_api", "prices_api").replace("7", "3"), "utf-8"
    )
    assert "BL001" in run_cli("validate").out
    assert "BL001" not in run_cli("validate", str(old_code)).out


def test_parts_of_a_run_do_not_make_the_rest_stale(
    run_cli: Run, old_code: Path, write: Write
) -> None:
    """Neither other services nor rules that were left out are called gone."""
    write("policies/other.yaml", OLD.replace("quotes_api", "other_api"))
    run_cli("baseline", "update", "--allow-growth")
    assert run_cli("validate", "policies/other.yaml").out.startswith("clean")
    assert run_cli("validate", "--select", "RT004").out.startswith("clean")
    old_code.write_text(OLD.replace("7", "3"), "utf-8")
    assert run_cli("baseline", "update", "policies/other.yaml").out.startswith(
        "unchanged"
    )


def test_the_option_wins_over_the_configuration(
    run_cli: Run, old_code: Path, tmp_path: Path
) -> None:
    """--baseline names another file, relative to the working directory."""
    run_cli("baseline", "update", "--allow-growth", "--baseline", "mine.json")
    assert not (tmp_path / "known.json").exists()
    assert run_cli("validate", "--baseline", "mine.json").code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the baseline known.json does not exist"),
        ("{", "the baseline known.json is not a baseline: not valid JSON"),
        ('{"version": 9, "findings": []}', "its version is 9, not 1"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_one_clear_error(
    run_cli: Run, old_code: Path, write: Write, content: str | None, message: str
) -> None:
    """The run stops with exit code 2, in every format."""
    if content is not None:
        write("known.json", content)
    done = run_cli("validate")
    assert done.code == 2
    assert message in done.out
    report = json.loads(run_cli("validate", "--format", "json").out)
    assert report["diagnostics"][0]["code"] == "CF106"


def test_invalid_policies_are_not_recorded(
    run_cli: Run, old_code: Path, tmp_path: Path
) -> None:
    """A document that is not valid has to be mended first."""
    old_code.write_text(OLD.replace("1s", "1"), "utf-8")
    done = run_cli("baseline", "update", "--allow-growth")
    assert done.code == 1
    assert "known.json is left as it was" in done.err
    assert not (tmp_path / "known.json").exists()


def test_without_a_name_it_says_how_to_give_one(run_cli: Run, write: Write) -> None:
    """Neither option nor configuration names a file: a usage error."""
    write("policies/quotes.yaml", OLD)
    done = run_cli("baseline", "update")
    assert done.code == 2
    assert "give --baseline FILE" in done.err


def test_json_counts_what_the_baseline_hides(run_cli: Run, old_code: Path) -> None:
    """Programs see the number too, and the exit code is the same."""
    run_cli("baseline", "update", "--allow-growth")
    done = run_cli("validate", "--format", "json")
    assert (done.code, json.loads(done.out)["summary"]["baselined"]) == (0, 1)


def test_the_file_is_the_same_on_every_run(
    run_cli: Run, old_code: Path, tmp_path: Path, write: Write
) -> None:
    """Two recordings of the same policies are equal byte for byte."""
    write("policies/other.yaml", OLD.replace("quotes_api", "other_api"))
    run_cli("baseline", "update", "--allow-growth")
    first = (tmp_path / "known.json").read_bytes()
    (tmp_path / "known.json").unlink()
    run_cli("baseline", "update", "--allow-growth")
    assert (tmp_path / "known.json").read_bytes() == first
