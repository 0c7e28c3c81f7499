"""Every field report about queues and their stores has a test file that names it.

The ids are those of the public failure reports that the project collected: ``RQ`` bounded
Redis queues, ``SF`` store and forward in SQLite, ``LK`` last known good settings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ISSUES = Path(__file__).parents[1] / "issues"
REPORTS = {
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


@pytest.mark.parametrize("id", REPORTS)
def test_a_report_has_tests_that_say_where_it_is_from(id: str) -> None:
    """One file at least begins with the id, holds tests, and cites the report."""
    files = sorted(ISSUES.glob(f"test_{id.lower().replace('-', '_')}_*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert texts, f"no tests/issues/test_{id.lower().replace('-', '_')}_*.py"
    assert all("def test_" in text and id in text for text in texts)
    for source in REPORTS[id]:
        assert any(source in text for text in texts), source


def test_the_collection_lists_no_other() -> None:
    """Where the collection lies beside the repository, each of its reports is above."""
    collection = Path(__file__).parents[3] / "shared" / "field-reports.md"
    if not collection.exists():
        pytest.skip("the collection of field reports is not beside the repository")
    rows = collection.read_text(encoding="utf-8").splitlines()
    ids = {row.split("|")[1].strip() for row in rows if row.startswith("| ")}
    wanted = {id for id in ids if id[:3] in ("RQ-", "SF-", "LK-")}
    assert wanted == {*REPORTS}
