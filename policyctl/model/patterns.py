"""The patterns that an operation, a service's defaults or a caller may set."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.attempt_timeout import ATTEMPT_TIMEOUT, AttemptTimeout
from policyctl.model.budget import BUDGET, Budget
from policyctl.model.bulkhead import BULKHEAD, Bulkhead
from policyctl.model.circuit_breaker import CIRCUIT_BREAKER, CircuitBreaker
from policyctl.model.fallback import FALLBACK, Fallback
from policyctl.model.fields import Off, Settings, setting
from policyctl.model.hedge import HEDGE, Hedge
from policyctl.model.idempotency import IDEMPOTENCY, Idempotency
from policyctl.model.rate_limit import RATE_LIMIT, RateLimit
from policyctl.model.retry import RETRY, Retry


class Patterns(Settings):
    """Every pattern; an absent one is off."""

    attempt_timeout: Annotated[AttemptTimeout | Off | None, ATTEMPT_TIMEOUT] = setting(
        "The limit of one attempt.", "5s", {"total": "5s", "connect": "500ms"}
    )
    budget: Annotated[Budget | Off | None, BUDGET] = setting(
        "The limit of the whole call: attempts, waits and queueing.",
        "15s",
        {"total": "15s", "minimum": "1s"},
    )
    retry: Annotated[Retry | Off | None, RETRY] = setting(
        "How often a failed attempt is repeated, and when.", {"max_attempts": 3}
    )
    circuit_breaker: Annotated[CircuitBreaker | Off | None, CIRCUIT_BREAKER] = setting(
        "When to stop calling, and how to find out that all is well.",
        {"failure_threshold": 5, "recovery_timeout": "30s"},
    )
    bulkhead: Annotated[Bulkhead | Off | None, BULKHEAD] = setting(
        "How many attempts may run at once.",
        {"max_concurrent": 10, "max_queue": 20, "max_wait": "50ms"},
    )
    rate_limit: Annotated[RateLimit | Off | None, RATE_LIMIT] = setting(
        "How many attempts may start per time.", {"rate": "100/s", "burst": 20}
    )
    hedge: Annotated[Hedge | Off | None, HEDGE] = setting(
        "A further attempt beside a slow one; async and idempotent calls alone.",
        {"delay": "200ms", "max_hedges": 1, "budget": "2%"},
    )
    fallback: Annotated[Fallback | Off | None, FALLBACK] = setting(
        "What is answered when everything else has failed: value, call or operation.",
        {"value": []},
        {"call": "my_app.fallbacks:cached_quote"},
    )
    idempotency: Annotated[Idempotency | Off | None, IDEMPOTENCY] = setting(
        "One effect however often a call is made.",
        {"key": ["hotel_id", "checkin"], "ttl": "24h"},
    )
