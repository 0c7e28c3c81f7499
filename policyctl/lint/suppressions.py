"""Comments and list entries that hide findings.

``# policyctl: ignore[RT001] reason until=2026-12-31`` stands on the line of a key, or on
a line of its own above it, and covers that key's whole value. The ``ignore:`` list
of a document covers what lies at or below its ``at``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from policyctl.diagnostics import Diagnostic, Span, Suppressed
from policyctl.lint.attach import Anchor, anchor_of
from policyctl.lint.coverage import is_below
from policyctl.resolve.policy import Ignore, Project, Service
from policyctl.source.nodes import Comment, Document, MappingNode

_MARK = re.compile(r"#+\s*policyctl\b\s*(?::\s*|(?=ignore\b|disable\b))", re.IGNORECASE)
_WORDS = ("policyctl", "Policyctl", "POLICYCTL")
_FORM = re.compile(r"ignore\s*\[([^\]]*)\]\s*(.*)", re.DOTALL)
_UNTIL = re.compile(r"(?:^|\s)until\s*=\s*(\S+)")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment or list entry.

    Attributes:
        service: the service of its document; empty for a preset.
        codes: codes or names as written; empty where the form is not understood.
        reason: why; None when nothing is said.
        until: the last day it holds; None for ever.
        span: the comment, or the entry.
        anchor: what a comment covers; None where it stands beside nothing.
        at: the policy path that a list entry covers; None for a comment.
        problem: what is wrong with its form, or None.
        dangling: whether ``at`` names an operation or a queue that does not exist.
    """

    service: str
    codes: tuple[str, ...]
    reason: str | None
    until: date | None
    span: Span
    anchor: Anchor | None = None
    at: str | None = None
    problem: str | None = None
    dangling: bool = False

    @property
    def path(self) -> str:
        """Its own dotted path below the service, for findings about it."""
        if self.anchor is not None:
            return self.anchor.path
        return "ignore" if self.at is not None else "comments"

    @property
    def scope(self) -> str:
        """The policy path that it covers; empty where it covers nothing."""
        if self.at is not None:
            return self.at
        return "" if self.anchor is None else f"{self.service}.{self.anchor.path}"

    def expired(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and self.until < today

    def covers(self, finding: Diagnostic) -> bool:
        """Whether it names the finding's rule and stands where the finding is."""
        if finding.code not in self.codes and finding.name not in self.codes:
            return False
        if self.at is not None:
            return is_below(finding.policy_path, self.at)
        if self.anchor is None:
            return False
        if not self.service:
            places = (finding.span, *(related.span for related in finding.related))
            return any(self.anchor.holds(place) for place in places)
        below = is_below(finding.policy_path, self.scope)
        return below or self.anchor.holds(finding.span)

    def hide(self, finding: Diagnostic) -> Diagnostic:
        """Return the finding marked as suppressed."""
        return finding.hidden_by(
            Suppressed(self.reason or "no reason given", self.span)
        )


def collect(project: Project) -> tuple[Suppression, ...]:
    """All suppressions of the reported services and of every preset, in file order."""
    found: list[Suppression] = []
    for service in project.services.values():
        if service.name in project.reported:
            found.extend(_of_service(service))
    for document in project.documents:
        if isinstance(document.root, MappingNode) and document.root.get("preset"):
            found.extend(comments(document, ""))
    return tuple(found)


def _of_service(service: Service) -> Iterator[Suppression]:
    yield from comments(service.document, service.name)
    for ignore in service.ignores:
        yield _entry(ignore, service)


def _entry(ignore: Ignore, service: Service) -> Suppression:
    until, problem = _date(ignore.until)
    at = f"{service.name}.{ignore.at}" if ignore.at else service.name
    return Suppression(
        service.name,
        (ignore.rule,),
        (ignore.reason or "").strip() or None,
        until,
        ignore.span,
        at=at,
        problem=problem,
        dangling=_dangles(ignore.at, service),
    )


def _dangles(at: str | None, service: Service) -> bool:
    """Whether a path leads to an operation or a queue that the service does not have."""
    kind, _, rest = (at or "").partition(".")
    name = re.split(r"[.\[]", rest, maxsplit=1)[0]
    if kind == "operations":
        return bool(name) and name not in service.operations
    return kind == "queues" and bool(name) and name not in service.queues


def comments(document: Document, service: str) -> Iterator[Suppression]:
    """The suppressions among a document's comments."""
    text = document.source.text
    if not any(word in text for word in _WORDS):
        return
    for comment in document.comments:
        mark = _MARK.match(comment.text)
        if mark is not None:
            rest = comment.text[mark.end() :]
            yield _comment(document, service, comment, rest)


def _comment(
    document: Document, service: str, comment: Comment, text: str
) -> Suppression:
    span = document.source.span(comment.start, comment.end)
    form = _FORM.match(text)
    if form is None:
        flaw = "names no rule" if text.startswith("ignore") else "is not understood"
        return Suppression(service, (), None, None, span, problem=flaw)
    codes = tuple(code.strip() for code in form[1].split(",") if code.strip())
    stated = _UNTIL.search(form[2])
    until, problem = _date(stated[1] if stated else None)
    reason = _UNTIL.sub("", form[2]).strip(" \t-–—:#")
    if not codes:
        problem = "names no rule"
    anchor = anchor_of(document, comment)
    return Suppression(
        service, codes, reason or None, until, span, anchor, problem=problem
    )


def _date(text: str | None) -> tuple[date | None, str | None]:
    """The date, or what is wrong with it."""
    if text is None:
        return None, None
    try:
        return date.fromisoformat(text), None
    except ValueError:
        return None, f"has {text!r} as its last day, which is no date"


def apply(
    findings: Iterable[Diagnostic],
    suppressions: Iterable[Suppression],
    unsuppressible: frozenset[str],
    today: date,
) -> tuple[Diagnostic, ...]:
    """Mark each finding that a valid suppression covers; the first one answers."""
    valid: dict[str, list[Suppression]] = {}
    for suppression in suppressions:
        if suppression.problem is None and not suppression.expired(today):
            for code in suppression.codes:
                valid.setdefault(code, []).append(suppression)
    marked: list[Diagnostic] = []
    for finding in findings:
        candidates = [*valid.get(finding.code, ()), *valid.get(finding.name, ())]
        if finding.code in unsuppressible:
            candidates = []
        hiding = next((s for s in candidates if s.covers(finding)), None)
        marked.append(finding if hiding is None else hiding.hide(finding))
    return tuple(marked)
