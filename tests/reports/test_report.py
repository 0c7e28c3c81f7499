"""What a report holds and counts, and how formats are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl import reports
from policyctl.diagnostics import Diagnostic, Severity, Span, Suppressed
from policyctl.reports.report import Report, plural


def finding(severity: Severity, line: int = 1, path: str = "f.yaml") -> Diagnostic:
    """A finding somewhere."""
    return Diagnostic("TB001", "x", severity, "words", Span(path, line))


def test_findings_are_sorted_and_equal_ones_count_once() -> None:
    """Order and repetition of the input do not show."""
    one, two, three = (
        finding(Severity.ERROR, 2, "a.yaml"),
        finding(Severity.INFO, 10, "a.yaml"),
        finding(Severity.WARNING, 1, "b.yaml"),
    )
    assert Report.of([three, two, one, two]).findings == (one, two, three)


def test_suppressed_findings_are_kept_apart() -> None:
    """They neither count nor fail."""
    hidden = finding(Severity.ERROR).hidden_by(Suppressed("why", Span("f.yaml")))
    report = Report.of([hidden])
    assert (report.findings, report.suppressed) == ((), (hidden,))
    assert not report.failed
    assert report.summary() == "clean: no findings in 0 files (1 suppressed)"


@pytest.mark.parametrize("worst", list(Severity))
@pytest.mark.parametrize("fail_on", list(Severity))
def test_failing_is_decided_by_severity(worst: Severity, fail_on: Severity) -> None:
    """At the threshold and above it fails."""
    report = Report.of([finding(worst)], fail_on=fail_on)
    assert report.failed is (worst >= fail_on)


def test_the_summary_counts() -> None:
    """Numbers, plurals and thousands."""
    many = [finding(Severity.WARNING, line) for line in range(1, 1235)]
    report = Report.of([*many, finding(Severity.ERROR)], files=2, services=1)
    assert report.summary() == "1 error, 1,234 warnings in 2 files, 1 service"
    assert [plural(n, "info") for n in (0, 1, 2)] == ["0 infos", "1 info", "2 infos"]


def test_formats_are_the_files_of_the_folder() -> None:
    """Each file is a format that renders; helpers are none."""
    folder = Path(reports.__file__).parent
    files = {path.stem for path in folder.glob("*.py")}
    names = set(reports.format_names())
    assert names == {f for f in files if not f.startswith("_")} - {"report", "encode"}
    assert {"text", "concise", "json", "sarif", "github", "junit"} <= names


def test_every_format_renders_every_report(report: Report, clean: Report) -> None:
    """All end in a line break, and machine formats print only ASCII."""
    for name in reports.format_names():
        for each in (report, clean):
            output = reports.render(name, each, color=True)
            assert output.endswith("\n")
            assert not output.endswith("\n\n")
            if reports.is_machine_format(name):
                assert output.isascii()
    assert [n for n in reports.format_names() if reports.is_machine_format(n)] == [
        "json",
        "junit",
        "sarif",
    ]


def test_only_text_takes_colour(report: Report) -> None:
    """Asking others for colour changes nothing."""
    for name in reports.format_names():
        colored = reports.render(name, report, color=True)
        assert ("\033[" in colored) is (name == "text")


@pytest.mark.parametrize("name", ["xml", "report", "encode", "_excerpt", "", "../x"])
def test_an_unknown_format(clean: Report, name: str) -> None:
    """The error lists what there is."""
    with pytest.raises(
        ValueError, match="is not a report format; the formats are concise"
    ):
        reports.render(name, clean)
