"""The base class of lint rules."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from policyctl.diagnostics import Diagnostic, Fix, Related, Severity
from policyctl.lint.place import Place
from policyctl.lint.setting import Setting, SettingError

if TYPE_CHECKING:
    from policyctl.lint.context import Context, QueueSite, Site
    from policyctl.lint.graph import Edge
    from policyctl.lint.run import Run
    from policyctl.resolve.policy import Service


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that a rule needed and that nobody stated, by its dotted policy path.

    ``closer`` is set by the engine where the rule found something all the same.
    """

    fact: str
    closer: bool = False


Outcome = Diagnostic | Missing
Outcomes = Iterable[Outcome]
At = tuple[str, str]


class Rule:
    """One rule: a subclass in a file of ``policyctl/lint/rules`` named after it.

    A rule overrides the hook of the level that it looks at and yields findings, and
    ``Missing`` for facts that it would need to decide. The class docstring is its
    documentation, in the sections that :mod:`policyctl.lint.explain` describes.

    Attributes:
        code: two letters and three digits; never reused.
        name: kebab-case; the file is called ``<code>_<name>.py`` in snake case.
        severity: the severity that most findings have.
        facts: the facts that it reads, as the language reference names them.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    facts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Mapping[str, object] | None = None) -> None:
        """Take thresholds of the configuration.

        Raises:
            SettingError: a threshold that the rule does not have, or a bad value.
        """
        if not settings:
            return
        known = self.settings()
        for key, value in settings.items():
            name = key.replace("-", "_")
            if name not in known:
                raise SettingError(_unknown(self.code, key, known))
            try:
                setattr(self, name, value)
            except SettingError as error:
                raise SettingError(f"{self.code}.{key}: {error}") from None

    @classmethod
    def settings(cls) -> dict[str, Setting[object]]:
        """The thresholds by name."""
        if cls not in _SETTINGS:
            found = inspect.getmembers_static(cls, lambda v: isinstance(v, Setting))
            _SETTINGS[cls] = dict(found)
        return dict(_SETTINGS[cls])

    @classmethod
    def summary(cls) -> str:
        """The first line of the documentation."""
        return (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        """Look at one operation, or at one caller's override of it."""
        return ()

    def check_edge(self, edge: Edge, context: Context) -> Outcomes:
        """Look at one call between services."""
        return ()

    def check_queue(self, site: QueueSite, context: Context) -> Outcomes:
        """Look at one queue."""
        return ()

    def check_service(self, service: Service, context: Context) -> Outcomes:
        """Look at one service document."""
        return ()

    def check_project(self, context: Context) -> Outcomes:
        """Look at all services together."""
        return ()

    def check_run(self, run: Run, context: Context) -> Outcomes:
        """Look at what the other rules could not see, and at suppressions."""
        return ()

    def check_suppressions(self, run: Run, context: Context) -> Outcomes:
        """Look at suppressions once it is known which ones hid something."""
        return ()

    def finding(
        self,
        place: Place,
        at: str,
        message: str,
        *,
        help: str,
        severity: Severity | None = None,
        also: Sequence[At | Related] = (),
        fix: Fix | None = None,
    ) -> Diagnostic:
        """Return a finding about the setting ``at`` of ``place``.

        ``also`` lists further places: related spans, or settings of the same place
        with a few words on their part.
        """
        span, related = place.locate(at)
        shown = list(related)
        for item in also:
            if isinstance(item, Related):
                shown.append(item)
            else:
                shown.append(Related(place.span_of(item[0]), item[1]))
        return Diagnostic(
            self.code,
            self.name,
            self.severity if severity is None else severity,
            message,
            span,
            related=tuple(dict.fromkeys(r for r in shown if r.span != span)),
            help=help,
            policy_path=place.join(at),
            fix=fix,
        )


_SETTINGS: dict[type[Rule], dict[str, Setting[object]]] = {}


def missing(facts: Iterable[str]) -> Iterator[Missing]:
    """One ``Missing`` for each dotted path."""
    return map(Missing, facts)


def _unknown(code: str, key: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(key, known, 1)
    if near:
        return f"{code} has no setting {key!r}; did you mean {near[0]}?"
    if known:
        return f"{code} has no setting {key!r}; it has {', '.join(known)}"
    return f"{code} has no setting {key!r}, and no settings at all"
