"""CL-01: findings without a file made the platform reject the whole SARIF upload.

https://github.com/ossf/scorecard-action/issues/1149,
https://github.com/dheerajjha/mcp-migrate/issues/262,
https://github.com/github/codeql-action/issues/2456
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.reports import sarif
from policyctl.reports.report import Report
from policyctl.source.files import expand
from policyctl.source.reader import read

jsonschema: Any = import_module("jsonschema")  # has no types of its own

_TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
_PLACE = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "additionalProperties": False,
    "properties": {
        "artifactLocation": {
            "required": ["uri"],
            "additionalProperties": False,
            "properties": {
                "uri": {"type": "string", "minLength": 1},
                "uriBaseId": {"const": "%SRCROOT%"},
            },
        },
        "region": {
            "required": ["startLine", "startColumn"],
            "additionalProperties": False,
            "properties": {
                name: {"type": "integer", "minimum": 1}
                for name in ("startLine", "startColumn", "endLine", "endColumn")
            },
        },
    },
}
_LOCATION = {
    "required": ["physicalLocation"],
    "properties": {"physicalLocation": _PLACE},
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
    "properties": {
        "ruleId": {"type": "string", "minLength": 1},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _TEXT,
        "locations": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": _LOCATION,
        },
        "relatedLocations": {"type": "array", "items": _LOCATION},
        "partialFingerprints": {
            "type": "object",
            "additionalProperties": {"type": "string", "minLength": 1},
        },
    },
}
"""The part of the 2.1.0 schema that speaks of results, and one location each."""


def results(report: Report) -> list[dict[str, Any]]:
    """The results of a printed log, each checked."""
    (run,) = json.loads(sarif.render(report))["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        jsonschema.validate(result, RESULT)
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for place in places(result):
            uri = place["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", uri)
            assert not urlsplit(uri).scheme
            assert not uri.startswith("/")
            region = place["region"]
            start = (region["startLine"], region["startColumn"])
            assert start <= (region["endLine"], region["endColumn"])
    found: list[dict[str, Any]] = run["results"]
    return found


def places(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All physical locations of a result."""
    for location in (*result["locations"], *result.get("relatedLocations", ())):
        yield location["physicalLocation"]


@pytest.mark.parametrize(
    "path", ["p/a.yaml", "a b.yaml", "a#b.yaml", "50%.yaml", "価/é.yaml", "a:b.yaml"]
)
@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"a: [", b"a: 'x\n\n\n", b"a: 1\na: 2\n", b"a: \0", b"\xff\xfe"],
)
def test_findings_of_the_reader(path: str, content: bytes) -> None:
    """Empty files, errors at the end of a file and undecodable ones, oddly named."""
    read_file = read(content, path)
    sources = {} if read_file.source is None else {path: read_file.source}
    (result,) = results(Report.of(read_file.diagnostics, sources))
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == path


def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not there is still named, also where its path is absolute."""
    monkeypatch.chdir(tmp_path)
    found = expand(
        ["gone.yaml", str(tmp_path / "b.yaml"), "/nowhere/c.yaml"]
    ).diagnostics
    uris = [
        place["artifactLocation"]["uri"]
        for result in results(Report.of(found))
        for place in places(result)
    ]
    assert sorted(uris) == ["b.yaml", "gone.yaml", "nowhere/c.yaml"]


def test_a_finding_about_the_whole_project() -> None:
    """Without a file it points at the configuration."""
    found = Diagnostic("TB009", "x", Severity.WARNING, "a cycle of calls", Span(""))
    (result,) = results(Report.of([found]))
    (place,) = places(result)
    assert place["artifactLocation"]["uri"] == "policyctl.toml"
