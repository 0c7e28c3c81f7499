"""How many workers of a caller a callee binds that hangs (formula F9 and bulkheads)."""

from __future__ import annotations

from dataclasses import dataclass

from policyctl.lint import show
from policyctl.lint.formulas.concurrency import in_flight
from policyctl.resolve.policy import Operation


@dataclass(frozen=True, slots=True)
class Hanging:
    """Calls of one process that hang at once, and the product that says so."""

    calls: float
    text: str

    def share(self, workers: int) -> float:
        """The share of the workers that they bind, at most all."""
        return min(1.0, self.calls / workers)


def hanging(policy: Operation, per_client: float, attempt: float) -> Hanging:
    """Calls in flight if the callee hangs: ``lam_i x t``, at most those with a slot.

    ``per_client`` is calls per second of one process, ``attempt`` the seconds until an
    attempt is given up.
    """
    calls = in_flight(per_client, attempt)
    text = f"{show.rate(per_client)} x {show.duration(attempt)} = {show.number(calls)} calls"
    bulkhead = policy.bulkhead
    if (
        bulkhead is None
        or bulkhead.mode != "enforce"
        or bulkhead.max_concurrent >= calls
    ):
        return Hanging(calls, text)
    slots = bulkhead.max_concurrent
    return Hanging(float(slots), f"{slots} calls with a slot of its bulkhead")
