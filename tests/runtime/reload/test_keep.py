"""The last good document on disk: whole, checked, and not too old."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from policyctl.runtime.reload import Kept, KeptError
from policyctl.testing import fake_clock


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    """The text, and how old it is; nothing else is left in the folder."""
    with fake_clock() as clock:
        kept = Kept(tmp_path / "deep" / "kept.json", None)
        kept.save("{'ä': 1}".encode())
        clock.advance(90)
        assert kept.load() == ("{'ä': 1}".encode(), 90.0)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["kept.json"]


def test_too_old(tmp_path: Path) -> None:
    """Over the age limit it is an error, and says both numbers."""
    with fake_clock() as clock:
        kept = Kept(tmp_path / "kept.json", 60.0)
        kept.save(b"{}")
        clock.advance(60)
        assert kept.load()[0] == b"{}"
        clock.advance(1)
        with pytest.raises(KeptError, match=r"61 s old, over the limit of 60 s"):
            kept.load()


def test_a_clock_set_back(tmp_path: Path) -> None:
    """CB-16, LK-03: the age is never negative."""
    path = tmp_path / "kept.json"
    with fake_clock(start=1000.0):
        Kept(path, 60.0).save(b"{}")
    with fake_clock(start=10.0):
        assert Kept(path, 60.0).load() == (b"{}", 0.0)


def test_missing(tmp_path: Path) -> None:
    """No file is an error that names it."""
    with pytest.raises(KeptError, match=r"kept\.json is not there"):
        Kept(tmp_path / "kept.json", None).load()


@hypothesis_settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 400), st.binary(max_size=2), st.booleans())
def test_any_damage_is_noticed(
    tmp_path: Path, start: int, put: bytes, cut: bool
) -> None:
    """Cut or altered anywhere: KeptError, or what was kept and nothing else."""
    path = tmp_path / "kept.json"
    kept = Kept(path, None)
    kept.save(b'{"format": 1, "services": {}}')
    whole = path.read_bytes()
    start %= len(whole)
    path.write_bytes(whole[:start] + (b"" if cut else put + whole[start + 1 :]))
    try:
        text, _ = kept.load()
    except KeptError:
        return
    assert text == b'{"format": 1, "services": {}}'


def test_the_time_is_under_the_checksum(tmp_path: Path) -> None:
    """A document cannot be made younger by editing its date."""
    path = tmp_path / "kept.json"
    Kept(path, None).save(b"{}")
    data = json.loads(path.read_text())
    data["saved_at_us"] += 1
    path.write_text(json.dumps(data))
    with pytest.raises(KeptError, match="checksum"):
        Kept(path, None).load()


def test_a_failed_write_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: what was kept before is still whole."""
    kept = Kept(tmp_path / "kept.json", None)
    kept.save(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        kept.save(b"new")
    assert kept.load()[0] == b"old"
    assert len(list(tmp_path.iterdir())) == 1
