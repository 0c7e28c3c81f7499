"""validate --fix, --unsafe-fixes and --diff."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli import _fixing
from policyctl.diagnostics import Edit, Fix, Span
from policyctl.lint.rules.rt004_no_jitter import NoJitter

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

RISKY = """\
version: 1
service: rate_api
owner: rate-team   # ask in #rates
operations:
  get_rate: {transport: http, idempotent: true, facts: {callers: 8},
             attempt_timeout: 500ms, budget: "9s", retry: {max_attempts: 4, backoff: {jitter: none}}}
"""
MENDED = RISKY.replace("jitter: none", "jitter: full")
BOLD = MENDED.replace("max_attempts: 4", "max_attempts: 3")
ONLY = ("--select", "RT001,RT004")


def test_safe_fixes_are_applied_and_the_rest_reported(
    run_cli: Run, write: Write
) -> None:
    """The file holds the safe fix alone; what needs a decision is reported."""
    path = write("policies/rate.yaml", RISKY)
    done = run_cli("validate", "--fix", *ONLY)
    assert path.read_text("utf-8") == MENDED
    assert "RT001" in done.out
    assert "RT004" not in done.out
    assert done.err == "fixed 1 finding in 1 file; --unsafe-fixes would try 1 more\n"
    assert done.code == 0


def test_unsafe_fixes_are_applied_when_asked_for(run_cli: Run, write: Write) -> None:
    """With the option nothing is left, and a second run has nothing to do."""
    path = write("policies/rate.yaml", RISKY)
    done = run_cli("validate", "--fix", "--unsafe-fixes", *ONLY)
    assert path.read_text("utf-8") == BOLD
    assert done.err == "fixed 2 findings in 1 file\n"
    before = path.stat()
    again = run_cli("validate", "--fix", "--unsafe-fixes", *ONLY)
    assert again.err == "nothing to fix\n"
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_diff_writes_nothing_and_prints_a_patch(run_cli: Run, write: Write) -> None:
    """The patch shows the changed line, and the exit code says that there is one."""
    path = write("policies/rate.yaml", RISKY)
    done = run_cli("validate", "--diff", *ONLY)
    assert path.read_text("utf-8") == RISKY
    lines = done.out.splitlines()
    assert lines[:2] == ["--- a/policies/rate.yaml", "+++ b/policies/rate.yaml"]
    assert [line[0] for line in lines[3:] if line[0] in "+-"] == ["-", "+"]
    assert (
        done.err == "would fix 1 finding in 1 file; --unsafe-fixes would try 1 more\n"
    )
    assert done.code == 1


def test_diff_of_clean_policies_is_empty(run_cli: Run, write: Write) -> None:
    """Without anything to fix there is no patch, and the exit code is that of validate."""
    write("policies/rate.yaml", BOLD)
    done = run_cli("validate", "--diff", *ONLY)
    assert (done.code, done.out) == (0, "")


def test_standard_input_can_be_diffed_but_not_fixed(
    run_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--diff prints the patch under the given name; --fix says what to do instead."""
    done = run_cli("validate", "-", "--fix")
    assert done.code == 2
    assert "--diff prints the changes" in done.err
    stdin = io.TextIOWrapper(io.BytesIO(RISKY.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = run_cli("validate", "-", "--diff", "--stdin-filename", "x.yaml", *ONLY)
    assert "+++ b/x.yaml" in done.out
    assert "jitter: full" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (["--diff", "--format", "json"], "--diff prints a patch and no report"),
        (["--diff", "--statistics"], "--diff prints a patch and no report"),
    ],
)
def test_options_that_do_not_go_together(
    run_cli: Run, write: Write, options: list[str], message: str
) -> None:
    """Each wrong combination is refused in one line."""
    write("policies/rate.yaml", RISKY)
    done = run_cli("validate", *options)
    assert done.code == 2
    assert message in done.err


