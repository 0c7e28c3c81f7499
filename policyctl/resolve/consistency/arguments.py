"""Arguments that a target does not take, and targets that cannot be guarded so."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.findings import Subject


def check(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check argument names against the target's parameters, where they can be read."""
    yield from ()
