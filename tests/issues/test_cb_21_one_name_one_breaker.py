"""CB-21, CB-22: identity is explicit, and defining a policy again changes no state."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.errors import CircuitOpenError, PolicyConfigError
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry

MODULE = """
from policyctl.runtime import policy as _policy
from policyctl.runtime import settings as _settings

charge = _policy.Policy(
    service="cb21_api",
    operation="charge",
    circuit_breaker=_settings.CircuitBreaker(
        failure_threshold={threshold},
        recovery_timeout=_settings.Recovery(initial=30.0, jitter=0.0),
    ),
)


@charge
def call():
    raise TimeoutError
"""


def test_an_open_breaker_survives_reimport_and_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    """Reload, fresh import and a second wrapper: still open, same time remaining."""
    file = tmp_path / "cb21_generated.py"
    file.write_text(MODULE.format(threshold=1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("cb21_generated")
    try:
        with pytest.raises(TimeoutError):
            module.call()
        clock.advance(10.0)
        module = importlib.reload(module)
        assert module.charge.circuit_breaker.state == "open"
        del sys.modules["cb21_generated"]
        module = importlib.import_module("cb21_generated")
        assert module.charge.circuit_breaker.retry_after == 20.0

        def another() -> None:
            raise AssertionError("entered")

        with pytest.raises(CircuitOpenError):
            module.charge(another)()
        file.write_text(MODULE.format(threshold=7))
        importlib.invalidate_caches()
        with pytest.raises(PolicyConfigError, match="failure_threshold=7"):
            importlib.reload(module)
        assert registry["cb21_api.charge"].circuit_breaker.state == "open"
    finally:
        sys.modules.pop("cb21_generated", None)


def test_functions_of_one_name_do_not_share_by_accident() -> None:
    """Policies without a name are apart, whatever the functions are called."""
    block = settings.CircuitBreaker(failure_threshold=1)
    one, other = Policy(circuit_breaker=block), Policy(circuit_breaker=block)

    def call() -> None:
        raise TimeoutError

    first, second = one(call), other(call)
    with pytest.raises(TimeoutError):
        first()
    with pytest.raises(CircuitOpenError):
        first()
    with pytest.raises(TimeoutError):
        second()
