"""TL001: retries and circuit breakers that nobody sees at work."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place, show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Operation, Service


class RetriesInvisible(Rule):
    """Retries or circuit breakers work without metrics.

    What:
        A service has operations that retry or have a circuit breaker, and
        `telemetry.metrics` is not set. For services marked `critical` it is a warning,
        else info.

    Why:
        Retries hide failures until they no longer can. In several outages, graphs of
        retries were taken for a symptom, because nobody had seen them before.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        critical: true
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 4s
            retry: {max_attempts: 3}

    Good:
        version: 1
        service: search_api
        owner: search-team
        critical: true
        telemetry: {metrics: prometheus}
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 4s
            retry: {max_attempts: 3}

    Fix:
        Set `telemetry: {metrics: prometheus}`, and alert on circuits
        that are open for five minutes.

    False positives:
        Platforms that export these metrics by themselves.

    References:
        Site Reliability Engineering, chapter 22, Addressing Cascading Failures
    """

    code: ClassVar[str] = "TL001"
    name: ClassVar[str] = "retries-invisible"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_service(self, service: Service, context: Context) -> Outcomes:
        if service.telemetry.metrics is not None:
            return
        silent = [op.name for op in service.operations.values() if _works(op)]
        if not silent:
            return
        names = silent if len(silent) <= 3 else [*silent[:2], f"{len(silent) - 2} more"]
        yield self.finding(
            place.of_service(service),
            "telemetry.metrics",
            f"retries or circuit breakers of {show.words(names)} leave no metrics",
            severity=None if service.critical else Severity.INFO,
            help="set telemetry: {metrics: prometheus}",
        )


def _works(operation: Operation) -> bool:
    retry = operation.retry
    retries = retry is not None and retry.max_attempts != 1
    return retries or operation.circuit_breaker is not None
