"""How many attempts reach a service when everything fails (formula F5 on a project).

Everything here is a lower bound where a fact is missing, so that what it proves holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from policyctl.lint import outcomes
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.load import (
    budgeted_amplification,
    hedge_amplification,
    origin_rate,
    sustained_ratio,
)
from policyctl.lint.traffic import Load
from policyctl.resolve.policy import Backoff, Operation, RetryBudget, Service


def attempts_of(policy: Operation) -> float:
    """The most attempts of one call; infinite where they are unlimited."""
    if policy.retry is None:
        return 1.0
    limit = policy.retry.max_attempts
    return math.inf if limit is None else float(limit)


LOOP_BACKOFF = 10.0
"""Seconds that the back-off of a control loop must grow to."""


def calm_loop(policy: Operation, least: float = LOOP_BACKOFF) -> bool:
    """Whether unlimited attempts wait so long, and so unevenly, that they may go on.

    Such a loop makes one attempt after the other, at a pace that its back-off sets:
    failures do not multiply it.
    """
    retry = policy.retry
    if retry is None or retry.max_attempts is not None:
        return False
    longest = eventual_delay(retry.backoff)
    return least <= longest < math.inf and outcomes.has_jitter(retry.backoff)


def eventual_delay(backoff: Backoff) -> float:
    """The delay that is reached in the end, before jitter, in seconds."""
    cap = math.inf if backoff.max is None else backoff.max
    return cap if grows(backoff) else min(backoff.initial, cap)


def grows(backoff: Backoff) -> bool:
    """Whether each delay is longer than the one before; decorrelated jitter triples it."""
    growing = backoff.multiplier > 1 or backoff.jitter.kind == "decorrelated"
    return growing and backoff.initial > 0


def sustained(budget: RetryBudget, load: Load) -> float:
    """Retries for each first try that a budget lets through while all calls fail."""
    on_request = budget.refill == "request"
    if load.rate is None or load.callers is None:
        return budget.ratio if on_request else 0.0
    return sustained_ratio(
        budget.ratio, on_request, budget.floor, load.callers, load.rate
    )


def amplification(policy: Operation, load: Load) -> float:
    """Attempts for each first try of an operation whose every attempt fails."""
    if policy.hedge is not None:
        return hedge_amplification(1.0, policy.hedge.max_hedges, policy.hedge.budget)
    attempts = attempts_of(policy)
    if calm_loop(policy):
        return 1.0
    if policy.retry is None or policy.retry.budget is None:
        return attempts
    return budgeted_amplification(attempts, sustained(policy.retry.budget, load))


def layer_attempts(service: Service) -> int:
    """Attempts that layers in front of a service make of each one."""
    return math.prod(layer.max_attempts for layer in service.facts.layers)


def hit_ratio(service: Service) -> float:
    """The share of requests that a cache in front of a service answers."""
    cache = service.facts.cache
    return 0.0 if cache is None or cache.hit_ratio is None else cache.hit_ratio


@dataclass(frozen=True, slots=True)
class Demand:
    """What reaches one service.

    Attributes:
        first: first tries/s of all operations as far as known, past a cache in front.
        attempts: attempts/s that these become when everything fails.
        missing: facts without which the two are too low.
    """

    first: float
    attempts: float
    missing: tuple[str, ...]

    @property
    def factor(self) -> float:
        """Attempts for each first try."""
        return self.attempts / self.first if self.first else 1.0


def demand(service: Service, context: Context) -> Demand:
    """The demand on a service: its operations, and callers with an override."""
    found: Demand | None = context.memory.get(service.name)
    if found is None:
        found = context.memory[service.name] = _demand(service, context)
    return found


def _demand(service: Service, context: Context) -> Demand:
    first, attempts = 0.0, 0.0
    missing: list[str] = []
    hits = hit_ratio(service)
    for operation in service.operations.values():
        load = context.traffic.of_operation(operation)
        if load.rate is None:
            missing += load.missing_rate
        if _counts_processes(operation):
            missing += load.missing_callers
        rate = context.traffic.at_least(operation.id)
        if rate == 0:
            continue
        total = attempts_at(operation, rate, context)
        first += origin_rate(min(rate, total), hits)
        attempts += _direct(operation, service, context)
    return Demand(first, attempts, tuple(missing))


def _direct(operation: Operation, service: Service, context: Context) -> float:
    """Attempts/s at one operation, past a cache, that its own callers make."""
    rate = context.traffic.at_least(operation.id)
    if rate == 0:
        return 0.0
    total = attempts_at(operation, rate, context) * layer_attempts(service)
    return origin_rate(total, hit_ratio(service))


def demand_along_paths(service: Service, context: Context) -> Demand:
    """The demand with what callers further up repeat: F5 weighted by ``R(s)``.

    Of each operation the larger of two lower bounds counts: the attempts of its own
    callers, and those that arrive along the paths of the call graph.
    """
    own, hits = demand(service, context), hit_ratio(service)
    attempts = sum(
        max(
            _direct(operation, service, context),
            origin_rate(context.worst_loads.get(operation.id, 0.0), hits),
        )
        for operation in service.operations.values()
    )
    return Demand(own.first, max(own.attempts, attempts), own.missing)


def _counts_processes(policy: Operation) -> bool:
    """Whether its attempts depend on how many processes make them."""
    budget = None if policy.retry is None else policy.retry.budget
    limit = policy.rate_limit
    shared = limit is None or limit.mode != "enforce" or limit.store == "redis"
    return not shared or (budget is not None and budget.floor > 0)


def attempts_at(operation: Operation, rate: float, context: Context) -> float:
    """Attempts/s that ``rate`` first tries of an operation become when all fail.

    Callers with an override of known rate make theirs under that.
    """
    others, total = rate, 0.0
    for edge in context.graph.callers(operation.id):
        if edge.call is None or edge.call.policy is None:
            continue
        own = context.traffic.of_edge(edge)
        if own.rate is not None:
            others -= own.rate
            total += _limited(edge.call.policy, own, own.rate)
    load = context.traffic.of_operation(operation)
    return total + _limited(operation, load, max(0.0, others))


def _limited(policy: Operation, load: Load, rate: float) -> float:
    """Attempts/s of ``rate`` first tries, as far as the rate limit lets them through."""
    attempts = rate * amplification(policy, load) if rate else 0.0
    return min(attempts, most_attempts(policy, load))


def most_attempts(policy: Operation, load: Load) -> float:
    """Attempts/s that the rate limit lets through; infinite without one.

    The limit counts attempts (C1), in memory for each client process by itself.
    """
    limit = policy.rate_limit
    if limit is None or limit.mode != "enforce":
        return math.inf
    processes = 1 if limit.store == "redis" else load.callers or 1
    return limit.rate * processes


def callee_of(site: Site, context: Context) -> Service:
    """The service that a site's attempts go to."""
    return context.project.services[site.policy.service]
