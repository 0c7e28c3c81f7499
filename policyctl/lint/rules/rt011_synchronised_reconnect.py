"""RT011: clients that all come back at once."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, show
from policyctl.lint.compare import over
from policyctl.lint.context import Context
from policyctl.lint.formulas.load import reconnect_window
from policyctl.lint.rule import Outcomes, Rule, missing
from policyctl.resolve.policy import ReconnectFacts, Service


class SynchronisedReconnect(Rule):
    """Clients reconnect faster than connections can be accepted.

    What:
        `facts.reconnect` describes a fixed delay without jitter (a warning), or clients
        come back within a window shorter than `N / accept_rate` (an error). A fleet that
        can be accepted within one second is not measured.

    Why:
        Clients that lose their connections together return together. Chat services,
        streaming back ends and whole regions have been kept down by their own clients.

    Bad:
        version: 1
        service: push_gateway
        owner: push-team
        facts:
          reconnect: {delay: 1s, jitter: none, accept_rate: 2000/s}
        operations:
          subscribe:
            transport: http
            idempotent: true
            facts: {callers: 200000}
            attempt_timeout: 2s
            budget: 5s

    Good:
        version: 1
        service: push_gateway
        owner: push-team
        facts:
          reconnect: {window: 120s, jitter: full, accept_rate: 2000/s}
        operations:
          subscribe:
            transport: http
            idempotent: true
            facts: {callers: 200000}
            attempt_timeout: 2s
            budget: 5s

    Fix:
        Spread reconnects with full jitter over at least `N / accept_rate`.

    False positives:
        Small fleets.

    References:
        AWS, Summary of the Amazon Kinesis Event in the Northern Virginia Region, 2020
        Slack Engineering, Slack's Outage on January 4th 2021
    """

    code: ClassVar[str] = "RT011"
    name: ClassVar[str] = "synchronised-reconnect"
    severity: ClassVar[Severity] = Severity.WARNING
    facts: ClassVar[tuple[str, ...]] = (
        "facts.reconnect and facts.reconnect.accept_rate",
        "operation facts.callers",
        "facts.instances",
    )

    def check_service(self, service: Service, context: Context) -> Outcomes:
        reconnect = service.facts.reconnect
        if reconnect is None:
            return
        clients, unknown = _clients(service, context)
        if reconnect.window is reconnect.delay is None and reconnect.jitter != "none":
            yield from missing([f"{service.name}.facts.reconnect.delay"])
            return
        spread, rate = _spread(reconnect), reconnect.accept_rate
        if spread > 0 and rate is None:
            yield from missing([f"{service.name}.facts.reconnect.accept_rate"])
        if clients is None or clients < 2 or (rate is not None and clients <= rate):
            yield from missing(unknown)
            return
        needed = 0.0 if rate is None else reconnect_window(clients, rate)
        spot = place.of_service(service)
        if rate is not None and over(needed, spread):
            yield self.finding(
                spot,
                "facts.reconnect",
                f"{clients} clients come back {_within(spread, reconnect)}, but "
                f"accepting them at {show.rate(rate)} takes {show.duration(needed)}",
                severity=Severity.ERROR,
                help=f"spread reconnects over {show.ceil_duration(needed)} with full "
                "jitter",
            )
        elif rate is None and spread == 0:
            yield self.finding(
                spot,
                "facts.reconnect",
                f"{clients} clients that lose their connections together come back "
                f"{_within(spread, reconnect)}",
                help="add jitter: full and a window, and state accept_rate",
            )
        else:
            yield from missing(unknown)


def _within(spread: float, reconnect: ReconnectFacts) -> str:
    if spread > 0:
        return f"within {show.duration(spread)}"
    if not reconnect.delay:
        return "together"
    return f"together after {show.duration(reconnect.delay)}"


def _clients(service: Service, context: Context) -> tuple[int | None, list[str]]:
    """Client processes as far as known, and the facts that could show more of them.

    Those of its operations, or its own if it has none.
    """
    if not service.operations:
        own = service.facts.instances
        return own, [f"{service.name}.facts.instances"] if own is None else []
    known: list[int] = []
    unknown: list[str] = []
    for operation in service.operations.values():
        load = context.traffic.of_operation(operation)
        unknown += load.missing_callers
        if load.callers is not None:
            known.append(load.callers)
    return max(known, default=None), unknown


def _spread(reconnect: ReconnectFacts) -> float:
    """Seconds over which clients come back."""
    if reconnect.window is not None:
        return reconnect.window
    delay = reconnect.delay or 0.0
    kind = reconnect.jitter or "none"
    return _SPREAD[kind] * delay


_SPREAD = {"none": 0.0, "equal": 0.5, "full": 1.0, "decorrelated": 2.0}
"""How much of the delay the first wait varies by (F1): from d/2, 0 or d to d or 3 d."""
