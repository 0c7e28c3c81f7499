"""The report for people, whole."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from policyctl.diagnostics import Diagnostic, Edit, Fix, Related, Severity, Span
from policyctl.reports import text
from policyctl.reports.report import Report
from policyctl.source.nodes import Source
from policyctl.source.reader import read

EXPECTED = """\
error[CF201] path-not-found: policies/gone.yaml does not exist
 --> policies/gone.yaml
  = help: check the spelling of the path

error[TB001] attempt-over-budget: the attempt timeout of 5s is over the budget of 2s
 --> policies/payment.yaml:4:22
  |
4 |     attempt_timeout: 5s
  |                      ^^
5 |     budget: 2s  # short
  |             -- the budget
  |
  = help: raise budget to 5s or more

warning[RT002] many-attempts: 9 attempts, more than 5
 --> policies/payment.yaml:6:27
  |
6 |     retry: {max_attempts: 9}
  |                           ^
  |
 ::: policies/presets/http.yaml:3:11
  |
3 |   budget: 15s
  |           --- budget of the preset

info[HY002] policies/payment.yaml:1:10: the service has no owner; add owner: TEAM

note: TB004 needs facts.rate of payment_api.charge
note: 1 can be mended with validate --fix --unsafe-fixes
2 errors, 1 warning, 1 info in 2 files, 1 service (1 suppressed, 3 in the baseline)
"""


def test_the_whole_report(report: Report) -> None:
    """Excerpts with both places, help, notes and a summary; hidden ones are counted."""
    assert text.render(report) == EXPECTED


def info(message: str, help: str | None = None) -> Diagnostic:
    """A finding that is good to know."""
    return Diagnostic(
        "HY003", "a-rule", Severity.INFO, message, Span("f.yaml", 3, 4), help=help
    )


def test_infos_come_last_and_take_a_line_each() -> None:
    """They do not drown what has to be mended, and are cut to a readable width."""
    warning = Diagnostic("RT001", "b-rule", Severity.WARNING, "w", Span("z.yaml"))
    report = Report.of([info("one", "do it"), info("x" * 300), warning])
    lines = text.render(report).splitlines()
    assert lines[0] == "warning[RT001] b-rule: w"
    assert lines[-4:] == [
        "info[HY003] f.yaml:3:4: one; do it",
        "info[HY003] f.yaml:3:4: " + "x" * 135 + "…",
        "",
        "1 warning, 2 infos in 0 files",
    ]
    assert max(map(len, lines)) == 160


def test_infos_that_fail_the_run_are_shown_whole() -> None:
    """With --fail-on info they are findings like any other."""
    report = Report.of([info("one", "do it")], fail_on=Severity.INFO)
    assert text.render(report).startswith("info[HY003] a-rule: one\n --> f.yaml:3:4\n")


def fixed(*safe: bool) -> Report:
    """A report with a fix for each argument, safe or not."""
    span = Span("f.yaml")
    return Report.of(
        Diagnostic(
            "RT001",
            "b-rule",
            Severity.WARNING,
            f"w{number}",
            span,
            fix=Fix(f"f{number}", (Edit(span, ""),), each),
        )
        for number, each in enumerate(safe)
    )


@pytest.mark.parametrize(
    ("report", "note"),
    [
        (fixed(True), "1 can be mended with validate --fix"),
        (fixed(False, False), "2 can be mended with validate --fix --unsafe-fixes"),
        (
            fixed(True, False, True),
            (
                "2 can be mended with validate --fix, "
                "1 more with validate --fix --unsafe-fixes"
            ),
        ),
    ],
)
def test_what_fixes_could_do_is_said(report: Report, note: str) -> None:
    """A note counts the fixes, those that need a decision apart."""
    assert f"\nnote: {note}\n" in text.render(report)


def test_a_clean_run_says_so(clean: Report) -> None:
    """Silence is not a result."""
    assert text.render(clean) == "clean: no findings in 1 file, 1 service\n"


def test_colour_changes_nothing_but_colour(report: Report, clean: Report) -> None:
    """Without the escape sequences the text is the same, and each one is closed."""
    for each in (report, clean):
        colored = text.render(each, color=True)
        assert re.sub(r"\033\[[0-9;]*m", "", colored) == text.render(each)
        codes = re.findall(r"\033\[([0-9;]*)m", colored)
        assert codes[1::2] == ["0"] * (len(codes) // 2)
    assert text.render(clean, color=True).startswith("\033[1;32mclean\033[0m: ")


def render_source(content: str) -> str:
    """The report on one text of the reader, without the summary."""
    result = read(content.encode(), "f.yaml")
    assert result.source is not None
    report = Report.of(result.diagnostics, {"f.yaml": result.source})
    return text.render(report).rpartition("\n\n")[0]


def test_places_far_apart_in_one_file() -> None:
    """Both lines are shown in the order of the file, with a gap between."""
    assert render_source("retry: 1\n" + "# \n" * 8 + "retry: 2\n") == (
        "error[SY009] duplicate-key: the key 'retry' is already used on line 1\n"
        "  --> f.yaml:10:1\n"
        "   |\n"
        " 1 | retry: 1\n"
        "   | ----- first used here\n"
        "...\n"
        "10 | retry: 2\n"
        "   | ^^^^^\n"
        "   |\n"
        "   = help: keep one of the two, or move the settings of both under one key"
    )


def test_two_places_on_one_line_with_wide_characters_and_tabs() -> None:
    """Underlines are measured in cells: two for a wide character, none for a mark."""
    assert render_source("価格:\t{e\u0301価: 1,\te\u0301価: 2}\n") == (
        "error[SY009] duplicate-key: the key 'e\u0301価' is already used on line 1\n"
        " --> f.yaml:1:14\n"
        "  |\n"
        "1 | 価格:   {e\u0301価: 1,    e\u0301価: 2}\n"
        "  |                     ^^^\n"
        "  |          --- first used here\n"
        "  |\n"
        "  = help: keep one of the two, or move the settings of both under one key"
    )


def test_control_characters_are_made_visible() -> None:
    """Nothing in a file can move the cursor or hide text."""
    assert render_source("a: \x1b[2Jx\u202e\n") == (
        "error[SY002] invalid-character: control or invalid character U+001B\n"
        " --> f.yaml:1:4\n"
        "  |\n"
        "1 | a: \\x1b[2Jx\\u202e\n"
        "  |    ^^^^\n"
        "  |\n"
        "  = help: remove it, or write \\x1b inside double quotes"
    )


def test_long_lines_are_cropped_around_each_place() -> None:
    """Places that do not fit into one window get a row each."""
    line = "{" + ", ".join(f"key{n:03}: {n}" for n in range(80)) + ", key040: 1}"
    rows = render_source(line).splitlines()[3:7]
    assert rows[:2] == [
        (
            "1 | …: 37, key038: 38, key039: 39, key040: 40, key041: 41, key042: 42, "
            "key043: 43, key044: 44, key045: 45…"
        ),
        "  |                                ------ first used here",
    ]
    assert rows[2].endswith("key079: 79, key040: 1}")
    assert rows[3].rstrip("^").endswith(" ")
    caret = rows[3].index("^")
    assert rows[2][caret : rows[3].rindex("^") + 1] == "key040"
    assert max(map(len, rows)) <= 4 + 102


def test_an_enormous_line_takes_bounded_work() -> None:
    """A line of four million characters gives a short excerpt."""
    content = "a: '" + "x" * 4_000_000 + "' 'b'\n"
    rows = render_source(content).splitlines()
    assert rows[1] == " --> f.yaml:1:4000007"
    assert len(rows[3]) < 120


def test_an_empty_place_still_has_a_caret() -> None:
    """A place between characters, or at the end, is shown by one caret."""
    assert render_source("").splitlines()[2:5] == ["  |", "1 |", "  | ^"]


def test_a_place_over_several_lines_is_underlined_on_its_first(
    place: Callable[[str, str, str], Span],
) -> None:
    """The underline goes to the end of the first line."""
    content = "a: [1,\n  2]\n"
    span = place("f.yaml", content, "[1,\n  2]")
    source = read(content.encode(), "f.yaml").source
    assert isinstance(source, Source)
    found = Diagnostic("TB009", "some-rule", Severity.WARNING, "a list", span)
    rows = text.render(Report.of([found], {"f.yaml": source})).splitlines()
    assert rows[2:5] == ["  |", "1 | a: [1,", "  |    ^^^"]


def test_second_places_in_files_without_text(
    place: Callable[[str, str, str], Span],
) -> None:
    """What is known of them is said without an excerpt."""
    there = Span("preset http", 3, 5, 3, 8, 20, 23)
    found = Diagnostic(
        "TB009",
        "some-rule",
        Severity.WARNING,
        "over the budget\nof 2s",
        Span("policies"),
        (
            Related(there, "the budget"),
            Related(Span("policies", 2, 1, 2, 2, 9, 10), "x"),
        ),
    )
    assert text.render(Report.of([found], files=0)) == (
        "warning[TB009] some-rule: over the budget\\x0aof 2s\n"
        " --> policies\n"
        "  = x (policies:2:1)\n"
        " ::: preset http:3:5\n"
        "  = the budget\n"
        "\n"
        "1 warning in 0 files\n"
    )


@pytest.mark.parametrize("width", [20, 30, 40, 80, 100, 120])
def test_excerpts_fit_into_the_terminal(width: int) -> None:
    """Source lines are cropped to its columns, and the caret stays below its value."""
    line = "defaults: {attempt_timeout: 2s, retry: {max_attempts: 9}, budget: 15s}"
    result = read(f"{line}  # {'x' * 60}\n".encode(), "a.yaml")
    source = result.documents[0].source
    start = line.index("9}")
    finding = Diagnostic(
        "RT002", "many", Severity.WARNING, "9 attempts", source.span(start, start + 1)
    )
    report = Report.of([finding], {"a.yaml": source}, files=1)
    wide = text.render(report)
    fitted = text.render(report, width=width)
    shown, caret = fitted.splitlines()[3:5]
    assert len(shown) <= width
    assert shown[caret.index("^")] == "9"
    assert (shown in wide) == (width >= 106)
