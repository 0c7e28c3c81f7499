"""CB008: one lucky probe closes the circuit."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.circuits import grows
from policyctl.lint.context import Context, Site
from policyctl.lint.formulas.breaker import false_close
from policyctl.lint.rule import Outcomes, Rule


class OneProbeCloses(Rule):
    """One good probe closes the circuit at full load.

    What:
        `success_threshold` is 1 and `recovery_timeout` does not grow from one opening to
        the next. For services marked `critical` it is a warning, else info.

    Why:
        If half of the calls still fail, one probe closes the circuit with a chance of
        50 %, three only with 12.5 %. The full load returns to a callee that cannot take
        it, and the circuit flaps.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker: {success_threshold: 1}

    Good:
        version: 1
        service: search_api
        owner: search-team
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker:
              success_threshold: 3
              recovery_timeout: {initial: 5s, multiplier: 2, max: 1m}

    Fix:
        Set `success_threshold: 3`, or let `recovery_timeout` grow.

    False positives:
        Callees that are either up or down, such as a single primary.

    References:
        resilience4j documentation, CircuitBreaker
    """

    code: ClassVar[str] = "CB008"
    name: ClassVar[str] = "one-probe-closes"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        breaker = site.policy.circuit_breaker
        if breaker is None or breaker.mode == "disabled":
            return
        if breaker.success_threshold > 1 or grows(breaker.recovery_timeout):
            return
        critical = context.project.services[site.policy.service].critical
        one, three = false_close(0.5, 1), false_close(0.5, 3)
        yield self.finding(
            site.place,
            "circuit_breaker.success_threshold",
            "one good probe closes the circuit: if half of the calls still fail, that "
            f"happens with a chance of {show.ratio(one)} (three: {show.ratio(three)})",
            severity=None if critical else Severity.INFO,
            help="set success_threshold: 3, or recovery_timeout: "
            "{initial: 5s, multiplier: 2, max: 1m}",
            fix=mend.set_value(
                site.place, "circuit_breaker.success_threshold", "3", safe=False
            ),
        )
