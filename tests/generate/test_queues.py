"""Queues in generated packages: objects, registry, lock file, overrides."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from policyctl.generate.build import build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.policy import Project
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.overrides import read_environment
from policyctl.runtime.queues import live
from policyctl.runtime.registry import registry

LoadProject = Callable[[Mapping[str, str]], Project]

POLICY = """\
version: 1
service: queue_case
queues:
  jobs: {store: sqlite, path: var/jobs.db, max_size: 7, max_age: 1h}
  far: {store: external, max_size: 5}
"""
PLAIN = """\
version: 1
service: plain_case
operations:
  get: {attempt_timeout: 1s}
"""


@pytest.fixture
def package(
    tmp_path: Path, load: LoadProject, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The import name of a generated package with a queue, in the working directory."""
    name = f"queue_case_{abs(hash(str(tmp_path)))}"
    options = GenerateOptions(tmp_path / name, name, root=tmp_path)
    built = build(load({"a.yaml": POLICY, "b.yaml": PLAIN}), options)
    assert built.diagnostics == ()
    write(built, compare(built, options), options)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    read_environment(None)
    live.forget("queue_case.jobs")
    for service in ("plain_case.get",):
        if service in registry:
            registry.forget(service)
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


def module(package: str, name: str) -> Any:
    """A module of the generated package."""
    return importlib.import_module(f"{package}.{name}")


def test_import_touches_nothing(package: str, tmp_path: Path) -> None:
    """Only the first operation makes the folder and the file (C41)."""
    jobs = module(package, "queue_case").jobs
    assert not (tmp_path / "var").exists()
    jobs.put({"n": 1})
    assert (tmp_path / "var" / "jobs.db").exists()
    item = jobs.take()
    assert item.payload == {"n": 1}
    assert item.ack()
    jobs.close()


def test_a_queue_elsewhere_has_no_code(package: str) -> None:
    """store: external is facts for lint alone."""
    made = module(package, "queue_case")
    assert made.__all__ == ["jobs"]
    assert "far:\n    a queue elsewhere" in made.__doc__


def test_the_registry_finds_queues(package: str) -> None:
    """By pattern, by name, and with the nearest name for an unknown one."""
    policies = module(package, "registry").policies
    assert list(policies.queues()) == ["queue_case.jobs"]
    assert list(policies.queues("plain*")) == []
    found = policies.queues("queue_case.jobs")["queue_case.jobs"]
    assert found is module(package, "queue_case").jobs
    assert registry.queues("queue_case.*") == {"queue_case.jobs": found}
    with pytest.raises(PolicyConfigError, match=r"did you mean queue_case\.jobs\?"):
        policies.queues("queue_case.job")


def test_the_environment_overrides_limits(package: str) -> None:
    """A variable changes a limit at import, checked like the YAML."""
    read_environment({"QUEUE_CASE_JOBS_MAX_SIZE": "9", "QUEUE_CASE_JOBS_LEASE": "2m"})
    settings = module(package, "queue_case").jobs.settings
    assert (settings.max_size, settings.lease, settings.max_age) == (9, 120.0, 3600.0)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("MAX_SIZE", "many", "`many` is not a whole number"),
        ("LEASE", "30", "`30` has no unit"),
        ("REDELIVERY_INITIAL", "10m", "over the max of 300"),
        ("UPLOAD_BATCH", "5", "of a block that is off"),
    ],
)
def test_a_bad_override_is_an_error_at_import(
    package: str, name: str, text: str, message: str
) -> None:
    """It names the variable and its value, never a silent default."""
    read_environment({f"QUEUE_CASE_JOBS_{name}": text})
    with pytest.raises(PolicyConfigError) as caught:
        module(package, "queue_case")
    shown = str(caught.value)
    assert shown.startswith("queue_case.jobs: ")
    assert f"QUEUE_CASE_JOBS_{name}={text}" in shown
    assert message in shown


def test_the_lock_file_holds_every_value(package: str, tmp_path: Path) -> None:
    """Defaults are explicit."""
    lock = json.loads((tmp_path / package / "policies.lock.json").read_text())
    text = json.dumps(lock)
    assert '"max_deliveries": 5' in text
    assert '"lease": 30.0' in text
