"""Every field report about guarded calls, queues and their stores has tests that name it.

The ids are those of the public failure reports that the project collected: ``CB`` circuit
breakers, ``RT`` retry, ``TD`` timeouts and deadlines, ``BH`` bulkheads, threads and forks,
``DC`` decorators and types, ``ID`` idempotency, ``RQ`` bounded Redis queues, ``SF`` store
and forward in SQLite, ``LK`` last known good settings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ISSUES = Path(__file__).parents[1] / "issues"
CALLS = {
    "CB": "02 04 07 09 15 16 17 18 20 21 22",
    "RT": "01 05 09 10 11 13 16 17 18 19",
    "TD": "01 04 06 07 10 11 14 16 17",
    "BH": "01 02 04 08 11 12",
    "DC": "02 04 06 07",
    "ID": "01 03 06",
}
CITED = {
    "RQ-02": ["redis-py PR 2666"],
    "RQ-05": ["asynq #1086", "work PR 49"],
    "RQ-07": ["enqueue-dev #750"],
    "RQ-08": ["vexa PR 614"],
    "RQ-10": ["taskiq-aio-pika #35", "opentelemetry-collector #12095"],
    "RQ-12": ["redis-py #460", "#435"],
    "RQ-13": ["redis-py #261", "jedis #3187"],
    "SF-04": ["opentelemetry-collector-contrib #35899", "solid_queue #324"],
    "SF-05": ["opentelemetry-collector #7198"],
    "SF-07": ["opentelemetry-collector #6020", "#8115"],
    "SF-08": ["opentelemetry-collector-contrib #48635"],
    "SF-09": ["sentry-javascript #11207", "element-web #6398"],
    "LK-03": ["synara PR 737"],
}
"""Reports whose tests cite where they are from."""
IDS = [
    *(f"{family}-{number}" for family in CALLS for number in CALLS[family].split()),
    *CITED,
]
FAMILIES = {id[:2] for id in IDS}


@pytest.mark.parametrize("id", IDS)
def test_a_report_has_tests_that_say_where_it_is_from(id: str) -> None:
    """One file at least begins with the id, says it, holds tests, and cites its source."""
    files = sorted(ISSUES.glob(f"test_{id.lower().replace('-', '_')}_*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert texts, f"no tests/issues/test_{id.lower().replace('-', '_')}_*.py"
    assert all("def test_" in text and id in text for text in texts)
    for source in CITED.get(id, []):
        assert any(source in text for text in texts), source


def test_the_collection_lists_no_other() -> None:
    """Where the collection lies beside the repository, each of its reports is above."""
    collection = Path(__file__).parents[3] / "shared" / "field-reports.md"
    if not collection.exists():
        pytest.skip("the collection of field reports is not beside the repository")
    rows = collection.read_text(encoding="utf-8").splitlines()
    found = {row.split("|")[1].strip() for row in rows if row.startswith("| ")}
    assert {id for id in found if id[:2] in FAMILIES and id[2:3] == "-"} == {*IDS}
