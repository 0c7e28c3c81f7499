"""BH004: connection pools that queue behind a bulkhead."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import PoolFacts


class PoolSmallerThanBulkhead(Rule):
    """The connection pool is a second, hidden queue.

    What:
        A caller's `facts.pool.max` is below the `max_concurrent` of a bulkhead that its
        calls pass; or the wait for a connection is unlimited, or over a fifth of
        `attempt_timeout`.

    Why:
        A call that got a slot then waits for a connection, out of sight of the bulkhead
        and its limits. Raising threads without raising the pool has starved services.

    Bad:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, pool: {max: 10, acquire_timeout: 50ms}}
        calls: [{to: price_db.query}]
        ---
        version: 1
        service: price_db
        owner: price-team
        operations:
          query:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 64}

    Good:
        version: 1
        service: shop
        owner: shop-team
        facts: {instances: 1, pool: {max: 64, acquire_timeout: 50ms}}
        calls: [{to: price_db.query}]
        ---
        version: 1
        service: price_db
        owner: price-team
        operations:
          query:
            transport: sql
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            bulkhead: {max_concurrent: 64}

    Fix:
        Make the pool as large as the bulkhead, and bound the wait for a connection to a
        tenth of `attempt_timeout`.

    False positives:
        HTTP/2 connections that carry many calls: state the number of streams as `max`.

    References:
        Epic Games, Postmortem of Service Outage at 3.4M CCU, 2018
    """

    code: ClassVar[str] = "BH004"
    name: ClassVar[str] = "pool-smaller-than-bulkhead"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "caller's facts.pool.max and facts.pool.acquire_timeout",
    )

    wait_share = setting.ratio(
        0.2, "the share of attempt_timeout that waiting may take"
    )

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        policy, pool = edge.policy, edge.service.facts.pool
        if policy is None or pool is None or policy.transport == "local":
            return
        timeout = policy.attempt_timeout
        attempt = None if timeout is None else timeout.total
        bulkhead = policy.bulkhead
        if bulkhead is None or bulkhead.mode != "enforce":
            return
        slots = bulkhead.max_concurrent
        if pool.max is None:
            yield from missing([f"{edge.service.name}.facts.pool.max"])
        problem = self._problem(pool, slots, attempt)
        if problem is None:
            return
        key, text, help = problem
        yield self.finding(
            place.of_service(edge.service),
            f"facts.pool.{key}",
            f"{text} (calls to {policy.id})",
            help=help,
            also=context.place_of(edge).locate("bulkhead")[1],
        )

    def _problem(
        self, pool: PoolFacts, slots: int, attempt: float | None
    ) -> tuple[str, str, str] | None:
        if pool.max is not None and pool.max < slots:
            text = (
                f"pool of {pool.max} connections < bulkhead of {slots} slots: "
                f"up to {show.count(slots - pool.max, 'call')} with a slot must wait for "
                "a connection"
            )
            return "max", text, f"set max: {slots}, or max_concurrent: {pool.max}"
        if attempt is None:
            return None
        bounded = f"set acquire_timeout: {show.floor_duration(0.1 * attempt)}"
        if pool.acquire_timeout is None:
            return "acquire_timeout", "the wait for a connection has no limit", bounded
        if over(pool.acquire_timeout, self.wait_share * attempt):
            text = (
                f"acquire_timeout {show.duration(pool.acquire_timeout)} > "
                f"{show.ratio(self.wait_share)} of attempt_timeout "
                f"{show.duration(attempt)}"
            )
            return "acquire_timeout", text, bounded
        return None
