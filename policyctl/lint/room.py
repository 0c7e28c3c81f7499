"""The attempt timeouts that fit a call's budget, for advice that holds once followed."""

from __future__ import annotations

import math

from policyctl.lint import show
from policyctl.resolve.policy import Operation
from policyctl.resolve.worst_case import local_wait, longest_waits
from policyctl.units import parse_duration

_LEAST = 0.001


def attempts_of(policy: Operation) -> int:
    """The attempts that the budget should have room for: two where nothing bounds them."""
    if policy.retry is None:
        return 1
    return policy.retry.max_attempts or 2


def longest_attempt(policy: Operation) -> float:
    """Seconds of the longest attempt with which all of them fit; infinite without budget.

    ``n (a + t) + W(n - 1) <= D``, solved for t; negative where the waits are too long.
    A single attempt may last as long as the budget, whatever it waits for before.
    """
    total = None if policy.budget is None else policy.budget.total
    if total is None:
        return math.inf
    attempts = attempts_of(policy)
    if policy.retry is None or attempts == 1:
        return total
    wait = local_wait(policy.bulkhead, policy.rate_limit)
    waits = longest_waits(policy.retry.backoff, attempts - 1)
    return (total - waits) / attempts - wait


def fitting(policy: Operation) -> str | None:
    """``longest_attempt`` as a text to set; None where no attempt worth it fits."""
    longest = longest_attempt(policy)
    return None if longest < _LEAST else show.floor_duration(longest)


def needed_budget(policy: Operation, attempt: float) -> float:
    """Seconds of the budget that attempts of this length need."""
    attempts = attempts_of(policy)
    if policy.retry is None or attempts == 1:
        return attempt
    wait = local_wait(policy.bulkhead, policy.rate_limit)
    waits = longest_waits(policy.retry.backoff, attempts - 1)
    return attempts * (attempt + wait) + waits


def healthy(policy: Operation, text: str) -> bool:
    """Whether an attempt timeout is one that healthy calls keep (TB005)."""
    latency = policy.facts.latency
    if latency is None or policy.hedge is not None:
        return True
    return parse_duration(text) >= max(latency.p99 or 0.0, latency.p50 or 0.0)


def advised(policy: Operation, better: float) -> tuple[str, str]:
    """A timeout for healthy calls, and what the budget needs where it has no

    The longest attempt that fits serves where ``better`` is too long for the budget.
    """
    longest = longest_attempt(policy)
    text = show.ceil_duration(better)
    if parse_duration(text) <= longest:
        return text, ""
    shorter = fitting(policy)
    if shorter is not None and healthy(policy, shorter):
        return shorter, ""
    needed = needed_budget(policy, parse_duration(text))
    attempts = attempts_of(policy)
    why = f", which {attempts} such attempts need" if attempts > 1 else ""
    return text, f" and budget: {show.ceil_duration(needed)}{why}"
