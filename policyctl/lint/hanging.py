"""How many workers of a caller a callee binds that hangs (formula F9 and bulkheads)."""

from __future__ import annotations

from dataclasses import dataclass

from policyctl.lint import show
from policyctl.lint.formulas.concurrency import in_flight
from policyctl.lint.graph import Edge
from policyctl.resolve.policy import Operation


@dataclass(frozen=True, slots=True)
class Hanging:
    """Calls of one process that hang at once, and the product that says so.

    Calls that a request makes beside each other hold its one worker and count once.
    """

    calls: float
    text: str

    def share(self, workers: int) -> float:
        """The share of the workers that they bind, at most all."""
        return min(1.0, self.calls / workers)


def sharing(edge: Edge) -> float:
    """Calls of one request that hold one worker together: those made in parallel."""
    if edge.call is None or edge.call.mode != "parallel":
        return 1.0
    return max(1.0, edge.per_request)


def hanging(
    policy: Operation, per_client: float, attempt: float, together: float = 1.0
) -> Hanging:
    """Calls in flight if the callee hangs: ``lam_i x t``, at most those with a slot.

    ``per_client`` is calls per second of one process, ``attempt`` the seconds until an
    attempt is given up, ``together`` the calls of one request (:func:`sharing`).
    """
    each = per_client / together
    calls, unit = in_flight(each, attempt), "requests" if together > 1 else "calls"
    text = f"{show.rate(each)} x {show.duration(attempt)} = {show.number(calls)} {unit}"
    bulkhead = policy.bulkhead
    if (
        bulkhead is None
        or bulkhead.mode != "enforce"
        or bulkhead.max_concurrent >= calls
    ):
        return Hanging(calls, text)
    slots = bulkhead.max_concurrent
    return Hanging(float(slots), f"{slots} calls with a slot of its bulkhead")
