"""Shared means of the model's tests: parse text, and show what was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policyctl.diagnostics import Diagnostic
from policyctl.model.validate import Parsed, parse_document
from policyctl.source.reader import read

Parse = Callable[[str], Parsed]
Found = Callable[[str], list[str]]
Dump = Callable[[str], dict[str, Any]]


def parse_text(text: str) -> Parsed:
    """Read and validate the first document of ``text``."""
    result = read(text.encode(), "f.yaml")
    assert result.diagnostics == ()
    return parse_document(result.documents[0])


def line(found: Diagnostic) -> str:
    """A finding on one line: place, name, message and help."""
    place = f"{found.span.line}:{found.span.column}"
    return f"{place} {found.name}: {found.message}; {found.help}"


@pytest.fixture
def parse() -> Parse:
    """Validate a text."""
    return parse_text


@pytest.fixture
def found() -> Found:
    """The findings of a text, each on one line."""
    return lambda text: [line(d) for d in parse_text(text).diagnostics]


@pytest.fixture
def found_in() -> Found:
    """The findings of the settings of an operation, on lines that count from 1."""

    def run(settings: str) -> list[str]:
        head = "operations:\n  charge:\n"
        body = "".join(f"    {part}\n" for part in settings.splitlines())
        text = head + body + "version: 1\nservice: pay\n"
        findings = parse_text(text).diagnostics
        shown = [line(d) for d in findings]
        rows = [
            (d.span.line - 2, d.span.column - 4, s)
            for d, s in zip(findings, shown, strict=True)
        ]
        return [f"{row}:{column} {s.split(' ', 1)[1]}" for row, column, s in rows]

    return run


@pytest.fixture
def dump() -> Dump:
    """The long form of a valid text."""

    def run(text: str) -> dict[str, Any]:
        parsed = parse_text(text)
        assert [line(d) for d in parsed.diagnostics] == []
        assert parsed.model is not None
        return parsed.model.model_dump(exclude_unset=True)

    return run


@pytest.fixture
def settings() -> Dump:
    """The long form of the settings of one operation."""

    def run(text: str) -> dict[str, Any]:
        body = "".join(f"    {part}\n" for part in text.splitlines())
        parsed = parse_text(f"version: 1\nservice: pay\noperations:\n  charge:\n{body}")
        assert [line(d) for d in parsed.diagnostics] == []
        assert parsed.model is not None
        operations = parsed.model.model_dump(exclude_unset=True)["operations"]
        charge: dict[str, Any] = operations["charge"]
        return charge

    return run
