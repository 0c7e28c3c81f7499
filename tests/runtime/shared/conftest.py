"""Several processes' sides of one shared breaker or rate limit, in one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.shared import link as links

Make = Callable[..., Policy]


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """``sides(n, **policy)``: the policy ``pay.charge`` as the n-th process has it.

    Each side has its own link to the store, under a variable of its own.
    """

    def side(number: int, **blocks: Any) -> Policy:
        name = f"SIDE_{number}"
        monkeypatch.setenv(name, os.environ["POLICY_REDIS_URL"])
        for key, value in blocks.items():
            if key in ("circuit_breaker", "rate_limit"):
                blocks[key] = value.replace(url_env=name)
        policy = Policy(service="pay", operation="charge", **blocks)
        registry.forget("pay.charge")
        return policy

    yield side
    links.close_links()
    links._links.clear()  # nothing of this test speaks up in the next


@pytest.fixture
def breaker_of() -> Callable[..., settings.CircuitBreaker]:
    """A shared breaker: three failures in a row open it for 0.2 s."""

    def make(**changes: Any) -> settings.CircuitBreaker:
        block: dict[str, Any] = {
            "store": "redis",
            "failure_threshold": 3,
            "recovery_timeout": settings.Recovery(initial=0.2, jitter=0.0),
            "success_threshold": 2,
            **changes,
        }
        return settings.CircuitBreaker(**block)

    return make
