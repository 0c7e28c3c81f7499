"""``policyctl queue`` on SQLite files: tables, JSON, dry runs, errors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.queues import DeadLetter, Queue, Redelivery, Redis, Sqlite, live
from policyctl.runtime.queues.records import Change, Entry

Run = Callable[..., Any]


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue[Any]]:
    """A queue of at most 3 items: two wait, one is leased, two are dead."""
    queue: Queue[Any] = Queue(
        service="tests",
        queue="jobs",
        store=Sqlite(path=str(tmp_path / "jobs.db")),
        max_size=3,
        max_deliveries=1,
        overflow="dead_letter",
        redelivery=Redelivery(initial=0.0, max=0.0),
        dead_letter=DeadLetter(max_size=10),
    )
    queue.put_many([{"n": n} for n in range(3)], ids=["a", "b", "c"])
    item = queue.take()
    assert item is not None
    item.nack(ValueError("line one\nline two"))
    queue.put_many([{"n": 3}, {"n": 4}], ids=["d", "e"])
    queue.take()
    yield queue
    live.forget("tests.jobs")


def found(outcome: Any) -> Any:
    """The queue's part of the JSON document."""
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    assert document["version"] == 1
    return document["queues"]["jobs"]


def test_list_and_stats(run_cli: Run, queue: Queue[Any]) -> None:
    """A table with a line for each queue, and the numbers as JSON."""
    outcome = run_cli("queue", "list", "jobs.db")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[0] == [
        "queue",
        "ready",
        "delayed",
        "leased",
        "dead",
        "bytes",
        "oldest",
        "acked",
    ]
    assert lines[1][:6] == ["jobs", "2", "0", "1", "2", "21"]
    numbers = found(run_cli("queue", "stats", "jobs.db", "--format", "json"))
    assert (numbers["ready"], numbers["leased"], numbers["dead"]) == (2, 1, 2)
    assert (numbers["put"], numbers["max_size"]) == (5, 3)


def test_peek_takes_nothing(run_cli: Run, queue: Queue[Any]) -> None:
    """The next items in their order, with their payload."""
    outcome = run_cli("queue", "peek", "jobs.db", "--limit", "1")
    assert [line.split()[1] for line in outcome.out.splitlines()] == ["id", "c"]
    items = found(run_cli("queue", "peek", "jobs.db", "--format", "json"))
    assert [(item["id"], item["payload"]) for item in items] == [
        ("c", {"n": 2}),
        ("d", {"n": 3}),
    ]
    assert queue.stats().ready == 2


def test_dead_says_why(run_cli: Run, queue: Queue[Any]) -> None:
    """Reasons and errors stand on one line each."""
    outcome = run_cli("queue", "dead", "jobs.db")
    assert "max_deliveries" in outcome.out
    assert "ValueError: line one line two" in outcome.out
    (letter,) = found(
        run_cli("queue", "dead", "jobs.db", "--id", "a", "--format", "json")
    )
    assert (letter["id"], letter["deliveries"]) == ("a", 1)
    assert letter["error"] == "ValueError: line one\nline two"
    assert letter["payload"] == {"n": 0}


HOSTILE = "\x1b]0;owned\x07\r\n\x9b2J\u202e\x7f\U000e0041"


@pytest.mark.parametrize("format", ["text", "json"])
def test_terminals_obey_nothing_that_items_hold(
    run_cli: Run, tmp_path: Path, format: str
) -> None:
    """Ids, errors and payloads with control characters are shown as escapes."""
    queue: Queue[Any] = Queue(
        service="tests",
        queue="hostile",
        store=Sqlite(path=str(tmp_path / "hostile.db")),
        max_size=9,
        max_deliveries=1,
    )
    for n in range(2):
        queue.put({"text": HOSTILE}, id=f"{n}{HOSTILE}")
    item = queue.take()
    assert item is not None
    item.nack(HOSTILE)
    for command in ("list", "peek", "dead"):
        done = run_cli("queue", command, "hostile.db", "--format", format)
        assert (done.code, done.err) == (0, "")
        assert done.out.replace("\n", "").isprintable()
        if format == "json":
            found = json.loads(done.out)["queues"]["hostile"]
            if command != "list":
                assert found[0]["payload"] == {"text": HOSTILE}
                assert found[0]["id"].endswith(HOSTILE)
        else:
            assert len(done.out.splitlines()) == 2
    live.forget("tests.hostile")


@pytest.mark.parametrize(
    "body",
    [
        b"NaN",
        b'{"a": 1e999}',
        b"1" * 5000,
        b"[" * 400 + b"]" * 400,
        b"[" * 100_000 + b"]" * 100_000,
        b"\xff\x9b",
        b"",
    ],
    ids=["nan", "infinite", "digits", "deep", "deeper", "bytes", "empty"],
)
def test_payloads_that_json_cannot_show(
    run_cli: Run, tmp_path: Path, body: bytes
) -> None:
    """They are shown as base64, and the document stays JSON."""
    queue: Queue[Any] = Queue(
        service="tests",
        queue="odd",
        store=Sqlite(path=str(tmp_path / "odd.db")),
        max_size=9,
    )
    queue.store.put([Entry("1", body, None, True)], Change())
    done = run_cli("queue", "peek", "odd.db", "--format", "json")
    assert (done.code, done.err) == (0, "")

    def refuse(word: str) -> None:
        raise ValueError(word)

    document = json.loads(done.out, parse_constant=refuse)
    (found,) = document["queues"]["odd"]
    shown = found["payload"]
    if shown != json.loads("[" * 400 + "]" * 400):  # as deep as the interpreter goes
        assert base64.b64decode(shown["base64"]) == body
    assert run_cli("queue", "peek", "odd.db").code == 0
    live.forget("tests.odd")


