"""Errors of the model to located findings, one for each cause."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from policyctl.diagnostics import Diagnostic
from policyctl.model.codes import MOST_PER_STEP, finding
from policyctl.model.place import dotted, key_span, real_path
from policyctl.source.nodes import Document, NodePath, PathPart


def to_findings(
    document: Document, error: ValidationError, reported: list[NodePath]
) -> tuple[list[Diagnostic], int]:
    """Return the findings for the errors of one validation, and how many more there are.

    What lies at or below a path of ``reported`` is left out: its cause is known.
    """
    findings: list[Diagnostic] = []
    known = set(reported)
    details = error.errors(include_url=False, include_input=False)
    for index, detail in enumerate(details):
        if len(findings) == MOST_PER_STEP:
            return findings, len(details) - index
        loc: tuple[PathPart, ...] = detail["loc"]
        path = real_path(document, loc)
        if any(
            tuple(loc[:end]) in known or path[:end] in known
            for end in range(len(loc) + 1)
        ):
            continue
        known.add(path if detail["type"] != "missing" else loc)
        findings.append(_finding(document, path, detail))
    return findings, 0


def _finding(document: Document, path: NodePath, detail: Any) -> Diagnostic:
    if detail["type"] == "missing":
        return missing_key(document, path, str(detail["loc"][-1]))
    context: dict[str, Any] = detail.get("ctx", {})
    hint = context.get("hint", "see the language reference for what may stand here")
    if context.get("index") is not None:
        path = (*path, context["index"])
    return finding(
        context.get("check", "wrong-type"),
        document.locate(path),
        context.get("message", "this value does not fit"),
        hint if isinstance(hint, str) else hint(),
        policy_path=dotted(document, path),
    )


def missing_key(document: Document, parent: NodePath, name: str) -> Diagnostic:
    """The finding for a key that a block cannot do without; it points at the parent."""
    examples = {
        "version": "add version: 1",
        "service": "add service: NAME, or preset: NAME for a preset",
        "to": "add to: service.operation",
        "rule": "add rule: CODE, for example RT001",
        "reason": "add reason: and say why the finding does not count here",
    }
    where = f" in {parent[-1]}" if parent and isinstance(parent[-1], str) else ""
    if parent and isinstance(parent[-1], int):
        where = f" in entry {parent[-1] + 1} of {parent[-2]}"
    return finding(
        "missing-key",
        key_span(document, parent),
        f"`{name}` is missing{where}",
        examples.get(name, f"add {name}"),
        policy_path=dotted(document, (*parent, name)),
    )
