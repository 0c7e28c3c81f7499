"""GR002: retries in more than one layer."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Related, Severity
from policyctl.lint import outcomes, show
from policyctl.lint.context import Context, Site
from policyctl.lint.graph import Edge
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import LayerFacts, Retry


class StackedRetries(Rule):
    """The same failure is retried in more than one layer.

    What:
        - A call that retries stands behind a caller that is itself retried after
          failures of its own calls (a warning). Callers that no policy declares count
          where the operation that they call states its rate.
        - A call that retries passes a layer (`facts.layers`: a mesh, an SDK) that
          retries the same outcomes (an error); if the layer's statuses are others, it is
          info.

    Why:
        Stacked retries multiply. One layer should retry; which one is a decision, not
        an accident.

    Bad:
        version: 1
        service: store
        owner: store-team
        facts: {layers: [{name: mesh, max_attempts: 3, retry_on_status: [503]}]}
        operations:
          read:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            retry: {max_attempts: 3, retry_on_status: [503]}

    Good:
        version: 1
        service: store
        owner: store-team
        facts: {layers: [{name: mesh, max_attempts: 1}]}
        operations:
          read:
            transport: http
            idempotent: true
            attempt_timeout: 500ms
            budget: 2s
            retry: {max_attempts: 3, retry_on_status: [503]}

    Fix:
        Switch retries off in all layers but one.

    False positives:
        Layers that retry refused connections alone: state their `retry_on_status`.

    References:
        Azure Architecture Center, Retry pattern: avoid nested retries
        Site Reliability Engineering, chapter 21, Handling Overload
    """

    code: ClassVar[str] = "GR002"
    name: ClassVar[str] = "stacked-retries"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = ("callee's facts.layers",)

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        retry = site.policy.retry
        callee = context.project.services[site.policy.service]
        if retry is None or retry.max_attempts == 1:
            return
        for layer in callee.facts.layers:
            if layer.max_attempts > 1:
                yield self._layer(site, retry, layer)

    def _layer(self, site: Site, retry: Retry, layer: LayerFacts) -> Diagnostic:
        common = _common(retry, layer)
        attempts = retry.max_attempts
        product = "unlimited attempts"
        if attempts is not None:
            product = f"{attempts} x {layer.max_attempts} = {attempts * layer.max_attempts} attempts"
        return self.finding(
            site.place,
            "retry.max_attempts",
            f"calls to {site.policy.id} are retried here and by {layer.name}: "
            + (f"{product} for one call" if common else "after other statuses"),
            severity=Severity.ERROR if common else Severity.INFO,
            help=f"switch retries off in {layer.name}, or set retry: off here",
        )

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        policy = edge.policy
        if policy is None or policy.retry is None or policy.retry.max_attempts == 1:
            return
        ways = context.retry_paths.through.get(edge.caller, {})
        above = [way for count, way in ways.items() if count]
        if not above:
            return
        upper = max(above, key=lambda way: way.weight).retrying
        if upper is None or upper.policy is None:
            return
        above_at = upper.policy.span if upper.call is None else upper.call.span
        first = show.number(context.retry_paths.factor(upper))
        second = show.number(context.retry_paths.factor(edge))
        yield self.finding(
            context.place_of(edge),
            "retry.max_attempts",
            f"{edge.callee} is tried up to {second} times, and {upper.callee} above it up "
            f"to {first} times: the same failure is retried in two layers",
            help=f"set max_attempts: 1 for the calls of {upper.caller}, or for this one",
            also=(Related(above_at, f"up to {first} attempts"),),
        )


def _common(retry: Retry, layer: LayerFacts) -> bool:
    """Whether a layer retries what the policy retries too; unknown counts as yes."""
    if not layer.retry_on_status:
        return True
    return bool(
        outcomes.overlap(
            layer.retry_on_status, retry.retry_on_status, retry.never_retry_on_status
        )
    )
