"""The reloader: from a source to live policies, and what it does when that fails."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime.registry import registry
from policyctl.runtime.reload import (
    FetchSource,
    FileSource,
    RedisSource,
    RefusedError,
    Reloader,
    StaleError,
    Status,
)
from policyctl.runtime.stores.errors import StoreUnavailableError
from policyctl.testing import fake_clock


def slots() -> int:
    """The limit that is in force."""
    return registry["pay.charge"].bulkhead.max_concurrent


def away() -> bytes:
    """A source that cannot be reached."""
    raise ConnectionError("no route")


@pytest.mark.timing
def test_a_file_is_followed(fleet: Any, wait_until: Any) -> None:
    """A new file is in force within an interval; stop ends the thread at once."""
    fleet.policies()
    fleet.write()
    reloader = Reloader(FileSource(fleet.path), interval=0.02)
    status = reloader.start()
    try:
        assert (status.error, status.changes, status.stale) == (None, (), False)
        fleet.write(slots="7")
        wait_until(lambda: slots() == 7)
        wait_until(lambda: reloader.status.revision != status.revision)
        assert [str(c) for c in reloader.status.changes] == [
            "pay.charge bulkhead.max_concurrent: 4 -> 7",
            "pay.charge bulkhead.max_queue: 4 -> 7",
        ]
    finally:
        start = time.monotonic()
        reloader.stop()
    assert time.monotonic() - start < 1.0


def test_same_size_same_second(fleet: Any) -> None:
    """A write that changes neither size nor, at this resolution, time is noticed."""
    fleet.policies()
    fleet.write(slots="5")
    stamp = time.time_ns()
    os.utime(fleet.path, ns=(stamp, stamp))
    reloader = Reloader(FileSource(fleet.path))
    reloader.check()
    assert slots() == 5
    text = fleet.lock(slots="6")
    assert len(text) == fleet.path.stat().st_size
    with open(fleet.path, "r+b") as file:  # the same inode
        file.write(text)
    os.utime(fleet.path, ns=(stamp, stamp))
    reloader.check()
    assert slots() == 6


def test_a_half_written_file(
    fleet: Any, caplog: pytest.LogCaptureFixture, wait_until: Any
) -> None:
    """Refused with the reason, said once; the whole file is taken when it is there."""
    caplog.set_level(logging.INFO, "policyctl")
    fleet.policies()
    fleet.write()
    reloader = Reloader(FileSource(fleet.path))
    good = reloader.check()
    text = fleet.lock(slots="7")
    fleet.path.write_bytes(text[: len(text) // 2])
    for _ in range(3):
        status = reloader.check()
        assert isinstance(status.error, RefusedError)
        assert (status.stale, status.revision) == (True, good.revision)
        assert slots() == 4
    assert caplog.text.count("are refused: it is not JSON") == 1
    fleet.path.write_bytes(text)
    assert reloader.check().error is None
    assert slots() == 7


def test_shadow_only_reports(fleet: Any, tmp_path: Path) -> None:
    """What would change is told and nothing is touched, kept files included."""
    fleet.policies()
    fleet.write(slots="7")
    seen: list[Status] = []
    reloader = Reloader(
        FileSource(fleet.path),
        mode="shadow",
        keep=tmp_path / "kept.json",
        on_status=seen.append,
    )
    reloader.check()
    status = reloader.check()
    assert [str(c) for c in status.changes] == [
        "pay.charge bulkhead.max_concurrent: 4 -> 7",
        "pay.charge bulkhead.max_queue: 4 -> 7",
    ]
    assert slots() == 4
    assert len(seen) == 1
    assert not (tmp_path / "kept.json").exists()


def test_shadow_reports_what_would_be_refused(fleet: Any) -> None:
    """A trial run finds out what a deployment is needed for."""
    fleet.policies()
    fleet.write(slots="4, scope: service")
    status = Reloader(FileSource(fleet.path), mode="shadow").check()
    assert "bulkhead.scope: it cannot change" in str(status.error)


def test_start_without_the_source(fleet: Any, tmp_path: Path) -> None:
    """The kept document is used, and says that it is old; the source goes before."""
    keep = tmp_path / "kept.json"
    fleet.policies()
    with fake_clock() as clock:
        first = Reloader(FetchSource(lambda: fleet.lock(slots="7")), keep=keep)
        first.check()
        registry._entries.clear()
        fleet.policies()
        assert slots() == 4
        clock.advance(30)
        answers: list[Any] = [away, lambda: fleet.lock(slots="8")]
        source = FetchSource(lambda: answers[0](), "config service")
        second = Reloader(source, keep=keep, interval=3600.0)
        status = second.start()
        second.stop()
        assert slots() == 7
        assert (status.restored, status.stale, status.age) == (True, True, 30.0)
        assert "no route" in str(status.error)
        answers.pop(0)
        status = second.check()
        assert slots() == 8
        assert (status.restored, status.stale, status.error) == (False, False, None)


@pytest.mark.parametrize("damage", ["old", "cut", "missing"])
def test_start_with_nothing_to_go_by(
    fleet: Any, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither source nor a kept document that is good: generated settings stay."""
    keep = tmp_path / "kept.json"
    fleet.policies()
    with fake_clock() as clock:
        Reloader(FetchSource(lambda: fleet.lock(slots="7")), keep=keep).check()
        registry._entries.clear()
        fleet.policies()
        if damage == "old":
            clock.advance(3601)
        elif damage == "cut":
            keep.write_bytes(keep.read_bytes()[:-9])
        else:
            keep.unlink()
        reloader = Reloader(
            FetchSource(away), keep=keep, max_age=3600.0, interval=3600.0
        )
        status = reloader.start()
        reloader.stop()
    assert (status.revision, slots()) == (None, 4)
    assert isinstance(status.error, StaleError)
    assert "kept policies are not used" in caplog.text


