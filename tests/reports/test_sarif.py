"""SARIF 2.1.0 as platforms take it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policyctl.diagnostics import Diagnostic, Fix, Related, Severity, Span
from policyctl.reports import sarif
from policyctl.reports.report import Report
from policyctl.source.decode import line_starts
from policyctl.source.nodes import Source


def run_of(report: Report) -> dict[str, Any]:
    """The only run of the printed log."""
    log = json.loads(sarif.render(report))
    assert log["version"] == "2.1.0"
    assert log["$schema"] == "https://json.schemastore.org/sarif-2.1.0.json"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def physical(
    uri: str, line: int, column: int, end_line: int, end_column: int
) -> dict[str, Any]:
    """A physical location."""
    return {
        "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        },
    }


def test_the_run_itself(report: Report) -> None:
    """Tool, rules by code, and how columns are counted."""
    run = run_of(report)
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("policyctl", report.version)
    assert [rule["id"] for rule in driver["rules"]] == [
        "CB001",
        "CF201",
        "HY002",
        "RT002",
        "TB001",
    ]
    assert driver["rules"][4] == {
        "id": "TB001",
        "name": "attempt-over-budget",
        "shortDescription": {"text": "Attempt over budget"},
        "fullDescription": {"text": "TB001: attempt over budget"},
        "help": {"text": "raise budget to 5s or more"},
    }
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_a_result(report: Report) -> None:
    """Message with help, place, second place, and the fix as replacements."""
    (result,) = [r for r in run_of(report)["results"] if r["ruleId"] == "TB001"]
    fingerprints = result.pop("partialFingerprints")
    assert set(fingerprints) == {"primaryLocationLineHash"}
    path = "policies/payment.yaml"
    assert result == {
        "ruleId": "TB001",
        "ruleIndex": 4,
        "level": "error",
        "message": {
            "text": "the attempt timeout of 5s is over the budget of 2s. "
            "Help: raise budget to 5s or more"
        },
        "locations": [
            {
                "physicalLocation": physical(path, 4, 22, 4, 24),
                "logicalLocations": [
                    {
                        "fullyQualifiedName": "payment_api.operations.charge."
                        "attempt_timeout"
                    }
                ],
            }
        ],
        "relatedLocations": [
            {
                "id": 1,
                "message": {"text": "the budget"},
                "physicalLocation": physical(path, 5, 13, 5, 15),
            }
        ],
        "fixes": [
            {
                "description": {"text": "raise budget to 5s"},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": path, "uriBaseId": "%SRCROOT%"},
                        "replacements": [
                            {
                                "deletedRegion": physical(path, 5, 13, 5, 15)["region"],
                                "insertedContent": {"text": "5s"},
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_levels_and_suppressions(report: Report) -> None:
    """Info is a note; a suppressed finding stays in the log, marked."""
    results = {r["ruleId"]: r for r in run_of(report)["results"]}
    assert {code: r["level"] for code, r in results.items()} == {
        "CB001": "warning",
        "CF201": "error",
        "HY002": "note",
        "RT002": "warning",
        "TB001": "error",
    }
    assert results["CB001"]["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "a lease loop"}
    ]
    assert [code for code, r in results.items() if "suppressions" in r] == ["CB001"]


def fingerprint(found: Diagnostic, *texts: Source) -> str:
    """The fingerprint of the only finding of a report."""
    report = Report.of([found], {text.path: text for text in texts})
    (result,) = run_of(report)["results"]
    value: str = result["partialFingerprints"]["primaryLocationLineHash"]
    return value


def test_fingerprints_survive_moved_lines() -> None:
    """They follow the policy path, or where there is none the words of the line."""
    before = Source("f.yaml", "a: 1\nb: @\n", False, line_starts("a: 1\nb: @\n"))
    moved = Source("f.yaml", "\n\na: 1\nb: @\n", False, line_starts("\n\na: 1\nb: @\n"))
    syntax = Diagnostic("SY020", "x", Severity.ERROR, "m", before.span(8, 9))
    again = Diagnostic("SY020", "x", Severity.ERROR, "m", moved.span(10, 11))
    assert fingerprint(syntax, before) == fingerprint(again, moved)
    rule = Diagnostic(
        "TB001", "x", Severity.ERROR, "5s", before.span(0, 1), policy_path="a.b"
    )
    other = Diagnostic(
        "TB001", "x", Severity.ERROR, "6s", moved.span(4, 5), policy_path="a.b"
    )
    assert fingerprint(rule, before) == fingerprint(other, moved)
    elsewhere = Diagnostic(
        "TB001", "x", Severity.ERROR, "5s", before.span(0, 1), policy_path="a.c"
    )
    assert fingerprint(elsewhere, before) != fingerprint(rule, before)


def test_equal_findings_have_different_fingerprints() -> None:
    """Two findings of one rule at one policy path are two."""
    found = [
        Diagnostic(
            "TB001", "x", Severity.ERROR, f"{n}s", Span("f.yaml", n), policy_path="a"
        )
        for n in (1, 2)
    ]
    results = run_of(Report.of(found))["results"]
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in results]
    assert [value.rpartition(":")[2] for value in hashes] == ["1", "2"]
    assert len({value.rpartition(":")[0] for value in hashes}) == 1


def test_a_fix_without_edits_is_left_out() -> None:
    """SARIF wants at least one change in a fix."""
    found = Diagnostic(
        "TB001",
        "x",
        Severity.ERROR,
        "m",
        Span("f.yaml"),
        (Related(Span("g.yaml"), "there"),),
        fix=Fix("nothing", (), safe=True),
    )
    (result,) = run_of(Report.of([found]))["results"]
    assert "fixes" not in result


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("policies/a.yaml", "policies/a.yaml"),
        ("a b#c%d?e.yaml", "a%20b%23c%25d%3Fe.yaml"),
        ("価.yaml", "%E4%BE%A1.yaml"),
        ("c:/x.yaml", "c%3A/x.yaml"),
        ("a:b.yaml", "a%3Ab.yaml"),
        ("/etc/x.yaml", "etc/x.yaml"),
        ("//server/x.yaml", "server/x.yaml"),
        ("../x.yaml", "../x.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("", "policyctl.toml"),
        ("a\nb\\c.yaml", "a%0Ab%5Cc.yaml"),
    ],
)
def test_uris(path: str, uri: str) -> None:
    """Relative, encoded, never empty, and never with a scheme."""
    assert sarif.uri(path) == uri
