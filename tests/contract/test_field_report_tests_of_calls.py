"""Every field report about guarded calls has a test file that names it.

The ids are those of the public failure reports that the project collected: ``CB`` circuit
breakers, ``RT`` retry, ``TD`` timeouts and deadlines, ``BH`` bulkheads, threads and forks,
``DC`` decorators and types, ``ID`` idempotency. Those about queues are in
``test_field_report_tests.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ISSUES = Path(__file__).parents[1] / "issues"
REPORTS = {
    "CB": "02 04 07 09 15 16 17 18 20 21 22",
    "RT": "01 05 09 10 11 13 16 17 18 19",
    "TD": "01 04 06 07 10 11 14 16 17",
    "BH": "01 02 04 08 11 12",
    "DC": "02 04 06 07",
    "ID": "01 03 06",
}
IDS = [f"{family}-{number}" for family in REPORTS for number in REPORTS[family].split()]


@pytest.mark.parametrize("id", IDS)
def test_a_report_has_a_file_of_its_own(id: str) -> None:
    """One file at least begins with the id, says it, and holds tests."""
    files = sorted(ISSUES.glob(f"test_{id.lower().replace('-', '_')}_*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert texts, f"no tests/issues/test_{id.lower().replace('-', '_')}_*.py"
    assert all("def test_" in text and id in text for text in texts)


def test_the_collection_lists_no_other() -> None:
    """Where the collection lies beside the repository, each of its reports is above."""
    collection = Path(__file__).parents[3] / "shared" / "field-reports.md"
    if not collection.exists():
        pytest.skip("the collection of field reports is not beside the repository")
    rows = collection.read_text(encoding="utf-8").splitlines()
    found = {row.split("|")[1].strip() for row in rows if row.startswith("| ")}
    assert {id for id in found if id[:2] in REPORTS and id[2:3] == "-"} == {*IDS}
