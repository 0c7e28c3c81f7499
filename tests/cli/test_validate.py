"""``policyctl validate``: exit codes, formats, selection, standard input, context."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli._exit import code_for
from policyctl.diagnostics import Diagnostic, Severity, Span, Suppressed
from policyctl.reports import format_names

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

SELECT = ("--select", "RT001,TB001")
"""The rules that these tests are about; others come and go."""


@pytest.mark.parametrize("format", format_names())
@pytest.mark.parametrize(
    ("policy", "options", "code"),
    [
        ("clean", [], 0),
        ("clean", ["--fail-on", "info"], 0),
        ("warning", [], 0),
        ("warning", ["--fail-on", "warning"], 1),
        ("warning", ["--fail-on", "info"], 1),
        ("warning", ["--fail-on", "warning", "--ignore", "RT001"], 0),
        ("error", [], 1),
        ("error", ["--ignore", "TB001"], 0),
        ("invalid", [], 1),
        ("invalid", ["--ignore", "VA007"], 2),
        ("not_yaml", [], 1),
        (None, [], 2),
    ],
)
def test_exit_codes_are_the_same_for_every_format(
    run_cli: Run,
    write: Write,
    texts: Any,
    format: str,
    policy: str | None,
    options: list[str],
    code: int,
) -> None:
    """0 clean, 1 findings at the threshold or invalid policies, 2 could not do the job."""
    if policy is not None:
        write("policies/quotes.yaml", getattr(texts, policy))
    outcome = run_cli("validate", *SELECT, "--format", format, *options)
    assert outcome.code == code
    assert (outcome.err == "") is (code != 2 or policy is None)


def finding(code: str, severity: Severity, hidden: bool = False) -> Diagnostic:
    """A finding of one code and severity."""
    suppressed = Suppressed("why", Span("a")) if hidden else None
    return Diagnostic(code, "n", severity, "m", Span("a"), suppressed=suppressed)


@pytest.mark.parametrize(
    ("findings", "threshold", "expected"),
    [
        ([], Severity.INFO, 0),
        ([finding("RT001", Severity.INFO)], Severity.INFO, 1),
        ([finding("RT001", Severity.INFO)], Severity.WARNING, 0),
        ([finding("RT001", Severity.ERROR, hidden=True)], Severity.INFO, 0),
        ([finding("CF201", Severity.ERROR)], Severity.ERROR, 2),
        ([finding("CF201", Severity.WARNING)], Severity.ERROR, 0),
        ([finding("CF201", Severity.WARNING)], Severity.WARNING, 1),
        (
            [finding("VA001", Severity.ERROR), finding("CF201", Severity.ERROR)],
            Severity.ERROR,
            2,
        ),
    ],
)
def test_one_rule_decides_the_exit_code(
    findings: list[Diagnostic], threshold: Severity, expected: int
) -> None:
    """Trouble with input outranks findings, and what is suppressed does not count."""
    assert code_for(findings, threshold) == expected


def test_clean_is_said_out_loud(run_cli: Run, write: Write, texts: Any) -> None:
    """A run without findings says so, with what it looked at."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli("validate", *SELECT)
    assert outcome.out == "clean: no findings in 1 file, 1 service\n"


