"""Fill the defaults of one merged service and check it on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.model.static import Lookup
from policyctl.resolve.build_service import fill_inbound, redis_url
from policyctl.resolve.consistency import (
    arguments,
    facts,
    names,
    patterns,
    queues,
    required,
    scopes,
    stores,
    times,
)
from policyctl.resolve.consistency.context import Check, Context
from policyctl.resolve.defaults import fill_operation, fill_queue
from policyctl.resolve.edges import Edge, check_doubles, edges
from policyctl.resolve.findings import Subject
from policyctl.resolve.layers import Merged, check_overlays
from policyctl.resolve.tree import Block

_CHECKS: Sequence[Check] = (
    required.check_operation,
    times.check,
    patterns.check,
    stores.check,
    arguments.check,
    facts.check_operation,
)


@dataclass(slots=True)
class Judged:
    """A merged service with its defaults filled in, and what is wrong with it."""

    merged: Merged
    context: Context
    operations: dict[str, Subject] = field(default_factory=dict[str, Subject])
    queues: dict[str, Subject] = field(default_factory=dict[str, Subject])
    inbound: Subject | None = None
    calls: list[Edge] = field(default_factory=list[Edge])
    operation_calls: dict[str, list[Edge]] = field(
        default_factory=dict[str, list[Edge]]
    )
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def valid(self) -> bool:
        """Whether the service can be built."""
        errors = any(f.severity is Severity.ERROR for f in self.findings)
        return self.merged.complete and not errors


def judge(merged: Merged, lookup: Lookup) -> Judged:
    """Fill and check one service; what names other services is checked later."""
    get = merged.settings.get
    context = Context(
        get("class") or "online", redis_url(merged), get("target"), lookup
    )
    judged = Judged(merged, context, findings=list(merged.findings))
    judged.findings += check_overlays(merged.declared)
    judged.calls = edges(merged.settings, merged.name)
    for name, tree in merged.operations.items():
        _operation(judged, name, tree)
    if not merged.complete:
        return judged
    _settings(judged)
    judged.findings += check_doubles(judged.calls)
    judged.findings += names.check(merged)
    judged.findings += scopes.check(judged.operations)
    judged.findings += stores.check_files(judged.operations, judged.queues)
    return judged


def check_operation(subject: Subject, context: Context) -> list[Diagnostic]:
    """Run every check of one filled operation."""
    return [found for check in _CHECKS for found in check(subject, context)]


def _operation(judged: Judged, name: str, tree: Block) -> None:
    merged = judged.merged
    path = f"{merged.name}.operations.{name}"
    span = merged.document.locate_key(("operations", name))
    subject = Subject(path, span, fill_operation(tree))
    judged.operations[name] = subject
    calls = edges(tree, path)
    judged.operation_calls[name] = calls
    if merged.complete:
        judged.findings += check_operation(subject, judged.context)
        judged.findings += check_doubles(calls)


def _settings(judged: Judged) -> None:
    """Check what the service has beside its operations."""
    merged, redis = judged.merged, judged.context.redis_url
    tree, document = merged.settings, merged.document
    subject = Subject(merged.name, document.locate(("service",)), tree)
    judged.findings += required.check_settings(subject)
    judged.findings += facts.check_service(subject)
    block = tree.block("inbound")
    if block is not None:
        span = document.locate_key(("inbound",))
        filled = fill_inbound(block)
        judged.inbound = Subject(f"{merged.name}.inbound", span, filled, ("inbound",))
        judged.findings += queues.check_inbound(judged.inbound, redis)
    queued = tree.block("queues") or Block({})
    for name in merged.declared.data.get("queues", {}):
        block = queued.block(name)
        if block is None:
            continue
        span = document.locate_key(("queues", name))
        path, at = f"{merged.name}.queues.{name}", ("queues", name)
        queue = Subject(path, span, fill_queue(block), at)
        judged.queues[name] = queue
        judged.findings += queues.check_queue(queue, redis)