def test_too_stale_is_an_error(fleet: Any) -> None:
    """Beyond max_stale the status says so; what is in force stays."""
    fleet.policies()
    answers: list[Any] = [lambda: fleet.lock(slots="7"), away]
    with fake_clock() as clock:
        reloader = Reloader(FetchSource(lambda: answers[0]()), max_stale=60.0)
        assert reloader.check().error is None
        answers.pop(0)
        clock.advance(59)
        status = reloader.check()
        assert isinstance(status.error, ConnectionError)
        assert (status.stale, status.age) == (True, 59.0)
        clock.advance(2)
        status = reloader.check()
        assert isinstance(status.error, StaleError)
        assert status.age == 61.0
        assert "61 s old, over max_stale of 60 s: no route" in str(status.error)
        assert slots() == 7


@pytest.mark.timing
def test_a_fetcher_that_hangs(fleet: Any) -> None:
    """Stop takes a second at most, whatever the fetcher does."""
    fleet.policies()
    hanging, entered = threading.Event(), threading.Event()
    answers: list[Any] = [lambda: fleet.lock()]

    def fetch() -> bytes:
        if answers:
            text: bytes = answers.pop()()
            return text
        entered.set()
        hanging.wait(30)
        return b""

    reloader = Reloader(FetchSource(fetch), interval=0.01)
    reloader.start()
    assert entered.wait(60)
    start = time.monotonic()
    reloader.stop()
    assert time.monotonic() - start < 1.3
    hanging.set()


def test_a_fetcher_that_gives_nonsense(fleet: Any) -> None:
    """A value of another type is an error like others."""
    fleet.policies()
    source: Any = FetchSource(lambda: None)  # type: ignore[arg-type,return-value]
    status = Reloader(source).check()
    assert "gave NoneType, not bytes or str" in str(status.error)