def test_redrive_needs_yes_and_respects_the_limit(
    run_cli: Run, queue: Queue[Any]
) -> None:
    """A dry run changes nothing; with --yes items go back as far as they fit."""
    outcome = run_cli("queue", "redrive", "jobs.db")
    assert outcome.out == "jobs: 2 dead letters would be redriven\n"
    assert outcome.err == "nothing was changed; add --yes to redrive them\n"
    assert queue.stats().dead == 2
    assert found(
        run_cli("queue", "redrive", "jobs.db", "--yes", "--format", "json")
    ) == {"redriven": 0, "dry_run": False}
    for item in queue.take_many(2):
        item.ack()
    outcome = run_cli("queue", "redrive", "jobs.db", "--yes", "--id", "a")
    assert outcome.out == "jobs: 1 dead letter redriven\n"
    again = queue.take()
    assert again is not None
    assert (again.id, again.deliveries) == ("a", 1)


def test_purge(run_cli: Run, queue: Queue[Any]) -> None:
    """Dead letters are deleted only with --yes."""
    assert run_cli("queue", "purge", "jobs.db").code == 0
    assert queue.stats().dead == 2
    outcome = run_cli("queue", "purge", "jobs.db", "--yes")
    assert outcome.out == "jobs: 2 dead letters purged\n"
    assert queue.stats().dead == 0


def test_what_is_empty_says_so(run_cli: Run, queue: Queue[Any]) -> None:
    """No table without rows."""
    queue.purge()
    for item in queue.take_many(5):
        item.ack()
    assert run_cli("queue", "dead", "jobs.db").out == "no dead letters\n"
    assert run_cli("queue", "peek", "jobs.db").out == "nothing is ready\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "none.db"], "error: none.db: there is no such file"),
        (["list", "text.db"], "error: text.db: file is not a database"),
        (["peek", "jobs.db", "--queue", "x"], "error: jobs.db has no queue called x"),
        (["stats", "http://u:secret@h/0"], "error: http is no scheme of an address"),
        (["stats", "redis://u:secret@127.0.0.1:1/0"], "error: redis://127.0.0.1:1/0:"),
        (["dead", "jobs.db", "--limit", "0"], "error: invalid value for '--limit'"),
    ],
)
def test_errors_are_one_message(
    run_cli: Run, queue: Queue[Any], tmp_path: Path, arguments: list[str], message: str
) -> None:
    """What cannot be done exits with 2, and never touches the file."""
    (tmp_path / "text.db").write_text("this is no database, " * 100)
    outcome = run_cli("queue", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(message)
    assert "secret" not in outcome.err
    assert (tmp_path / "text.db").read_text().startswith("this is no")


def test_a_group_without_a_command_shows_its_help(run_cli: Run) -> None:
    """policyctl queue alone lists what it can do."""
    outcome = run_cli("queue")
    assert outcome.code == 2
    for name in ("list", "stats", "peek", "dead", "redrive", "purge"):
        assert f"\n  {name} " in outcome.out


def test_queues_of_a_server(
    run_cli: Run, valkey: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address shows and changes the queues of a server by their keys."""
    queue: Queue[Any] = Queue(
        service="tests",
        queue="remote",
        store=Redis(key="jobs", url_env="POLICY_REDIS_URL"),
        max_size=3,
        max_deliveries=1,
    )
    queue.put_many([{"n": n} for n in range(3)], ids=["a", "b", "c"])
    item = queue.take()
    assert item is not None
    item.nack("no")
    numbers = found(run_cli("queue", "list", valkey.url, "--format", "json"))
    assert (numbers["ready"], numbers["dead"], numbers["max_size"]) == (2, 1, 3)
    (letter,) = found(run_cli("queue", "dead", valkey.url, "--format", "json"))
    assert (letter["id"], letter["error"]) == ("a", "no")
    outcome = run_cli("queue", "redrive", valkey.url, "--queue", "jobs", "--yes")
    assert outcome.out == "jobs: 1 dead letter redriven\n"
    assert queue.stats().ready == 3
    assert "b" in run_cli("queue", "peek", valkey.url, "--limit", "1").out
    live.forget("tests.remote")


def test_foreign_keys_of_a_server_are_passed_over(run_cli: Run, valkey: Any) -> None:
    """What only looks like a queue hides none of the queues, and stays as it is."""
    queue: Queue[Any] = Queue(
        service="tests",
        queue="mine",
        store=Redis(key="mine", url_env="POLICY_REDIS_URL"),
        max_size=3,
    )
    queue.put({"n": 1})
    client = valkey.client()
    for key in ("{text}:meta", b"{\xff}:meta", "{}:meta", "{{x}:meta"):
        client.set(key, "hello")
    client.lpush("{list}:meta", "hello")
    client.hset("{other}:meta", "max_size", "abc")
    client.hset("{third}:meta", "size", "1")
    outcome = run_cli("queue", "list", valkey.url, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert list(json.loads(outcome.out)["queues"]) == ["mine"]
    assert client.get("{text}:meta") == b"hello"
    live.forget("tests.mine")
