"""Run the rules over a project."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.lint import coverage, suppressions
from policyctl.lint.context import Context, Site
from policyctl.lint.coverage import Coverage, Skipped
from policyctl.lint.registry import all_rules, matches
from policyctl.lint.rule import Missing, Outcomes, Rule
from policyctl.lint.run import Run
from policyctl.lint.setting import SettingError
from policyctl.resolve.policy import Project

INTERNAL_ERROR = "LN001"


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What to run and how; the fields are those of the configuration.

    Attributes:
        select: codes, names or beginnings of codes to run; empty means all.
        ignore: codes, names or beginnings of codes not to run; it wins.
        severity: severities that replace those of rules, by code or name.
        thresholds: settings of rules, by code or name, then by setting.
        unsuppressible: codes or names that no comment or list entry may hide.
        today: the date that expiry is measured against.
        extra: rules of the user's own, run like the built-in ones.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])
    thresholds: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]]
    )
    unsuppressible: tuple[str, ...] = ()
    today: date = field(default_factory=date.today)
    extra: tuple[type[Rule], ...] = ()


@dataclass(frozen=True, slots=True)
class LintResult:
    """Findings in report order, suppressed ones included and marked, and coverage."""

    diagnostics: tuple[Diagnostic, ...]
    coverage: Coverage

    @property
    def failed(self) -> bool:
        """Whether a rule crashed, so that the run cannot be relied on (exit 2)."""
        return any(d.code == INTERNAL_ERROR for d in self.diagnostics)


def prepare(settings: LintSettings) -> tuple[Rule, ...]:
    """The rules to run, with their thresholds.

    Raises:
        SettingError: a threshold that its rule does not have or take.
    """
    chosen: list[Rule] = []
    for rule in (*all_rules(), *settings.extra):
        selected = not settings.select or _any_matches(rule, settings.select)
        thresholds = {
            key: value
            for name in (rule.code, rule.name)
            for key, value in settings.thresholds.get(name, {}).items()
        }
        ready = rule(thresholds)
        if selected and not _any_matches(rule, settings.ignore):
            chosen.append(ready)
    return tuple(sorted(chosen, key=lambda rule: rule.code))


def _any_matches(rule: type[Rule], patterns: tuple[str, ...]) -> bool:
    return any(matches(rule, pattern) for pattern in patterns)


def lint(project: Project, settings: LintSettings | None = None) -> LintResult:
    """Run the rules over all services; report on those that the user asked about.

    What house rules print goes to standard error: the report is on standard output.

    Raises:
        SettingError: see :func:`prepare`.
    """
    settings = LintSettings() if settings is None else settings
    rules = prepare(settings)
    collector = _Collector(project, rules, settings)
    with redirect_stdout(sys.stderr) if settings.extra else nullcontext():
        collector.look_at_policies()
        collector.look_at_run()
    found = sorted(collector.findings, key=lambda finding: finding.sort_key)
    return LintResult(tuple(found), collector.coverage())


class _Collector:
    """Gathers what the rules yield in one run."""

    def __init__(
        self, project: Project, rules: tuple[Rule, ...], settings: LintSettings
    ) -> None:
        self.project = project
        self.rules = rules
        self.settings = settings
        self.context = Context(project)
        self.findings: list[Diagnostic] = []
        self.skipped: set[Skipped] = set()
        self.crashed: set[str] = set()
        self._coverage: Coverage | None = None
        self.known = {
            word: rule.code
            for rule in (*all_rules(), *settings.extra)
            for word in (rule.code, rule.name)
        }
        hidden_never = {self.known.get(word) for word in settings.unsuppressible}
        self.unsuppressible = frozenset(
            word
            for word, code in self.known.items()
            if code in hidden_never or code.startswith("SU")
        )

    def coverage(self) -> Coverage:
        """Which rules ran and what they lacked."""
        if self._coverage is None or len(self._coverage.skipped) != len(self.skipped):
            codes = (rule.code for rule in self.rules)
            self._coverage = coverage.build(codes, self.skipped)
        return self._coverage

    def look_at_policies(self) -> None:
        """Run the hooks that look at policies, rule by rule."""
        reported = self.project.reported
        context = self.context
        services = [s for n, s in self.project.services.items() if n in reported]
        sites = [site for site in context.sites if site.service.name in reported]
        queues = [site for site in context.queues if site.service.name in reported]
        edges = [e for e in context.graph.edges() if e.service.name in reported]
        for rule in self.rules:
            self._check_operations(rule, sites)
            self._each(rule, "check_edge", edges)
            self._each(rule, "check_queue", queues)
            self._each(rule, "check_service", services)
            if _overrides(rule, "check_project"):
                self._take(rule, partial(rule.check_project, context))

    def look_at_run(self) -> None:
        """Run the hooks that look at the run, and apply suppressions between them."""
        found = suppressions.collect(self.project)
        for rule in self.rules:
            if _overrides(rule, "check_run"):
                run = self._run(found)
                self._take(rule, partial(rule.check_run, run, self.context))
        today = self.settings.today
        self.findings = list(
            suppressions.apply(self.findings, found, self.unsuppressible, today)
        )
        run = self._run(found)
        for rule in self.rules:
            if _overrides(rule, "check_suppressions"):
                look = partial(rule.check_suppressions, run, self.context)
                self._take(rule, look)

    def _run(self, found: tuple[suppressions.Suppression, ...]) -> Run:
        codes = {rule.code for rule in self.rules}
        return Run(
            tuple(self.findings),
            found,
            self.coverage(),
            frozenset(self.known),
            {word: code for word, code in self.known.items() if code in codes},
            self.unsuppressible,
            frozenset(self.crashed),
            self.settings.today,
        )

    def _check_operations(self, rule: Rule, sites: list[Site]) -> None:
        self._each(rule, "check_operation", [s for s in sites if s.edge is None])
        if _overrides(rule, "check_operation"):
            for site in sites:
                if site.edge is not None:
                    self._take(rule, partial(_own, rule, site, self.context))

    def _each(self, rule: Rule, hook: str, items: Iterable[Any]) -> None:
        if not _overrides(rule, hook):
            return
        check: Callable[[Any, Context], Outcomes] = getattr(rule, hook)
        self._take(rule, partial(_chain, check, items, self.context))

    def _take(self, rule: Rule, look: Callable[[], Outcomes]) -> None:
        """Collect outcomes; a rule that raises is reported once and stops."""
        if rule.code in self.crashed:
            return
        try:
            for outcome in look():
                if isinstance(outcome, Missing):
                    if outcome.fact.partition(".")[0] in self.project.reported:
                        skip = Skipped(outcome.fact, rule.code, outcome.closer)
                        self.skipped.add(skip)
                elif outcome.policy_path.partition(".")[0] in self.project.reported:
                    self.findings.append(self._overridden(rule, outcome))
        except Exception as error:
            self.crashed.add(rule.code)
            self.findings.append(_internal_error(rule, error))

    def _overridden(self, rule: Rule, finding: Diagnostic) -> Diagnostic:
        for key in (rule.code, rule.name):
            severity = self.settings.severity.get(key)
            if severity is not None:
                return replace(finding, severity=severity)
        return finding


def _own(rule: Rule, site: Site, context: Context) -> Iterator[Any]:
    """What a rule says of an override and does not say of the operation itself."""
    base = context.base_of(site)
    known = () if base is None else tuple(rule.check_operation(base, context))
    said = {found.message for found in known if isinstance(found, Diagnostic)}
    for outcome in _weighed(rule.check_operation(site, context)):
        if not isinstance(outcome, Diagnostic) or outcome.message not in said:
            yield outcome


def _chain(
    check: Callable[[Any, Context], Outcomes], items: Iterable[Any], context: Context
) -> Iterator[Any]:
    for item in items:
        yield from _weighed(check(item, context))


def _weighed(outcomes: Outcomes) -> Iterator[Any]:
    """The outcomes of one place, what is missing last: with a finding, only exactness."""
    lacking: list[Missing] = []
    found = False
    for outcome in outcomes:
        if isinstance(outcome, Missing):
            lacking.append(outcome)
        else:
            found = True
            yield outcome
    for outcome in lacking:
        yield replace(outcome, closer=found)


def _overrides(rule: Rule, hook: str) -> bool:
    return getattr(type(rule), hook) is not getattr(Rule, hook)


def _internal_error(rule: Rule, error: Exception) -> Diagnostic:
    """A crash as a finding: the error and its line, without a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}"
    text = f"{type(error).__name__} at {place}: {error}"
    return Diagnostic(
        INTERNAL_ERROR,
        "internal-error",
        Severity.ERROR,
        f"rule {rule.code} failed and was stopped: {text}",
        _line_of(frames[-1]),
        help=f'this is a bug of the rule; ignore = ["{rule.code}"] runs without it',
    )


def _line_of(frame: traceback.FrameSummary) -> Span:
    """The line that failed, where it lies below the working directory."""
    path = PurePath(frame.filename)
    here = Path.cwd()
    if not path.is_relative_to(here):
        return Span("")
    line = frame.lineno or 1
    return Span(path.relative_to(here).as_posix(), line, 1, line, 1)


__all__ = [
    "INTERNAL_ERROR",
    "LintResult",
    "LintSettings",
    "SettingError",
    "lint",
    "prepare",
]
