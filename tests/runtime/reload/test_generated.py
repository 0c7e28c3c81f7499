"""Lock files of real generated packages say what their modules say."""

from __future__ import annotations

import json
import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyctl.generate.lock import Lock
from policyctl.runtime import inbound as inbounds
from policyctl.runtime.registry import registry
from policyctl.runtime.reload import plan_changes, read_document
from policyctl.runtime.scopes import SHARED

ROOT = Path(__file__).parents[3]
PACKAGES = sorted(
    {
        path.parent
        for folder in ("tests/generate/cases", "examples")
        for path in (ROOT / folder).rglob("policies.lock.json")
    }
)


@pytest.fixture
def nothing_live() -> Iterator[None]:
    """A process without policies."""
    entries = dict(registry._entries)
    shared = dict(SHARED._breakers), dict(SHARED._waiters), dict(SHARED._declared)
    seen = list(inbounds._all)
    registry._entries.clear()
    for part in (SHARED._breakers, SHARED._waiters, SHARED._declared):
        part.clear()
    for inbound in seen:
        inbounds._all.discard(inbound)
    yield
    registry._entries.clear()
    registry._entries.update(entries)
    SHARED._breakers, SHARED._waiters, SHARED._declared = shared
    for inbound in seen:
        inbounds._all.add(inbound)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.parent.name)
def test_a_package_and_its_lock_file_agree(nothing_live: None, package: Path) -> None:
    """Every live policy is in the document, with settings that differ in nothing."""
    text = (package / "policies.lock.json").read_bytes()
    if not Lock.parse(text).is_intact():
        pytest.skip("it is stale, which other tests are about")
    lock = json.loads(text)
    kept = []
    for service in lock["services"]:
        path = package / f"{service}.py"
        if path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kept.append(runpy.run_path(str(path)))
    plan = plan_changes(read_document(text))
    assert [str(change) for change in plan.changes] == []
    declared = {
        f"{service}.{operation}"
        for service, entry in lock["services"].items()
        for operation in entry["policy"].get("operations") or {}
    }
    assert declared.isdisjoint(plan.unknown)
    assert declared <= set(registry)
    assert kept
