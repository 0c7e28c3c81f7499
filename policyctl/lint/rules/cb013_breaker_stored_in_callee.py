"""CB013: a shared breaker whose store is what it protects."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class BreakerStoredInCallee(Rule):
    """The shared state of a breaker lives in a Redis like the one it protects.

    What:
        The breaker or the rate limit of an operation with `transport: redis` has
        `store: redis`.

    Why:
        When that Redis is away, so is the shared state: each process goes on with its
        own breaker just when sharing would help, and the traffic of the store comes on
        top of the load.

    Bad:
        version: 1
        service: session_store
        owner: session-team
        redis: {url_env: SESSION_REDIS_URL}
        operations:
          get:
            transport: redis
            idempotent: true
            attempt_timeout: 100ms
            budget: 500ms
            circuit_breaker: {store: redis}

    Good:
        version: 1
        service: session_store
        owner: session-team
        operations:
          get:
            transport: redis
            idempotent: true
            attempt_timeout: 100ms
            budget: 500ms
            circuit_breaker: {store: memory}

    Fix:
        Use `store: memory`: each process finds out by itself within a few calls.

    False positives:
        Two Redis servers that share nothing: suppress the rule with that reason.

    References:
        policyctl runtime semantics, contract C11
    """

    code: ClassVar[str] = "CB013"
    name: ClassVar[str] = "breaker-stored-in-callee"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        if policy.transport != "redis":
            return
        stores = (
            (
                "circuit_breaker",
                policy.circuit_breaker and policy.circuit_breaker.store,
            ),
            ("rate_limit", policy.rate_limit and policy.rate_limit.store),
        )
        for key, store in stores:
            if store == "redis":
                yield self.finding(
                    site.place,
                    f"{key}.store",
                    f"{policy.id} is a Redis, and its {key} keeps its shared state in one",
                    help="set store: memory",
                    fix=mend.set_value(
                        site.place, f"{key}.store", "memory", safe=False
                    ),
                )
