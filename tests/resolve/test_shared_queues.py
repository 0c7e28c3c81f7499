"""Queues of several services that are one queue in their store (VA137, VA139)."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from policyctl.diagnostics import Severity
from policyctl.resolve.project import Loaded

Load = Callable[..., Loaded]


def service(name: str, queue: str, more: str = "") -> str:
    """A document of one service with a queue called jobs."""
    return dedent(f"""
            service: {name}
            redis: {{url_env: THE_REDIS}}
            queues:
              jobs: {queue}
            """) + more


REDIS = "{store: redis, key: the:jobs, max_size: 5, %s}"
SQLITE = "{store: sqlite, path: var/jobs.db, max_size: 5, %s}"


@pytest.mark.parametrize(
    ("one", "two", "key"),
    [
        ("max_bytes: 1MiB", "max_bytes: 2MiB", "max_bytes"),
        ("max_bytes: 1MiB", "", "max_bytes"),
        ("max_age: 1h", "max_age: 2h", "max_age"),
        ("warn_at: 50%", "", "warn_at"),
        ("overflow: dead_letter", "", "overflow"),
        ("max_deliveries: 3", "max_deliveries: off", "max_deliveries"),
        ("dead_letter: {max_size: 9}", "", "dead_letter.max_size"),
        ("dead_letter: off", "", "dead_letter"),
        ("order_by: a", "order_by: b", "order_by"),
        ("codec: 'a.b:C'", "", "codec"),
    ],
)
@pytest.mark.parametrize("kind", [REDIS, SQLITE])
def test_what_the_store_decides_must_agree(
    load: Load, kind: str, one: str, two: str, key: str
) -> None:
    """Both places are shown; a file of several services may be several files."""
    loaded = load(service("a", kind % one), service("b", kind % two))
    [found] = loaded.diagnostics
    assert (found.code, found.policy_path) == ("VA139", f"b.queues.jobs.{key}")
    assert found.severity is (Severity.ERROR if kind is REDIS else Severity.WARNING)
    assert found.message.startswith(
        f"{key} differs from a.queues.jobs, which is the same"
    )
    assert found.span.path == "1.yaml"
    assert [place.span.path for place in found.related] == ["0.yaml", "1.yaml"]


@pytest.mark.parametrize("kind", [REDIS, SQLITE])
def test_one_queue_of_two_services(load: Load, kind: str) -> None:
    """One puts and the other takes: what each does for itself may differ."""
    worker = "payload: 'w.jobs:Job', lease: 5m, redelivery: {max: 1h}, consume: {operation: b.do}"
    operations = "operations:\n  do: {transport: http, idempotent: true}\n"
    assert (
        load(
            service("a", kind % "payload: 'a.jobs:Job'"),
            service("b", kind % worker, operations),
        ).diagnostics
        == ()
    )


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (REDIS % "", "{store: redis, key: other, max_size: 9}"),
        (REDIS % "", "{store: redis, key: the:jobs, url_env: OTHER, max_size: 9}"),
        (SQLITE % "", "{store: sqlite, path: var/other.db, max_size: 9}"),
        (SQLITE % "", "{store: external, max_size: 9}"),
    ],
)
def test_other_places_are_other_queues(load: Load, one: str, two: str) -> None:
    """Nothing is shared, so nothing has to agree."""
    assert load(service("a", one), service("b", two)).diagnostics == ()


def test_other_names_in_one_file_are_other_queues(load: Load) -> None:
    """A file holds any number of queues."""
    other = service("b", "{store: sqlite, path: ./var/jobs.db, max_size: 9}")
    assert (
        load(service("a", SQLITE % ""), other.replace("jobs:", "more:")).diagnostics
        == ()
    )


def test_two_names_of_one_key_in_one_service(load: Load) -> None:
    """A key of Redis is the queue, whatever it is called."""
    more = "  more: {store: redis, key: the:jobs, max_size: 9}\n"
    [found] = load(service("a", REDIS % "", more)).diagnostics
    assert (found.code, found.policy_path) == ("VA139", "a.queues.more.max_size")


def test_records_in_the_file_of_another_services_queue(load: Load) -> None:
    """A repair of the queue would lose the records."""
    records = """
        service: b
        operations:
          op: {idempotency: {key: [x], store: sqlite, path: ./var/jobs.db}}
    """
    [found] = load(service("a", SQLITE % ""), records).diagnostics
    assert (found.code, found.severity) == ("VA137", Severity.WARNING)
    assert found.message == (
        "idempotency records are in var/jobs.db, the file of a.queues.jobs if both "
        "services run in one folder"
    )
    assert [place.span.path for place in found.related] == ["0.yaml"]
