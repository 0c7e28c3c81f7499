"""Every row of the table "What happens when" in docs/runtime.md has one test, by its question."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREFIX = "What happens when "


def questions_of_rows() -> list[str]:
    """The questions of the table, as they are written."""
    text = (ROOT / "docs" / "runtime.md").read_text(encoding="utf-8")
    table = text.partition("## What happens when …")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[0] == "| question | answer |"
    return [row.split("|")[1].strip() for row in rows[1:]]


def questions_of_tests() -> list[str]:
    """The questions in the docstrings of the tests."""
    found: list[str] = []
    for file in sorted(
        (ROOT / "tests" / "runtime").glob("test_what_happens_when_*.py")
    ):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(
                node, (ast.FunctionDef, ast.AsyncFunctionDef)
            ) and node.name.startswith("test_"):
                doc = ast.get_docstring(node) or ""
                assert doc.startswith(PREFIX), f"{file.name}: {node.name}"
                found.append(doc.partition("\n")[0].removeprefix(PREFIX))
    return found


def test_each_row_has_one_test() -> None:
    """A row without a test, a test without a row, or two for one row all fail."""
    rows, tests = Counter(questions_of_rows()), Counter(questions_of_tests())
    assert rows == tests
    assert set(rows.values()) == {1}
    assert len(rows) >= 30


def test_every_row_answers() -> None:
    """No cell of the table is empty."""
    text = (ROOT / "docs" / "runtime.md").read_text(encoding="utf-8")
    for row in text.partition("## What happens when …")[2].splitlines():
        if row.startswith("| "):
            assert all(cell.strip() for cell in row.strip("|").split("|")), row
