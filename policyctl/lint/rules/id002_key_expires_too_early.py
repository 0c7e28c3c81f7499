"""ID002: idempotency keys that expire before the last duplicate."""

from __future__ import annotations

import math
from typing import ClassVar

from policyctl.checks.limits import LIMITS
from policyctl.diagnostics import Fix, Severity
from policyctl.lint import mend, setting, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.horizon import redelivery_horizon
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.worst_case import worst_case


class KeyExpiresTooEarly(Rule):
    """The idempotency key expires before the last possible duplicate.

    What:
        `idempotency.ttl` is below twice the horizon: the longest time of one call, or,
        for an operation that a queue hands items to, the time until the last delivery of
        an item (`max_deliveries` leases and the waits between them, `max_age` at most).
        What nothing bounds is left out: TB001 and QU006 speak of that.

    Why:
        A duplicate that comes after its key was forgotten is new work. Payment services
        keep keys for at least 24 hours.

    Bad:
        version: 1
        service: payment_api
        owner: payments-team
        operations:
          charge:
            transport: http
            idempotent: false
            attempt_timeout: 30s
            budget: 5m
            retry: {max_attempts: 3, retry_on: [not_sent], backoff: {max: 20s}}
            idempotency: {key: [order_id], ttl: 1m}

    Good:
        version: 1
        service: payment_api
        owner: payments-team
        operations:
          charge:
            transport: http
            idempotent: false
            attempt_timeout: 30s
            budget: 5m
            retry: {max_attempts: 3, retry_on: [not_sent], backoff: {max: 20s}}
            idempotency: {key: [order_id], ttl: 24h}

    Fix:
        Raise `ttl` to 24 h or twice the horizon, whichever is longer.

    False positives:
        Stores too small for a day of keys: suppress the rule with that reason.

    References:
        Stripe API reference, Idempotent requests
    """

    code: ClassVar[str] = "ID002"
    name: ClassVar[str] = "key-expires-too-early"
    severity: ClassVar[Severity] = Severity.ERROR

    safety = setting.number(2.0, "how many horizons a key must live")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        keys = policy.idempotency
        if keys is None:
            return
        horizon, reason = 0.0, "one call lasts up to"
        if not math.isinf(longest := worst_case(policy)):
            horizon = longest
        for queue_site in context.queues:
            queue = queue_site.queue
            workers = [worker for worker in (queue.consume, queue.upload) if worker]
            if not any(worker.operation == policy.id for worker in workers):
                continue
            redelivered = redelivery_horizon(queue)
            if horizon < redelivered < math.inf:
                horizon = redelivered
                reason = f"the last delivery of {queue_site.place.title} ends after"
        if not over(self.safety * horizon, keys.ttl):
            return
        needed = max(86400.0, self.safety * horizon)
        yield self.finding(
            site.place,
            "idempotency.ttl",
            f"ttl {show.duration(keys.ttl)} < {show.number(self.safety)} x "
            f"{show.duration(horizon)}: {reason} {show.duration(horizon)}",
            help=_help(needed),
            fix=_fix(site, needed),
        )


_LONGEST = LIMITS["idempotency.ttl"].maximum


def _help(needed: float) -> str:
    if needed > _LONGEST:
        most = show.duration(_LONGEST)
        return f"no key lives longer than {most}: lower max_deliveries or max_age"
    return f"set ttl: {show.ceil_duration(needed)}"


def _fix(site: Site, needed: float) -> Fix | None:
    if needed > _LONGEST:
        return None
    text = show.ceil_duration(needed)
    return mend.set_value(site.place, "idempotency.ttl", text, safe=True)
