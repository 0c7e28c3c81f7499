"""Lint a YAML text in a test, for rules of ours and of users."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from textwrap import dedent, indent

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint.engine import INTERNAL_ERROR, LintResult, LintSettings, lint
from policyctl.lint.rule import Rule
from policyctl.resolve.policy import Project
from policyctl.resolve.project import InputFile, Inputs, load_project

TODAY = date(2026, 6, 1)
"""The day that suppressions are measured against, unless a test says otherwise."""


def operation_yaml(settings: str, service: str = "") -> str:
    """A document of one operation, ``payment_api.charge``, with these settings.

    ``service`` holds further keys of the document. Settings begin on line 6 if it is
    empty, and in column 5.
    """
    head = "version: 1\nservice: payment_api\nowner: payments-team\n"
    keys = dedent(service).strip("\n")
    body = indent(dedent(settings).strip("\n"), "    ")
    middle = f"{keys}\n" if keys else ""
    return f"{head}{middle}operations:\n  charge:\n{body}\n"


def load_yaml(text: str, files: Mapping[str, str] | None = None) -> Project:
    """Resolve policies given as text; ``files`` are further ones, by path, as context.

    Raises:
        ValueError: a text is not a valid policy; the findings are in the message.
    """
    inputs = [InputFile("policy.yaml", text.encode())]
    for path, other in (files or {}).items():
        inputs.append(InputFile(path, other.encode(), reported=False))
    loaded = load_project(Inputs(tuple(inputs)))
    errors = [d for d in loaded.diagnostics if d.severity is Severity.ERROR]
    if errors:
        raise ValueError("; ".join(f"{d.span}: {d.code} {d.message}" for d in errors))
    return loaded.project


def run_yaml(
    text: str,
    *select: str,
    files: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, object]] | None = None,
    severity: Mapping[str, Severity] | None = None,
    ignore: tuple[str, ...] = (),
    unsuppressible: tuple[str, ...] = (),
    extra: tuple[type[Rule], ...] = (),
    today: date = TODAY,
) -> LintResult:
    """Lint policies given as text with the rules that ``select`` names, or with all."""
    settings = LintSettings(
        select=select,
        ignore=ignore,
        severity=severity or {},
        thresholds=thresholds or {},
        unsuppressible=unsuppressible,
        today=today,
        extra=extra,
    )
    return lint(load_yaml(text, files), settings)


def lint_yaml(
    text: str,
    *select: str,
    files: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, object]] | None = None,
    extra: tuple[type[Rule], ...] = (),
    today: date = TODAY,
) -> list[Diagnostic]:
    """The findings of :func:`run_yaml` that no suppression hides, in report order.

    Raises:
        RuntimeError: a rule crashed.
    """
    result = run_yaml(
        text, *select, files=files, thresholds=thresholds, extra=extra, today=today
    )
    if result.failed:
        crashes = (d.message for d in result.diagnostics if d.code == INTERNAL_ERROR)
        raise RuntimeError("; ".join(crashes))
    return [d for d in result.diagnostics if d.suppressed is None]