def test_bytes_around_the_fix_stay(run_cli: Run, tmp_path: Path) -> None:
    """A byte-order mark, CRLF and odd characters are those of before."""
    text = RISKY.replace("#rates", "#räte 🚀").replace("\n", "\r\n")
    path = tmp_path / "policies" / "rate.yaml"
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    run_cli("validate", "--fix", *ONLY)
    wanted = text.replace("jitter: none", "jitter: full")
    assert path.read_bytes() == b"\xef\xbb\xbf" + wanted.encode()


def test_mode_and_link_stay(run_cli: Run, write: Write, tmp_path: Path) -> None:
    """A link is followed and stays a link; its target keeps its permissions."""
    target = write("elsewhere/rate.txt", RISKY)
    target.chmod(0o640)
    (tmp_path / "policies").mkdir()
    link = tmp_path / "policies" / "rate.yaml"
    link.symlink_to(target)
    run_cli("validate", "--fix", *ONLY)
    assert link.is_symlink()
    assert target.read_text("utf-8") == MENDED
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(target.parent)) == ["rate.txt"]


def test_only_files_that_were_asked_for_are_written(run_cli: Run, write: Write) -> None:
    """Policies that are read as context keep their findings and their bytes."""
    asked = write("policies/rate.yaml", RISKY)
    other = write("policies/other.yaml", RISKY.replace("rate_api", "other_api"))
    run_cli("validate", "policies/rate.yaml", "--fix", *ONLY)
    assert asked.read_text("utf-8") == MENDED
    assert "jitter: none" in other.read_text("utf-8")


def test_unused_suppressions_are_removed(run_cli: Run, write: Write) -> None:
    """The comment goes; a comment that says more than one code keeps the other."""
    text = MENDED.replace("max_attempts: 4", "max_attempts: 3")
    head = "# policyctl: ignore[RT004] was needed once\n"
    path = write("policies/rate.yaml", head + text)
    run_cli("validate", "--fix")
    assert path.read_text("utf-8") == text


def test_suppressed_findings_are_not_fixed(run_cli: Run, write: Write) -> None:
    """What somebody excused with a reason stays."""
    text = RISKY.replace(
        "  get_rate:", "  # policyctl: ignore[RT004] in step on purpose\n  get_rate:"
    )
    path = write("policies/rate.yaml", text)
    run_cli("validate", "--fix", "--select", "RT004")
    assert path.read_text("utf-8") == text


def test_findings_in_the_baseline_are_not_fixed(run_cli: Run, write: Write) -> None:
    """Known findings are left alone."""
    path = write("policies/rate.yaml", RISKY)
    run_cli("baseline", "update", "--baseline", "b.json", "--allow-growth")
    run_cli("validate", "--fix", "--unsafe-fixes", "--baseline", "b.json")
    assert path.read_text("utf-8") == RISKY


def bad_fix(text: str) -> Callable[..., Fix]:
    """A maker of fixes that replace ``none`` by ``text``, whatever is asked."""

    def make(place: Any, *_: object, **__: object) -> Fix:
        source = place.document.source
        at = source.text.index("none")
        span: Span = source.span(at, at + 4)
        return Fix("break it", (Edit(span, text),), True)

    return make


