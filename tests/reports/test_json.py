"""The JSON report and its published schema."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from policyctl import reports
from policyctl.reports import json as report_json
from policyctl.reports.report import Report

jsonschema: Any = import_module("jsonschema")  # has no types of its own


@pytest.fixture
def schema() -> dict[str, Any]:
    """The schema that is shipped."""
    path = Path(reports.__file__).parent / "schema.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def test_the_shape_of_a_finding(report: Report) -> None:
    """Every key is there, with positions that count from 1."""
    data = json.loads(report_json.render(report))
    (finding,) = [d for d in data["diagnostics"] if d["code"] == "TB001"]
    assert finding == {
        "code": "TB001",
        "name": "attempt-over-budget",
        "severity": "error",
        "message": "the attempt timeout of 5s is over the budget of 2s",
        "path": "policies/payment.yaml",
        "line": 4,
        "column": 22,
        "end_line": 4,
        "end_column": 24,
        "help": "raise budget to 5s or more",
        "policy_path": "payment_api.operations.charge.attempt_timeout",
        "related": [
            {
                "path": "policies/payment.yaml",
                "line": 5,
                "column": 13,
                "end_line": 5,
                "end_column": 15,
                "message": "the budget",
            }
        ],
        "fix": {
            "message": "raise budget to 5s",
            "safe": False,
            "edits": [
                {
                    "path": "policies/payment.yaml",
                    "line": 5,
                    "column": 13,
                    "end_line": 5,
                    "end_column": 15,
                    "text": "5s",
                }
            ],
        },
    }


def test_the_rest_of_the_report(report: Report) -> None:
    """Version, tool, order, suppressed findings apart, notes and counts."""
    data = json.loads(report_json.render(report))
    assert list(data) == [
        "version",
        "tool",
        "diagnostics",
        "suppressed",
        "notes",
        "summary",
    ]
    assert data["version"] == 1
    assert data["tool"] == {"name": "policyctl", "version": report.version}
    assert [d["code"] for d in data["diagnostics"]] == [
        "CF201",
        "HY002",
        "TB001",
        "RT002",
    ]
    ((hidden, why),) = [(d["code"], d["suppressed"]) for d in data["suppressed"]]
    assert hidden == "CB001"
    assert why == {
        "reason": "a lease loop",
        "path": "policies/payment.yaml",
        "line": 5,
        "column": 17,
        "end_line": 5,
        "end_column": 24,
    }
    assert data["notes"] == ["TB004 needs facts.rate of payment_api.charge"]
    assert data["summary"] == {
        "errors": 2,
        "warnings": 1,
        "infos": 1,
        "suppressed": 1,
        "baselined": 3,
        "files": 2,
        "services": 1,
        "failed": True,
    }


def test_the_schema_accepts_reports(
    report: Report, clean: Report, schema: dict[str, Any]
) -> None:
    """What is printed is what is published."""
    jsonschema.Draft202012Validator.check_schema(schema)
    for each in (report, clean):
        jsonschema.validate(json.loads(report_json.render(each)), schema)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"diagnostics": [{"code": "TB001"}]},
        {"notes": None},
        {"summary": {"errors": -1}},
    ],
)
def test_the_schema_refuses_other_shapes(
    report: Report, schema: dict[str, Any], change: dict[str, Any]
) -> None:
    """The schema says something."""
    data = json.loads(report_json.render(report)) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_every_printed_key_is_described(report: Report, schema: dict[str, Any]) -> None:
    """No key is printed that the schema does not know."""
    assert set(json.loads(report_json.render(report))) == set(schema["properties"])
    definitions = schema["$defs"]
    place = set(definitions["place"]["properties"])
    finding = report_json.to_data(report)["suppressed"][0]
    assert set(finding) == place | set(definitions["diagnostic"]["properties"])
