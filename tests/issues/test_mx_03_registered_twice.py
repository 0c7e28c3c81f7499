"""MX-03: a second import or a reload registers the same metric again."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import enable, prometheus
from policyctl.runtime.telemetry.switch import SWITCH

_numbers = count(1)
MODULE = """
from policyctl.runtime import policy as _policy
from policyctl.runtime import telemetry as _telemetry

_telemetry.enable("{service}", metrics="prometheus")

buy = _policy.Policy(service="{service}", operation="buy")
"""


@pytest.fixture
def service() -> Iterator[str]:
    """A service's name of the test's own."""
    name = f"mx_03_{next(_numbers)}"
    yield name
    prometheus.unregister()
    for known in [known for known in SWITCH.services if known.startswith(name)]:
        del SWITCH.services[known]
    for key in [key for key in SWITCH.meters if key[0].startswith(name)]:
        del SWITCH.meters[key]
    for policy in [policy for policy in registry if policy.startswith(name)]:
        registry.forget(policy)


def load(path: Path, name: str) -> Any:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def total(shown: CollectorRegistry, service: str) -> list[str]:
    """The lines of successful calls of a service in an exposition."""
    return [
        line
        for line in generate_latest(shown).decode().splitlines()
        if line.startswith("policyctl_calls_total{")
        and f'service="{service}"' in line
        and 'outcome="success"' in line
    ]


def line(service: str, calls: int) -> str:
    """What that line should be."""
    labels = f'operation="buy",outcome="success",service="{service}"'
    return f"policyctl_calls_total{{{labels}}} {calls}.0"


def test_a_reload_counts_on(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generated module may be reloaded; nothing is registered or counted twice."""
    name = f"{service}_module"
    (tmp_path / f"{name}.py").write_text(MODULE.format(service=service))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    module.buy.call(int)
    importlib.reload(module)
    module.buy.call(int)
    module.buy(int_of_nothing)()
    del sys.modules[name]
    assert total(REGISTRY, service) == [line(service, 3)]


def int_of_nothing() -> int:
    """What is guarded."""
    return 0


def test_a_reload_of_our_own_module(service: str) -> None:
    """A collector of an earlier load of the code is recognised."""
    enable(service, metrics="prometheus")
    Policy(service=service, operation="buy").call(int)
    reloaded = importlib.reload(prometheus)
    reloaded.register()
    reloaded.register(REGISTRY)
    assert total(REGISTRY, service) == [line(service, 1)]


def test_two_modules_of_one_service(service: str, tmp_path: Path) -> None:
    """Two generated packages with the same service share its counters."""
    modules = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.py"
        path.write_text(MODULE.format(service=service))
        modules.append(load(path, f"{service}_{name}"))
        del sys.modules[f"{service}_{name}"]
    for module in modules:
        module.buy.call(int)
    assert total(REGISTRY, service) == [line(service, 2)]


def test_two_registries(service: str) -> None:
    """Each shows the same counts, and each may be asked for twice."""
    enable(service, metrics="prometheus")
    policy = Policy(service=service, operation="buy")
    first, second = CollectorRegistry(), CollectorRegistry(auto_describe=True)
    for shown in (first, second, first, second):
        prometheus.register(shown)
    policy.call(int)
    assert total(first, service) == [line(service, 1)]
    assert total(second, service) == [line(service, 1)]
    assert total(second, service) == [line(service, 1)]


def test_two_services_start_at_once(service: str) -> None:
    """First calls of several services in several threads register once."""
    from concurrent.futures import ThreadPoolExecutor

    policies = []
    for number in range(16):
        enable(f"{service}_{number}", metrics="prometheus")
        policies.append(Policy(service=f"{service}_{number}", operation="buy"))
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda policy: policy.call(int), policies)) == [0] * 16
    assert len(prometheus._collectors(REGISTRY)) == 1
