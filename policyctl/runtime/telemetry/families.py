"""What every metric says at this instant, for whatever exposes it."""

from __future__ import annotations

import sys

from policyctl.runtime.events import EVENTS
from policyctl.runtime.registry import registry
from policyctl.runtime.telemetry import names
from policyctl.runtime.telemetry.queue_numbers import read_queues
from policyctl.runtime.telemetry.switch import SWITCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.telemetry.meter import Reading

    Labels: TypeAlias = tuple[str, ...]
    Histogram: TypeAlias = tuple[list[int], float]


RUNTIME = __name__.rpartition(".telemetry.")[0]
"""The import name of this runtime, which may be a copy inside a generated package."""
_REFUSALS = {"budget_expired": "budget_exhausted"}


class Families:
    """Samples of all metrics.

    Attributes:
        values: by metric name and labels, what counters and gauges say.
        histograms: the buckets, each on its own, and the sum of what was observed.
    """

    def __init__(self) -> None:
        self.values: dict[str, dict[Labels, float]] = {
            metric.name: {} for metric in names.METRICS if metric.kind != "histogram"
        }
        self.histograms: dict[Labels, Histogram] = {}

    def add(self, metric: names.Metric, labels: Labels, value: float) -> None:
        """Add to the sample with these labels."""
        samples = self.values[metric.name]
        shown = tuple(map(printable, labels))
        samples[shown] = samples.get(shown, 0) + value

    def merge(self, other: Families) -> None:
        """Add what another runtime of this process counted."""
        for name, samples in other.values.items():
            into = self.values.setdefault(name, {})
            for labels, value in samples.items():
                into[labels] = into.get(labels, 0) + value
        for labels, (buckets, seconds) in other.histograms.items():
            before = self.histograms.get(labels)
            if before is not None:
                buckets = [a + b for a, b in zip(before[0], buckets, strict=True)]
                seconds += before[1]
            self.histograms[labels] = buckets, seconds


def printable(label: str) -> str:
    """A label's value that can be encoded; escaping it is the exposition's work."""
    return label.encode("utf-8", "backslashreplace").decode("utf-8")


def collect() -> Families:
    """Read everything; nothing of it blocks a guarded call."""
    found = Families()
    for (service, operation), meter in list(SWITCH.meters.items()):
        _add_calls(found, service, operation, meter.read())
    for policy in registry.policies().values():
        if SWITCH.counts(policy.service):
            _add_breaker(found, policy)
            _add_bulkhead(found, policy)
    for (service, operation, old, new), count in list(EVENTS.transitions.items()):
        if SWITCH.counts(service):
            labels = service, operation, old, new
            found.add(names.BREAKER_TRANSITIONS, labels, count)
    _add_queues(found)
    _add_inbound(found)
    for service, beaten in list(SWITCH.beats.items()):
        if SWITCH.counts(service):
            found.add(names.HEARTBEAT, (service,), beaten)
    return found


def _add_calls(found: Families, service: str, operation: str, reading: Reading) -> None:
    labels = service, operation
    for outcome, count in reading.calls.items():
        found.add(names.CALLS, (*labels, outcome), count)
    for metric, counts in (
        (names.RETRIES, reading.retries),
        (names.REJECTED, reading.rejected),
    ):
        for reason, count in counts.items():
            found.add(metric, (*labels, reason), count)
    found.add(names.ATTEMPTS, labels, reading.attempts)
    found.add(names.BUDGET_EXHAUSTED, labels, reading.budget_exhausted)
    shown = printable(service), printable(operation)
    found.histograms[shown] = reading.buckets, reading.seconds


def _add_breaker(found: Families, policy: Policy) -> None:
    block = policy.settings.get("circuit_breaker")
    if block is None:
        return
    labels = _labels(policy, block.scope)
    numbers = policy.circuit_breaker.statistics()
    states: dict[str, int] = numbers.get("states") or {}
    if "keys" not in numbers:
        states = {str(numbers["state"]): 1}
    for state in names.BREAKER_STATES:
        _set(found, names.BREAKER_STATE, (*labels, state), states.get(state, 0))


def _add_bulkhead(found: Families, policy: Policy) -> None:
    block = policy.settings.get("bulkhead")
    if block is None:
        return
    labels, bulkhead = _labels(policy, block.scope), policy.bulkhead
    _set(found, names.IN_USE, labels, bulkhead.in_use)
    _set(found, names.WAITING, labels, bulkhead.waiting)


def _add_inbound(found: Families) -> None:
    """What services do as servers, under the operation ``inbound``."""
    module = sys.modules.get(f"{RUNTIME}.inbound")
    for inbound in () if module is None else list(module._all):
        if not SWITCH.counts(inbound.service):
            continue
        labels, numbers = (inbound.service, "inbound"), inbound.statistics()
        if inbound.waiting is not None:
            found.add(names.IN_USE, labels, numbers["in_use"])
            found.add(names.WAITING, labels, inbound.waiting)
        refused: dict[str, int] = numbers["refused"]
        for reason, count in refused.items():
            shown = _REFUSALS.get(reason, reason)
            found.add(names.REJECTED, (*labels, shown), count)


def _labels(policy: Policy, scope: str) -> Labels:
    """What is shared by a service is shown once, with an empty operation."""
    return policy.service, "" if scope == "service" else policy.operation


def _set(found: Families, metric: names.Metric, labels: Labels, value: float) -> None:
    found.values[metric.name][tuple(map(printable, labels))] = value


def _add_queues(found: Families) -> None:
    for labels, numbers in read_queues(SWITCH.counts).items():
        _set(found, names.QUEUE_DEPTH, labels, numbers.size)
        _set(found, names.QUEUE_OLDEST, labels, numbers.oldest_seconds)
    for labels, count in list(SWITCH.dead_letters.items()):
        if SWITCH.counts(labels[0]):
            found.add(names.DEAD_LETTERS, labels, count)