@pytest.mark.parametrize(
    "text",
    ["5", "[", "none, jitter: none", "none }, x: {", "'none'"],
    ids=["invalid", "no yaml", "doubled", "unknown key", "no better"],
)
def test_a_fix_that_makes_nothing_better_is_taken_back(
    run_cli: Run, write: Write, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The file stays byte for byte, and the run says so."""
    path = write("policies/rate.yaml", RISKY)
    monkeypatch.setattr("policyctl.lint.mend.set_value", bad_fix(text))
    done = run_cli("validate", "--fix", "--select", "RT004")
    assert path.read_text("utf-8") == RISKY
    assert done.err == "nothing to fix; 1 would have made nothing better\n"
    assert "RT004" in done.out


def test_good_fixes_survive_a_bad_one(
    run_cli: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a pass is no better its fixes are tried one by one."""
    one = write("policies/a.yaml", RISKY)
    two = write("policies/b.yaml", RISKY.replace("rate_api", "other_api"))
    original = NoJitter.check_operation

    def check(self: NoJitter, site: Any, context: Any) -> Any:
        for found in original(self, site, context):
            if site.policy.service == "rate_api":
                yield found
            else:
                place = site.place
                yield self.finding(
                    place, "retry", "x", help="y", fix=bad_fix("7")(place)
                )

    monkeypatch.setattr(NoJitter, "check_operation", check)
    done = run_cli("validate", "--fix", "--select", "RT004")
    assert one.read_text("utf-8") == MENDED
    assert "jitter: none" in two.read_text("utf-8")
    assert done.err.startswith("fixed 1 finding in 1 file; 1 would have made")


def test_overlapping_fixes_wait_for_the_next_pass(
    run_cli: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keys that are added at one place both arrive, one after the other."""
    text = (
        RISKY.replace("max_attempts: 4, backoff: {jitter: none}", "max_attempts: 4")
        .replace(
            "owner",
            "defaults: {retry: {backoff: {jitter: none}, max_attempts: 6}}\nowner",
        )
        .replace(", retry: {max_attempts: 4}", "")
    )
    path = write("policies/rate.yaml", text)
    passes: list[int] = []
    original = _fixing._Fixing._apply

    def counted(self: Any, findings: Any, now: Any) -> Any:
        passes.append(1)
        return original(self, findings, now)

    monkeypatch.setattr(_fixing._Fixing, "_apply", counted)
    run_cli("validate", "--fix", "--unsafe-fixes", *ONLY)
    mended = path.read_text("utf-8")
    assert len(passes) == 2
    assert "retry: {max_attempts: 3, backoff: {jitter: full}}" in mended.replace(
        "retry: {backoff: {jitter: full}, max_attempts: 3}",
        "retry: {max_attempts: 3, backoff: {jitter: full}}",
    )


def test_a_file_that_changed_meanwhile_is_not_overwritten(
    run_cli: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an editor saved in between stays, and the command says so."""
    path = write("policies/rate.yaml", RISKY)
    original = _fixing.fix

    def slow(*arguments: Any, **options: Any) -> Any:
        fixed = original(*arguments, **options)
        path.write_text(RISKY + "# saved\n", "utf-8")
        return fixed

    monkeypatch.setattr(_fixing, "fix", slow)
    done = run_cli("validate", "--fix", *ONLY)
    assert done.code == 2
    assert "has changed while it was being fixed" in done.err
    assert path.read_text("utf-8") == RISKY + "# saved\n"


def test_a_broken_configuration_is_reported(run_cli: Run, write: Write) -> None:
    """--fix reports it as validate does."""
    write("policyctl.toml", "nonsense = 1\n")
    done = run_cli("validate", "--fix")
    assert done.code == 2
    assert "nonsense is not a setting" in done.out


def test_every_fix_of_a_bad_example_mends_it(run_cli: Run, write: Write) -> None:
    """The documented bad example of each rule with a fix is clean of the rule after it."""
    from policyctl.lint.explain import docs
    from policyctl.lint.registry import all_rules
    from policyctl.lint.testing import lint_yaml

    mended = 0
    for rule in all_rules():
        bad = docs(rule).bad
        found, *_ = [d for d in lint_yaml(bad) if d.code == rule.code]
        if found.fix is None:
            continue
        path = write("policies/bad.yaml", bad)
        run_cli("validate", "--fix", "--unsafe-fixes", "--select", rule.code)
        text = path.read_text("utf-8")
        if not rule.code.startswith("SU"):
            assert text != bad, rule.code
            before = [d for d in lint_yaml(bad) if d.code == rule.code]
            after = [d for d in lint_yaml(text) if d.code == rule.code]
            assert len(after) < len(before) or after[0].severity < before[0].severity
            mended += 1
    assert mended >= 25
