"""Lock files as ``policyctl generate`` writes them, and policies that follow them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from policyctl.generate.digest import plain_service, policy_digest
from policyctl.generate.lock import Lock, LockedService
from policyctl.resolve.inputs import InputFile, Inputs
from policyctl.resolve.project import load_project
from policyctl.runtime import inbound as inbounds
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.reload import read_document
from policyctl.runtime.scopes import SHARED

POLICY = """\
version: 1
service: pay
operations:
  charge:
    idempotent: true
    attempt_timeout: {attempt_timeout}
    budget: 10s
    retry:
      max_attempts: {max_attempts}
      retry_on: [ConnectionRefusedError]
      budget: {{ratio: 10%, burst: {burst}}}
    circuit_breaker: {{{breaker}, record_on: [Exception]}}
    rate_limit: {{rate: {rate}}}
    bulkhead: {{max_concurrent: {slots}, max_wait: 1s}}
    fallback: {fallback}
  lookup:
    attempt_timeout: 1s
"""
USUAL = {
    "attempt_timeout": "2s",
    "max_attempts": "3",
    "burst": "10",
    "breaker": "failure_ratio: 50%, window: 30s, minimum_calls: 10",
    "rate": "1000/s",
    "slots": "4",
    "fallback": "off",
}
OPTIONS = {
    "environment": None,
    "package": "acme",
    "runtime": "library",
    "target_python": "3.11",
}


def lock_of(text: str) -> bytes:
    """The lock file of one service document."""
    file = InputFile("policies/pay.yaml", text.encode())
    loaded = load_project(Inputs((file,)))
    assert "pay" in loaded.project.services, loaded.diagnostics
    service = loaded.project.services["pay"]
    values = plain_service(service)
    digest = policy_digest(values, OPTIONS)
    locked = LockedService(digest, "policies/pay.yaml", values)
    return Lock("policyctl 0.1.0", OPTIONS, {"pay": locked}).render()


@dataclass
class Fleet:
    """Makes lock files and the policies of the usual one.

    Attributes:
        path: where ``write`` puts the lock file.
    """

    path: Path

    def lock(self, **changes: str) -> bytes:
        """The lock file of the usual policy with some values changed."""
        return lock_of(POLICY.format(**{**USUAL, **changes}))

    def write(self, **changes: str) -> None:
        """Write the lock file that sources look at."""
        self.path.write_bytes(self.lock(**changes))

    def policies(self, **changes: str) -> dict[str, Policy]:
        """Live policies as generated code would define them, by operation."""
        document = read_document(self.lock(**changes))
        return {
            name.partition(".")[2]: Policy(
                service="pay", operation=name.partition(".")[2], **blocks
            )
            for name, blocks in document.operations.items()
        }


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """The service pay with operations charge and lookup; nothing else is live."""
    before = dict(registry._entries)
    seen = list(inbounds._all)
    registry._entries.clear()
    for inbound in seen:
        inbounds._all.discard(inbound)
    yield Fleet(tmp_path / "policies.lock.json")
    registry._entries.clear()
    registry._entries.update(before)
    for inbound in seen:
        inbounds._all.add(inbound)
    SHARED._breakers.pop("pay", None)
    SHARED._waiters.pop("pay", None)
