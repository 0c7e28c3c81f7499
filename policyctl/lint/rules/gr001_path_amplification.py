"""GR001: retries of several layers that multiply."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Related, Severity
from policyctl.lint import setting, show
from policyctl.lint.amplify import hit_ratio
from policyctl.lint.compare import over, reaches
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import origin_rate
from policyctl.lint.paths import Way, load_of
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import Service


class PathAmplification(Rule):
    """Retries along a path of calls multiply.

    What:
        On a path with at least two retrying edges, the product of all attempts, layers
        of the callee such as a mesh included, is over 4 (a warning) or over 10 (an
        error); or what reaches the callee when everything fails is at least its
        capacity (an error). Clients that no policy declares are an edge too where the
        operation they call states its rate. An edge multiplies what lies behind it unless it retries
        only failures in which the callee was not reached. Several calls for one request
        (`per_request`) are no factor of the product, since a callee that is well gets
        them too; what reaches the capacity counts them.

    Why:
        Three layers with four attempts each send 64 requests to a callee that fails for
        one user request. Each layer looks modest; the product does not.

    Bad:
        version: 1
        service: web
        owner: web-team
        calls: [{to: api.load}]
        ---
        version: 1
        service: api
        owner: api-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 2s
          budget: 8s
          retry: {max_attempts: 3}
        operations:
          load: {calls: [{to: store.read}]}
        ---
        version: 1
        service: store
        owner: store-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 500ms
          budget: 1900ms
          retry: {max_attempts: 3}
        operations:
          read: {}

    Good:
        version: 1
        service: web
        owner: web-team
        calls: [{to: api.load}]
        ---
        version: 1
        service: api
        owner: api-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 2s
          budget: 8s
        operations:
          load: {calls: [{to: store.read}]}
        ---
        version: 1
        service: store
        owner: store-team
        defaults:
          transport: http
          idempotent: true
          attempt_timeout: 500ms
          budget: 1900ms
          retry: {max_attempts: 3}
        operations:
          read: {}

    Fix:
        Retry in one layer, the one directly above the callee that fails, and give it a
        retry budget.

    False positives:
        Callees whose last error tells callers not to retry; the language cannot say so
        yet: suppress the rule with that reason.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
        AWS Builders' Library, Timeouts, retries, and backoff with jitter
        Azure Architecture Center, Retry Storm antipattern
    """

    code: ClassVar[str] = "GR001"
    name: ClassVar[str] = "path-amplification"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "operation facts.rate of the first caller",
        "callee's facts.capacity and facts.layers",
    )

    warn_above = setting.number(4.0, "products up to this are not reported")
    error_above = setting.number(10.0, "products over this are an error")

    def check_project(self, context: Context) -> Outcomes:
        paths, full = context.retry_paths, _full(context)
        for node, way in paths.ending.items():
            inner = any(
                paths.ending[edge.callee].weight > way.weight
                for edge in context.graph.outgoing.get(node, ())
                if edge.callee in paths.ending
            )
            callee = context.project.services[node.partition(".")[0]]
            load = full.get(callee.name)
            if load is not None or (not inner and over(_product(way), self.warn_above)):
                yield self._found(node, way, load, context)
            elif not inner:
                yield from missing(_lacking(way, callee, context))

    def _found(
        self, node: str, way: Way, load: float | None, context: Context
    ) -> Diagnostic:
        """The finding for a path; ``load`` is what fills the callee, if it does."""
        paths = context.retry_paths
        callee = context.project.services[node.partition(".")[0]]
        capacity = callee.facts.capacity
        retrying = way.multiplying()
        product_of = show.factors(retrying, lambda e: (e.caller, paths.factor(e)))
        calls = show.number(way.calls)
        unit = (
            "one request" if calls == "1" else f"each of {calls} calls for one request"
        )
        message = (
            f"{product_of} = {show.power(way.weight)} attempts at {node} for {unit}"
        )
        if load is not None and capacity is not None:
            message += (
                f"; {show.rate(load)} reach the capacity {show.rate(capacity)} of "
                f"{callee.name}"
            )
        severe = load is not None or over(_product(way), self.error_above)
        last = retrying[-1]
        also = [
            Related(edge.call.span, f"up to {show.number(paths.factor(edge))} attempts")
            for edge in retrying[:-1][-4:]
            if edge.call is not None
        ]
        return self.finding(
            context.place_of(last),
            "retry.max_attempts",
            message,
            severity=Severity.ERROR if severe else None,
            help=f"keep retries in one layer, here the calls of {last.caller}, and set "
            "max_attempts: 1 above it",
            also=also,
        )


def _product(way: Way) -> float:
    return math.inf if way.weight > 700 else math.exp(way.weight)


def _full(context: Context) -> dict[str, float]:
    """Services whose capacity is reached when everything fails, with what reaches it."""
    found: dict[str, float] = {}
    for service in context.project.services.values():
        capacity = service.facts.capacity
        if capacity is not None:
            operations = service.operations.values()
            load = sum(context.worst_loads.get(op.id, 0.0) for op in operations)
            load = origin_rate(load, hit_ratio(service))
            if reaches(load, capacity):
                found[service.name] = load
    return found


def _lacking(way: Way, callee: Service, context: Context) -> Iterator[str]:
    """Facts that would say whether a path fills its callee."""
    if callee.facts.capacity is None:
        yield f"{callee.name}.facts.capacity"
    yield from load_of(way.edges()[0], context).missing_rate
