"""Follow the names that one policy has for another's operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from policyctl.checks.references import nearest
from policyctl.diagnostics import Diagnostic, Related, Span
from policyctl.resolve.collect import Broken
from policyctl.resolve.findings import finding


class References:
    """Tells whether ``service.operation`` exists, and what to say when it does not.

    ``operations`` maps each service with a valid document to the operations it
    declares; ``broken`` are services whose documents have errors. With ``anonymous``
    some unreadable file may declare any service.
    """

    def __init__(
        self,
        operations: Mapping[str, Iterable[str]],
        broken: Mapping[str, Broken],
        anonymous: bool,
    ):
        self._operations = {name: frozenset(ops) for name, ops in operations.items()}
        self._broken = broken
        self._anonymous = anonymous

    def check(
        self, target: str, place: Callable[[], Span], path: str
    ) -> Diagnostic | None:
        """Return a finding when ``target`` does not exist, else None.

        ``place``, which is asked for a finding alone, and ``path`` are those of the
        reference. A service in a reported
        file with errors gives no finding: its own errors are shown already.
        """
        owner, _, operation = target.partition(".")
        if operation in self._operations.get(owner, ()):
            return None
        broken = self._broken.get(owner)
        if owner not in self._operations and broken is not None:
            if broken.reported:
                return None
            return unreadable(target, broken, place(), path)
        if owner not in self._operations and self._anonymous:
            return None
        return self._unknown(target, place(), path)

    def _unknown(self, target: str, span: Span, path: str) -> Diagnostic:
        owner, _, operation = target.partition(".")
        known = self._operations.get(owner)
        if known is None:
            what = f"there is no service {owner!r}"
        elif known:
            what = f"service {owner} has no operation {operation!r}"
        else:
            what = f"service {owner} has no operations"
        return finding(
            "VA106",
            f"{what}, named by {target!r}",
            span,
            help=self._hint(owner, operation),
            path=path,
        )

    def _hint(self, owner: str, operation: str) -> str:
        known = self._operations.get(owner)
        if known is not None:
            near = nearest(operation, known)
            if near:
                return f"did you mean {owner}.{near}?"
            if known:
                return f"operations of {owner} are {', '.join(sorted(known))}"
            return f"declare {operation} under operations of {owner}"
        near = nearest(owner, self._operations)
        if near is None:
            return "add a policy file for it, or correct the name"
        if operation in self._operations[near]:
            return f"did you mean {near}.{operation}?"
        inner = nearest(operation, self._operations[near])
        return (
            f"did you mean {near}.{inner}?"
            if inner
            else f"did you mean service {near}?"
        )


def unreadable(target: str, broken: Broken, span: Span, path: str) -> Diagnostic:
    """A finding about a reference into a service whose policy has errors."""
    related = [Related(first.span, first.message) for first in broken.findings[:1]]
    file = related[0].span.path if related else f"the policy of {broken.name}"
    return finding(
        "VA107",
        f"cannot follow {target!r}: the policy of {broken.name} has errors",
        span,
        help=f"mend {file} first",
        related=related,
        path=path,
    )
