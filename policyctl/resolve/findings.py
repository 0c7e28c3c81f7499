"""Make located findings about settings of a resolved tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policyctl.diagnostics import Diagnostic, Related, Severity, Span
from policyctl.resolve.codes import CODES
from policyctl.resolve.tree import Block
from policyctl.source.nodes import NodePath


def finding(
    code: str,
    message: str,
    span: Span,
    *,
    help: str,
    related: Sequence[Related] = (),
    path: str = "",
    severity: Severity = Severity.ERROR,
) -> Diagnostic:
    """Return a finding of this step; its name comes from the table of codes."""
    return Diagnostic(
        code=code,
        name=CODES[code][0],
        severity=severity,
        message=message,
        span=span,
        related=tuple(related),
        help=help,
        policy_path=path,
    )


@dataclass(frozen=True, slots=True)
class Subject:
    """An operation, queue or service under examination.

    ``path`` is its dotted policy path, ``span`` the place of its key, ``tree`` its
    filled settings, ``base`` the path of that tree below the layers that it is made of
    (an operation's layers begin at the operation, a queue's at the service).
    """

    path: str
    span: Span
    tree: Block
    base: NodePath = ()

    def place(self, at: NodePath) -> Span:
        """The place of the setting at ``at``, or of the nearest one that has a place."""
        for length in range(len(at), -1, -1):
            span = self.tree.origin(at[:length], self.base).span
            if span is not None:
                return span
        return self.span

    def builtin(self, at: NodePath) -> str:
        """Words that mark a value nobody wrote; empty for one that was written."""
        found = self.tree.origin(at, self.base).span is None
        return " (the built-in default)" if found else ""

    def related(self, at: NodePath, message: str) -> Related:
        """The setting at ``at`` as the second place of a finding."""
        return Related(self.place(at), message)

    def error(
        self,
        code: str,
        message: str,
        at: NodePath,
        *,
        help: str,
        related: Sequence[Related] = (),
    ) -> Diagnostic:
        """Return an error about the setting at ``at``."""
        path = ".".join((self.path, *map(str, at)))
        return finding(
            code, message, self.place(at), help=help, related=related, path=path
        )
