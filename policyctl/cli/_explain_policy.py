"""``explain SERVICE[.OPERATION]``: gathers the facts that the pages show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from policyctl import config
from policyctl.cli import (
    _exit,
    _explain_rules,
    _lint,
    _policy_page,
    _session,
)
from policyctl.cli._console import Console
from policyctl.cli._errors import CommandError
from policyctl.cli._explain_rules import Looked
from policyctl.cli._formats import TextOrJson
from policyctl.cli._policy_page import Page
from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint.context import Context
from policyctl.lint.engine import LintSettings, lint
from policyctl.lint.registry import all_rules
from policyctl.reports.report import Report, plural
from policyctl.resolve.policy import Project


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be explained, and from which files."""

    name: str
    paths: tuple[str, ...] = ()
    environment: str | None = None


def explain(console: Console, request: Request, format: TextOrJson) -> int:
    """Print what is in force for a service, an operation or a queue.

    Policies with errors are said so; what could be resolved is explained all the same.

    Raises:
        CommandError: there is nothing of that name.
        ConfigError: the configuration cannot be used.
    """
    loaded = config.load(Path.cwd())
    session = _session.load(loaded, request.paths, environment=request.environment)
    errors = [d for d in session.findings if d.severity is Severity.ERROR]
    service, _, part = request.name.partition(".")
    if service not in session.project.services:
        if errors:
            return _say_errors(console, session, errors, request.name)
        raise _unknown(request.name, session.project)
    page = _page(session.project, service, part)
    looked = _looked(session.project, _lint.settings(loaded, (), ()), page)
    if format is TextOrJson.json:
        document = {
            "version": 1,
            **page.as_json(),
            "missing_facts": looked.missing,
            "rules": looked.as_json(),
        }
        console.write_utf8(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        text = _policy_page.as_text(page, looked, console.color, console.width)
        console.write(text)
    if errors:
        number = plural(len(errors), "error")
        console.note(f"note: {number} in other policies; run policyctl validate")
    return _exit.CLEAN


def _looked(project: Project, settings: LintSettings, page: Page) -> Looked:
    """What lint says about the page's service, or the one part of it."""
    prefix = page.service.name
    if not page.whole:
        names = [f"operations.{item.name}" for item in page.operations]
        names += [f"queues.{item.name}" for item in page.queues]
        prefix = f"{prefix}.{names[0]}"
    every = sorted(rule.code for rule in (*all_rules(), *settings.extra))
    return _explain_rules.build(lint(project, settings), prefix, tuple(every))


def _page(project: Project, service: str, part: str) -> Page:
    """The page of a service or of one part of it."""
    found = project.services[service]
    context = Context(project)
    if not part:
        parts = tuple(found.operations.values()), tuple(found.queues.values())
        return Page(found, *parts, context, whole=True)
    if part in found.operations:
        return Page(found, (found.operations[part],), (), context)
    if part in found.queues:
        return Page(found, (), (found.queues[part],), context)
    raise _unknown(f"{service}.{part}", project)


def _say_errors(
    console: Console,
    session: _session.Session,
    found: Sequence[Diagnostic],
    name: str,
) -> int:
    """Show why the asked service may be missing."""
    report = Report.of(found, session.sources(found), files=session.reported_files)
    console.write_report(report)
    console.error(f"there is no {name} among the policies without errors")
    return _exit.code_for(found, Severity.ERROR)


def _unknown(name: str, project: Project) -> CommandError:
    """The error for a name that nothing has."""
    names = [
        full
        for service in project.services.values()
        for full in (
            service.name,
            *(
                f"{service.name}.{part}"
                for part in (*service.operations, *service.queues)
            ),
        )
    ]
    near = get_close_matches(name, names, 1)
    if near:
        hint = f"did you mean {near[0]}?"
    elif names:
        hint = f"the services are {', '.join(list(project.services)[:8])}"
    else:
        hint = "policyctl rules lists the rules"
    return CommandError(f"there is no rule, service or operation {name}", hint)