def test_a_finding_shows_place_excerpt_and_help(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """The text format has the path as typed, the line with a caret, and the remedy."""
    write("policies/quotes.yaml", texts.invalid)
    out = run_cli("validate").out
    assert "--> policies/quotes.yaml:9:22" in out
    assert "9 |     attempt_timeout: 5\n" in out
    assert "= help: " in out


def test_nothing_to_read_is_a_failure(run_cli: Run, tmp_path: Path) -> None:
    """An empty folder is not clean: exit 2, with the way to start."""
    (tmp_path / "policies").mkdir()
    outcome = run_cli("validate")
    assert outcome.code == 2
    assert "there is no .yaml or .yml file in policies" in outcome.out
    assert "help: policyctl init writes an example" in outcome.out


def test_files_outside_the_configured_folders_are_read(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """A file given by name is validated wherever it is and whatever it is called."""
    write("elsewhere/quotes.policy", texts.warning)
    path = "elsewhere/quotes.policy"
    outcome = run_cli("validate", path, *SELECT, "--format", "concise")
    assert outcome.code == 0
    assert outcome.out.startswith("elsewhere/quotes.policy:11:27: warning[RT001]")


CALLER = """\
version: 1
service: caller
owner: callers
facts: {instances: 2, objective: 30s}
calls: [{to: quotes_api.get_quote}]
operations:
  handle:
    transport: local
    idempotent: true
    facts: {rate: 1/s, latency: {p50: 1ms}}
    attempt_timeout: 1s
"""


def test_a_single_file_sees_the_rest_of_its_folder(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """Other services are context: referred to, but not reported on."""
    write("policies/quotes.yaml", texts.error)
    write("policies/caller.yaml", CALLER)
    outcome = run_cli("validate", "policies/caller.yaml", "--format", "json")
    found = json.loads(outcome.out)
    assert {d["path"] for d in found["diagnostics"]} <= {"policies/caller.yaml"}
    assert "VA106" not in {d["code"] for d in found["diagnostics"]}
    assert (found["summary"]["files"], found["summary"]["services"]) == (1, 1)


def test_files_outside_have_no_context(run_cli: Run, write: Write, texts: Any) -> None:
    """A file elsewhere may declare a service that the configured folder has too."""
    write("policies/quotes.yaml", texts.clean)
    write("legacy/quotes.yaml", texts.clean)
    assert run_cli("validate", "legacy").code == 0
    both = run_cli("validate", "legacy", "policies")
    assert both.code == 1
    assert "VA101" in both.out


def test_standard_input_stands_for_a_file(
    run_cli: Run, write: Write, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --stdin-filename the text replaces that file, in its folder's context."""
    write("policies/quotes.yaml", texts.clean)
    write("policies/caller.yaml", "not a policy")
    write("stdin", CALLER)
    with Path("stdin").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        outcome = run_cli("validate", "-", "--stdin-filename", "policies/caller.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("in 1 file, 1 service\n")


def test_standard_input_without_a_name(
    run_cli: Run, write: Write, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings in standard input are shown with their excerpt under <stdin>."""
    write("stdin", texts.invalid)
    with Path("stdin").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        outcome = run_cli("validate", "-")
    assert outcome.code == 1
    assert "--> <stdin>:9:22" in outcome.out
    assert "9 |     attempt_timeout: 5\n" in outcome.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stdin-filename", "x.yaml"], "--stdin-filename goes with the path -"),
        (["--format", "jsn"], "jsn is not a format\n  help: did you mean json?"),
        (["--format", "text", "--format", "json"], "two formats go to standard output"),
        (
            ["--output-file", "a", "--output-file", "b"],
            "2 output files for 1 formats",
        ),
        (
            ["--statistics", "--format", "json"],
            "--statistics goes with text or concise on standard output",
        ),
        (
            [*("--format", "text", "--format", "sarif"), "--output-file", "a.sarif"],
            (
                "a.sarif would get text, not sarif: the n-th file takes the n-th format\n"
                "  help: begin with --format sarif --output-file a.sarif"
            ),
        ),
        (["--select", "RT991"], "--select RT991: there is no such rule"),
        (
            ["--ignore", "no-jiter"],
            "--ignore no-jiter: there is no such rule\n  help: did you mean no-jitter?",
        ),
        (["--output-file", "no/such/folder"], "no/such/folder cannot be written: "),
    ],
)
def test_options_that_make_no_sense_are_refused(
    run_cli: Run, write: Write, texts: Any, options: list[str], message: str
) -> None:
    """Each combination that cannot be served is exit 2 with one message."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli("validate", *options)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {message}")


def test_several_formats_go_to_files(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """The n-th file takes the n-th format; one more format goes to standard output."""
    write("policies/quotes.yaml", texts.warning)
    outcome = run_cli(
        *("validate", *SELECT, "--format", "json", "--output-file", "found.json"),
        *("--format", "sarif", "--output-file", "found.sarif"),
        *("--format", "concise"),
    )
    assert outcome.code == 0
    assert outcome.out.startswith("policies/quotes.yaml:11:27: warning[RT001]")
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert found["diagnostics"][0]["code"] == "RT001"
    sarif = json.loads((tmp_path / "found.sarif").read_text("utf-8"))
    assert sarif["version"] == "2.1.0"
    assert {path.name for path in tmp_path.iterdir()} == {
        "found.json",
        "found.sarif",
        "policies",
    }


def test_a_file_may_be_named_for_its_format_and_another(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """SARIF is JSON, and a file without a known ending may hold anything."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli(
        *("validate", "--format", "sarif", "--output-file", "a.sarif.json"),
        *("--format", "json", "--output-file", "report"),
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads((tmp_path / "a.sarif.json").read_text())["version"] == "2.1.0"


def test_without_output_files_nothing_is_written(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """validate leaves the folder as it was, but for the cache where that is used."""
    write("policies/quotes.yaml", texts.error)
    run_cli("validate", "--no-cache")
    assert [p.name for p in tmp_path.rglob("*")] == ["policies", "quotes.yaml"]


def test_statistics_count_the_findings(run_cli: Run, write: Write, texts: Any) -> None:
    """Most frequent first, then by code, with the summary below."""
    write("policies/a.yaml", texts.warning)
    write("policies/b.yaml", texts.warning.replace("quotes_api", "other_api"))
    outcome = run_cli("validate", *SELECT, "--statistics")
    assert outcome.out == (
        "2  RT001  warning  too-many-attempts\n2 warnings in 2 files, 2 services\n"
    )


def test_select_and_ignore_take_lists_and_beginnings(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """Codes, names and beginnings of codes, repeated or with commas."""
    write("policies/a.yaml", texts.warning.replace("    attempt_timeout: 1s\n", ""))

    def codes(*options: str) -> list[str]:
        outcome = run_cli("validate", "--format", "json", *options)
        return [d["code"] for d in json.loads(outcome.out)["diagnostics"]]

    assert codes("--select", "RT") == ["RT001"]
    assert codes("--select", "RT004,TB001") == ["TB001"]
    assert codes("--select", "RT", "--select", "attempt-timeout-missing") == [
        "TB001",
        "RT001",
    ]
    assert codes("--select", "RT,TB001", "--ignore", "too-many-attempts") == ["TB001"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('select = ["RT991"]', "policyctl.toml:1:1"),
        ('\nseverity = {nosuch = "info"}', "policyctl.toml:2:13"),
        ('unsuppressible = ["XX001"]', "policyctl.toml:1:1"),
        ("[thresholds.RT001]\nmax_atempts = 4", "policyctl.toml:2:1"),
        ('[thresholds.RT001]\nmax_attempts = "four"', "policyctl.toml:2:1"),
    ],
)
def test_rules_in_the_configuration_must_exist(
    run_cli: Run, write: Write, texts: Any, text: str, place: str
) -> None:
    """A rule or threshold that does not exist is exit 2 at its line."""
    write("policies/quotes.yaml", texts.clean)
    write("policyctl.toml", text)
    outcome = run_cli("validate")
    assert outcome.code == 2
    assert f"--> {place}\n" in outcome.out


def test_the_configuration_sets_severity_threshold_and_failure(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """Severity, thresholds, ignore and fail-on of the file are in force."""
    write("policies/quotes.yaml", texts.warning)
    write("policyctl.toml", '[severity]\nRT001 = "error"\n')
    assert run_cli("validate", *SELECT).code == 1
    write("policyctl.toml", "[thresholds.RT001]\nmax_attempts = 4\n")
    assert run_cli("validate", *SELECT).out.startswith("clean")
    write("policyctl.toml", 'fail-on = "warning"\n')
    assert run_cli("validate", *SELECT).code == 1
    assert run_cli("validate", *SELECT, "--fail-on", "error").code == 0
    write("policyctl.toml", 'ignore = ["RT001"]\n')
    assert run_cli("validate", *SELECT).out.startswith("clean")


def test_excluded_paths_are_not_searched(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """``exclude`` prunes folders and files that are searched, not files that are named."""
    write("policyctl.toml", 'exclude = ["drafts", "policies/old/*.yaml"]\n')
    write("policies/quotes.yaml", texts.clean)
    write("policies/drafts/a.yaml", texts.not_yaml)
    write("policies/old/b.yaml", texts.not_yaml)
    write("policies/old/c.yml", texts.clean.replace("quotes_api", "old_api"))
    outcome = run_cli("validate", *SELECT, *SELECT)
    assert outcome.out == "clean: no findings in 2 files, 2 services\n"
    assert run_cli("validate", *SELECT, "policies").code == 0
    assert run_cli("validate", *SELECT, "policies/drafts/a.yaml").code == 1


def test_environments_are_applied(run_cli: Run, write: Write, texts: Any) -> None:
    """--environment validates the overlay, and an unknown one is an error."""
    overlay = (
        "environments:\n  staging:\n    operations:\n"
        "      get_quote: {retry: {max_attempts: 6}}\n"
    )
    write("policies/quotes.yaml", texts.clean + overlay)
    assert run_cli("validate").code == 0
    staging = run_cli("validate", "--environment", "staging", "--format", "concise")
    assert "policies/quotes.yaml:16:41: error[RT001]" in staging.out
    assert "VA109" in run_cli("validate", "--environment", "stagin").out


def test_configured_folders_count_from_the_configuration(
    run_cli: Run, write: Write, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder further down the same policies are found, shown relative to it."""
    write("policyctl.toml", "")
    write("policies/quotes.yaml", texts.invalid)
    write("src/app/x", "")
    monkeypatch.chdir("src/app")
    outcome = run_cli("validate", "--format", "concise")
    assert outcome.out.startswith("../../policies/quotes.yaml:9:22: error[VA")


def test_presets_beside_a_named_file_are_found(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """``presets`` beside the file or below a named folder can be extended."""
    write(
        "p/presets/fast.yaml",
        "version: 1\npreset: fast\ndefaults: {attempt_timeout: 1s}\n",
    )
    text = texts.error.replace("operations:", "extends: [fast]\noperations:")
    write("p/quotes.yaml", text)
    assert run_cli("validate", "p/quotes.yaml", *SELECT).out.startswith("clean")
    assert run_cli("validate", "p", *SELECT).out.startswith("clean")
