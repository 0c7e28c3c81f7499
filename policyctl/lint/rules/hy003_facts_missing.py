"""HY003: what lint cannot see, and suppressions that do not say why."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint import place, show
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.lint.run import Run
from policyctl.resolve.policy import Service


class FactsMissing(Rule):
    """Facts are missing, or a suppression says no reason.

    What:
        - rules were skipped because a service does not state facts that they need, or
          found something that they could say more exactly with them;
        - a document has no `owner`;
        - a suppression gives no reason (a warning).

    Why:
        A rule without facts stays silent, and silence is easily read as "safe". A
        suppression without a reason outlives everybody who knew it.

    Bad:
        version: 1
        service: rate_api
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {latency: {p50: 80ms, p99: 400ms}}
            attempt_timeout: 500ms
            budget: 3s

    Good:
        version: 1
        service: rate_api
        owner: rate-team
        operations:
          get_rate:
            transport: http
            idempotent: true
            facts: {latency: {p50: 80ms, p99: 400ms}}
            attempt_timeout: 500ms
            budget: 3s

    Fix:
        Add the facts that the message names; start with those that unlock most rules.
        Name an owner. Give each suppression a reason and, better still, a last day.

    False positives:
        Where nobody can know a fact, ignore the rule for the service with that reason.

    References:
        none
    """

    code: ClassVar[str] = "HY003"
    name: ClassVar[str] = "facts-missing"
    severity: ClassVar[Severity] = Severity.INFO

    def check_service(self, service: Service, context: Context) -> Outcomes:
        if not service.owner:
            yield self.finding(
                place.of_service(service),
                "owner",
                f"{service.name} has no owner",
                help="add owner: and the team that answers for this policy",
            )

    def check_run(self, run: Run, context: Context) -> Outcomes:
        for name, facts in run.coverage.by_service().items():
            blind = run.coverage.blind(name)
            yield self._missing_facts(context.project.services[name], facts, blind)
        for suppression in run.suppressions:
            silent = suppression.problem is None and suppression.reason is None
            if silent and suppression.service:
                codes = show.words(suppression.codes)
                yield Diagnostic(
                    self.code,
                    self.name,
                    Severity.WARNING,
                    f"the suppression of {codes} gives no reason",
                    suppression.span,
                    help="say why after the codes, and until when: until=YYYY-MM-DD",
                    policy_path=f"{suppression.service}.{suppression.path}",
                )

    def _missing_facts(
        self,
        service: Service,
        facts: dict[str, tuple[str, ...]],
        blind: frozenset[str],
    ) -> Diagnostic:
        """One finding for a service: the facts that unlock most rules first."""
        ranked = sorted(facts, key=lambda fact: (-len(facts[fact]), fact))
        shown = [
            f"{fact.partition('.')[2]} ({', '.join(facts[fact])})"
            for fact in ranked[:3]
        ]
        more = f", and {len(ranked) - 3} more" if len(ranked) > 3 else ""
        rules = {code for codes in facts.values() for code in codes}
        return self.finding(
            place.of_service(service),
            "facts",
            _unseen(service.name, len(blind), len(rules - blind), len(facts)),
            help=f"add {', '.join(shown)}{more}",
        )


def _unseen(name: str, blind: int, closer: int, facts: int) -> str:
    """How many rules did not look, and how many found something and could say more."""
    want = f"for want of {show.count(facts, 'fact')}"
    if not closer:
        return f"{show.count(blind, 'rule')} could not look at {name} {want}"
    if not blind:
        return f"{show.count(closer, 'rule')} could look closer at {name}, {want}"
    return (
        f"{show.count(blind, 'rule')} could not look at {name}, and {closer} could look "
        f"closer, {want}"
    )