def test_a_redis_key(own_valkey: Any, fleet: Any, wait_until: Any) -> None:
    """The value of a key; away and absent are told apart."""
    fleet.policies()
    client = own_valkey.client()
    reloader = Reloader(RedisSource("policies:acme"))
    assert "there is no key 'policies:acme'" in str(reloader.check().error)
    client.set("policies:acme", fleet.lock(slots="7"))
    assert reloader.check().error is None
    assert slots() == 7
    client.set("policies:acme", b"{}")
    assert isinstance(reloader.check().error, RefusedError)
    own_valkey.stop()
    status = reloader.check()
    assert isinstance(status.error, StoreUnavailableError)
    assert slots() == 7


def test_policies_that_are_loaded_later(fleet: Any) -> None:
    """They follow the document at the next look, although it has not changed."""
    fleet.write(slots="7")
    reloader = Reloader(FileSource(fleet.path))
    assert reloader.check().changes == ()
    fleet.policies()
    assert slots() == 4
    assert len(reloader.check().changes) == 2
    assert slots() == 7


def test_going_back(fleet: Any) -> None:
    """An earlier document is a change like any other."""
    fleet.policies()
    reloader = Reloader(FileSource(fleet.path))
    for number in ("7", "2", "7", "4"):
        fleet.write(slots=number)
        assert reloader.check().error is None
        assert slots() == int(number)


def test_a_pipe_in_place_of_the_file(fleet: Any, tmp_path: Path) -> None:
    """Nobody waits for what never ends, also behind a link; what is in force stays."""
    fleet.policies()
    fleet.write(slots="7")
    link = tmp_path / "link.json"
    link.symlink_to(fleet.path)
    reloader = Reloader(FileSource(link))
    assert reloader.check().error is None
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, Path("/dev/zero"), tmp_path):
        link.unlink()
        link.symlink_to(target)
        assert str(reloader.check().error) == "it is not a regular file"
        assert slots() == 7
    link.unlink()
    link.symlink_to(fleet.path)
    assert reloader.check().error is None


def test_a_listener_that_raises(fleet: Any, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged and harms nothing."""
    fleet.policies()
    fleet.write(slots="7")

    def broken(_: Status) -> None:
        raise RuntimeError("oops")

    Reloader(FileSource(fleet.path), on_status=broken).check()
    assert slots() == 7
    assert "on_status failed" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_goes_on(fleet: Any, wait_until: Any) -> None:
    """C41: the child has a thread of its own."""
    fleet.policies()
    fleet.write()
    reloader = Reloader(FileSource(fleet.path), interval=0.02)
    reloader.start()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            wait_until(lambda: slots() == 9)
            code = 0
        finally:
            os._exit(code)
    time.sleep(0.05)
    fleet.write(slots="9")
    assert os.waitpid(pid, 0)[1] == 0
    reloader.stop()


def thread_of(reloader: Reloader) -> Any:
    """The thread that looks at the source, None without one."""
    return reloader._thread


def test_one_thread_and_none_before_start(fleet: Any) -> None:
    """Nothing runs before start; starting twice is starting once."""
    fleet.policies()
    fleet.write()
    reloader = Reloader(FileSource(fleet.path), interval=3600.0)
    assert thread_of(reloader) is None
    reloader.start()
    thread = thread_of(reloader)
    reloader.start()
    assert thread_of(reloader) is thread
    assert (thread.name, thread.daemon) == ("policyctl reload", True)
    reloader.stop()
    reloader.stop()
    assert thread_of(reloader) is None
    thread.join(60)
    assert not thread.is_alive()
    reloader.start()
    assert thread_of(reloader) is not None
    reloader.stop()


@pytest.mark.parametrize("interval", [0, -1.0, float("nan")])
def test_an_interval_that_is_none(interval: float) -> None:
    """Refused when the reloader is made."""
    with pytest.raises(ValueError, match="it must be over 0 s"):
        Reloader(FetchSource(away), interval=interval)
