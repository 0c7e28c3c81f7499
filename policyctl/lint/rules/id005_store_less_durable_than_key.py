"""ID005: idempotency keys in a store that forgets or does not share them."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import setting, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.lint.sharing import redis_store


class StoreLessDurableThanKey(Rule):
    """Idempotency keys live in a store that other processes do not see.

    What:
        `idempotency.store` is `memory` (or `sqlite`, a file of one host) and more than
        one client process makes the calls. A key that is forwarded to the callee is
        safe: the callee decides then.

    Why:
        A second process, and the same one after a restart, does not know the key and
        does the work again. The `ttl` promises hours; the store keeps it for one
        process's life.

    Bad:
        version: 1
        service: payment_api
        owner: payments-team
        operations:
          charge:
            transport: http
            idempotent: false
            facts: {callers: 8}
            attempt_timeout: 2s
            budget: 5s
            idempotency: {key: [order_id], ttl: 24h}

    Good:
        version: 1
        service: payment_api
        owner: payments-team
        redis: {url_env: POLICY_REDIS_URL}
        operations:
          charge:
            transport: http
            idempotent: false
            facts: {callers: 8}
            attempt_timeout: 2s
            budget: 5s
            idempotency: {key: [order_id], ttl: 24h, store: redis}

    Fix:
        Use `store: redis`, or forward the key to the callee.

    False positives:
        Callers that send all requests of one key to one process: suppress the rule with
        that reason.

    References:
        policyctl runtime semantics, contract C29
    """

    code: ClassVar[str] = "ID005"
    name: ClassVar[str] = "store-less-durable-than-key"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("operation facts.callers", "facts.instances")

    shortest = setting.seconds(60.0, "keys that live no longer than this may be local")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        keys = site.policy.idempotency
        if keys is None or keys.store == "redis" or keys.forward is not None:
            return
        if keys.ttl <= self.shortest:
            return
        load = context.load(site)
        if load.callers is None:
            yield from missing(load.missing_callers)
            return
        if load.callers < 2:
            return
        yield self.finding(
            site.place,
            "idempotency.store",
            f"store {keys.store} is seen by one {_holder(keys.store)}, and "
            f"{load.callers} processes call {site.policy.id}: for a ttl of "
            f"{show.duration(keys.ttl)} duplicates in other processes go unnoticed",
            help=f"set {redis_store(site.service)}, or add forward: {{header: Idempotency-Key}}",
        )


def _holder(store: str) -> str:
    return "process" if store == "memory" else "host"
