"""``policyctl generate --print-context``: what templates get for one service."""

from __future__ import annotations

import json
from pathlib import Path

from policyctl import config
from policyctl.checks.references import nearest
from policyctl.cli import _exit, _generation, _session
from policyctl.cli._console import Console
from policyctl.cli._errors import UsageError
from policyctl.diagnostics import has_errors
from policyctl.generate.literals import UnprintableError
from policyctl.generate.show import contexts


def print_context(console: Console, request: _generation.Request, service: str) -> int:
    """Print the contexts as JSON; return the exit code.

    Raises:
        ConfigError: the configuration cannot be used.
        UsageError: there is no such service, or an option has a wrong value.
    """
    loaded = config.load(Path.cwd())
    session = _session.load(
        loaded, request.paths, environment=request.environment, whole=True
    )
    options = _generation.options_of(request, loaded, session)
    outcome = _generation.Outcome(
        options.output.as_posix(),
        findings=session.findings,
        sources=session.sources(session.findings),
        files=session.reported_files,
    )
    if has_errors(session.findings):
        return _generation.print_findings(console, outcome)
    names = session.project.services
    if service not in names:
        near = nearest(service, names)
        there = "the service is" if len(names) == 1 else "the services are"
        listed = f"{there} {', '.join(sorted(names))}"
        hint = f"did you mean {near}?" if near else listed
        raise UsageError(f"there is no service {service!r}", hint)
    try:
        found = contexts(session.project, service, options)
    except UnprintableError as error:
        raise UsageError(f"the context cannot be printed: {error}", None) from None
    data = {"version": 1, "service": service, "templates": found}
    console.write(json.dumps(data, indent=2) + "\n")
    return _exit.CLEAN
