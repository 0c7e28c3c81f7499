"""``policyctl generate``: what is written, what is stale, and what is refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

WHOLE = [
    "__init__.py",
    "policies.lock.json",
    "py.typed",
    "quotes_api.py",
    "registry.py",
]


def names(folder: Path) -> list[str]:
    """The files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def other(text: str) -> str:
    """The same policy for another service."""
    return text.replace("quotes_api", "other_api")


def test_the_package_is_written_and_named(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """Every file that was written is listed; the folder holds nothing else."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli("generate")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "".join(f"wrote generated/{name}\n" for name in WHOLE)
    assert names(tmp_path / "generated") == WHOLE


def test_a_second_run_touches_nothing(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """Files that are up to date keep their times."""
    write("policies/quotes.yaml", texts.clean)
    run_cli("generate")
    paths = list((tmp_path / "generated").iterdir())
    for path in paths:
        os.utime(path, (1, 1))
    outcome = run_cli("generate", "--fail-on-change")
    assert (outcome.code, outcome.out) == (0, "up to date: 1 service in generated\n")
    assert {path.stat().st_mtime for path in paths} == {1.0}


def test_check_names_each_kind_of_staleness(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """Missing, changed, edited and orphaned files are told apart, and nothing is written."""
    write("policies/quotes.yaml", texts.clean)
    write("policies/other.yaml", other(texts.clean))
    assert run_cli("generate", "--check").code == 1
    assert not (tmp_path / "generated").exists()
    run_cli("generate")
    assert run_cli("generate", "--check").out == "up to date: 2 services in generated\n"
    (tmp_path / "policies" / "other.yaml").unlink()
    write("policies/quotes.yaml", texts.clean.replace("budget: 10s", "budget: 9s"))
    registry = tmp_path / "generated" / "registry.py"
    registry.write_text(registry.read_text("utf-8") + "# mine\n", "utf-8")
    (tmp_path / "generated" / "py.typed").unlink()
    before = {path: path.read_bytes() for path in (tmp_path / "generated").iterdir()}
    outcome = run_cli("generate", "--check")
    assert outcome.code == 1
    listed = outcome.out.partition("\n\n")[0].splitlines()
    kinds = {line.split()[-1] if ": " not in line else line for line in listed}
    starts = sorted(line.split(":")[0] for line in kinds)
    assert starts == [
        "changed",
        "changed",
        "changed",
        "hand edited",
        "missing",
        "orphaned",
    ]
    assert "-    budget=_settings.Budget(total=10.0" in outcome.out
    assert "+    budget=_settings.Budget(total=9.0" in outcome.out
    after = {path: path.read_bytes() for path in (tmp_path / "generated").iterdir()}
    assert after == before


def test_diff_prints_a_patch_alone(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """--diff writes nothing and prints what a run would change."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli("generate", "--diff")
    assert outcome.code == 1
    assert outcome.out.startswith("--- /dev/null\n+++ generated/__init__.py\n@@ ")
    assert not (tmp_path / "generated").exists()
    run_cli("generate")
    again = run_cli("generate", "--diff")
    assert (again.code, again.out) == (0, "")


def test_orphans_are_removed_unless_files_are_named(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """Files write their services alone; folders, or nothing, reconcile the package."""
    write("policies/quotes.yaml", texts.clean)
    write("policies/other.yaml", other(texts.clean))
    run_cli("generate")
    (tmp_path / "policies" / "other.yaml").unlink()
    changed = texts.clean.replace("budget: 10s", "budget: 9s")
    write("policies/quotes.yaml", changed)
    partial = run_cli("generate", "policies/quotes.yaml")
    assert partial.out == (
        "wrote generated/policies.lock.json\nwrote generated/quotes_api.py\n"
    )
    assert (tmp_path / "generated" / "other_api.py").exists()
    whole = run_cli("generate", "policies")
    assert "removed generated/other_api.py\n" in whole.out
    assert names(tmp_path / "generated") == WHOLE


def test_a_folder_inside_the_configured_one_removes_no_neighbour(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """The rest of the configured policies still has its modules."""
    write("policies/a/quotes.yaml", texts.clean)
    write("policies/b/other.yaml", other(texts.clean))
    run_cli("generate")
    assert (
        run_cli("generate", "policies/a").out == "up to date: 2 services in generated\n"
    )
    write("policies/b/other.yaml", other(texts.invalid))
    assert run_cli("generate", "policies/a").code == 1
    assert (tmp_path / "generated" / "other_api.py").exists()


@pytest.mark.parametrize("policy", ["invalid", "not_yaml"])
def test_invalid_policies_write_nothing(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path, policy: str
) -> None:
    """One bad document stops the whole run with its finding and exit 1."""
    write("policies/bad.yaml", getattr(texts, policy))
    write("policies/other.yaml", other(texts.clean))
    outcome = run_cli("generate")
    assert (outcome.code, outcome.out) == (1, "")
    assert "--> policies/bad.yaml:" in outcome.err
    assert not (tmp_path / "generated").exists()


def test_warnings_of_validation_are_shown_and_do_not_block(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """A file without a document is told of on standard error."""
    write("policies/quotes.yaml", texts.clean)
    write("policies/empty.yaml", "# later\n")
    outcome = run_cli("generate")
    assert outcome.code == 0
    assert outcome.err.startswith("warning[SY019]")
    assert outcome.out.startswith("wrote generated/__init__.py\n")


def test_lint_does_not_block(run_cli: Run, write: Write, texts: Any) -> None:
    """What lint calls an error is generated all the same."""
    write("policies/quotes.yaml", texts.error)
    assert run_cli("validate").code == 1
    assert run_cli("generate").code == 0


WAITING = """\
version: 1
service: worker
operations:
  run:
    transport: http
    budget: 2s
    attempt_timeout: 1s
telemetry: {traces: opentelemetry}
"""


def test_what_cannot_be_generated_yet_is_refused(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """A pattern to come stops generation at its place; generate-exclude passes it over."""
    write("policies/quotes.yaml", texts.clean)
    write("policies/next/worker.yaml", WAITING)
    outcome = run_cli("generate")
    assert outcome.code == 1
    assert "error[GN003]" in outcome.err
    assert "--> policies/next/worker.yaml:8:13\n" in outcome.err
    write("policyctl.toml", 'generate-exclude = ["policies/next"]\n')
    assert run_cli("validate").code == 0
    assert run_cli("generate").code == 0
    assert names(tmp_path / "generated") == WHOLE
    assert run_cli("generate", "policies/next/worker.yaml").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-"], 2, "error: generate reads files, not standard input"),
        (["--package", "my-pkg"], 2, 'error: --package = "my-pkg" is not the name'),
        (["--output", "my-pkg"], 2, 'error: the output folder "'),
        (["nope"], 2, "error[CF201] path-not-found: nope does not exist"),
        (["--environment", "stagin"], 1, "error[VA109]"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run_cli: Run,
    write: Write,
    texts: Any,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    """Usage, input and environment errors write nothing."""
    overlay = "environments: {staging: {defaults: {attempt_timeout: 2s}}}\n"
    write("policies/quotes.yaml", texts.clean + overlay)
    outcome = run_cli("generate", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(message)
    assert names(tmp_path) == ["policies"]


def test_output_and_package_come_from_options_or_the_configuration(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """The option wins; the package is named after the folder unless it is set."""
    write("policies/quotes.yaml", texts.clean)
    write("policyctl.toml", 'output = "src/acme/resilience"\n')
    run_cli("generate")
    made = tmp_path / "src" / "acme" / "resilience" / "__init__.py"
    assert "from resilience import" in made.read_text("utf-8")
    run_cli("generate", "--output", "lib/guards")
    other_made = tmp_path / "lib" / "guards" / "__init__.py"
    assert "from guards import" in other_made.read_text("utf-8")
    write(
        "policyctl.toml",
        'output = "src/acme/resilience"\npackage = "acme.resilience"\n',
    )
    run_cli("generate")
    assert "from acme.resilience import" in made.read_text("utf-8")
    run_cli("generate", "--output", "lib/guards")
    assert "from acme.resilience import" in other_made.read_text("utf-8")
    run_cli("generate", "--output", "lib/guards", "--package", "lib.guards")
    assert "from lib.guards import" in other_made.read_text("utf-8")


def test_files_of_others_are_not_overwritten(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """A module that we did not write stops the run: exit 2, nothing changed."""
    write("policies/quotes.yaml", texts.clean)
    mine = write("generated/quotes_api.py", "# mine\n")
    outcome = run_cli("generate")
    assert (outcome.code, outcome.out) == (2, "")
    assert "was not generated by policyctl" in outcome.err
    assert mine.read_text("utf-8") == "# mine\n"
    assert names(tmp_path / "generated") == ["quotes_api.py"]


def test_the_same_bytes_from_any_folder(
    run_cli: Run,
    write: Write,
    texts: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the command runs does not show in what it writes."""
    write("policyctl.toml", "")
    write("policies/quotes.yaml", texts.clean)
    write("sub/x", "")
    run_cli("generate")
    monkeypatch.chdir("sub")
    outcome = run_cli("generate", "--check")
    assert outcome.out == "up to date: 1 service in ../generated\n"


def test_fail_on_change_tells_hooks(run_cli: Run, write: Write, texts: Any) -> None:
    """For hooks: exit 1 whenever a file was written or removed, also a new one."""
    write("policies/quotes.yaml", texts.clean)
    assert run_cli("generate", "--fail-on-change").code == 1
    assert run_cli("generate", "--fail-on-change").code == 0


def test_the_context_of_templates(run_cli: Run, write: Write, texts: Any) -> None:
    """It is printed as JSON for one service; another name tells the nearest."""
    write("policies/quotes.yaml", texts.clean)
    outcome = run_cli("generate", "--print-context", "quotes_api")
    assert outcome.code == 0
    data = json.loads(outcome.out)
    assert (data["version"], data["service"]) == (1, "quotes_api")
    templates = data["templates"]
    assert sorted(templates) == [
        "module.py.jinja",
        "package.py.jinja",
        "registry.py.jinja",
    ]
    [policy] = templates["module.py.jinja"]["policies"]
    assert policy["name"] == "get_quote"
    assert policy["arguments"][0] == '    service="quotes_api",'
    outcome = run_cli("generate", "--print-context", "quote_api")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean quotes_api?" in outcome.err


def test_templates_of_ones_own(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """They come from the configuration; an error has a place and writes nothing."""
    write("policyctl.toml", 'templates = "templates"\nruntime = "bundled"\n')
    write("policies/quotes.yaml", texts.clean)
    write("templates/parts/docstring.jinja", '"""Ours."""\n{# {{ docstring }} #}\n')
    outcome = run_cli("generate")
    assert outcome.code == 0
    assert re.search(r"\nwrote generated/_runtime \(\d+ files\)\n$", outcome.out)
    assert '\n"""Ours."""\n' in (tmp_path / "generated/quotes_api.py").read_text()
    assert (tmp_path / "generated/_runtime/policy.py").is_file()
    assert run_cli("generate", "--check").code == 0
    write("templates/parts/docstring.jinja", '"""Ours."""\n{{ docstrng }}\n')
    outcome = run_cli("generate", "--check")
    assert outcome.code == 1
    assert "templates/parts/docstring.jinja:2" in outcome.err
    assert "'docstrng' is undefined" in outcome.err


def test_a_folder_that_is_excluded_is_not_passed_over_in_silence(
    run_cli: Run, write: Write, texts: Any, tmp_path: Path
) -> None:
    """Named outright, a folder of which nothing is generated is an error."""
    write("policyctl.toml", 'generate-exclude = ["policies/next"]\n')
    write("policies/a.yaml", texts.clean)
    write("policies/next/b.yaml", texts.clean.replace("quotes_api", "next_api"))
    outcome = run_cli("generate", "policies/next")
    assert outcome.code == 2
    shown = outcome.out + outcome.err
    assert "generate-exclude leaves out every service in policies/next" in shown
    assert "help: name its files" in shown
    assert not (tmp_path / "generated").exists()
    assert run_cli("generate", "policies").code == 0
    assert not (tmp_path / "generated" / "next_api.py").exists()
    assert run_cli("generate", "policies/next/b.yaml").code == 0
    assert (tmp_path / "generated" / "next_api.py").exists()
