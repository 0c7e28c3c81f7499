"""``parse_document``: a located document to a validated model and findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from pydantic import ValidationError

from policyctl.diagnostics import Diagnostic, Related
from policyctl.model.codes import MOST_PER_STEP, finding
from policyctl.model.errors import to_findings
from policyctl.model.fields import kind_of
from policyctl.model.lookups import check_references
from policyctl.model.names import check_names
from policyctl.model.place import dotted, key_span
from policyctl.model.prepare import Preparation, plain
from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.shape import shape_of
from policyctl.source.nodes import Document, MappingNode

MOST_FINDINGS = 50
_SOMETHING = ("operations", "calls", "inbound", "queues")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document after validation; ``model`` is None where there are errors."""

    document: Document
    model: ServiceModel | PresetModel | None
    diagnostics: tuple[Diagnostic, ...]


def parse_document(document: Document) -> Parsed:
    """Validate one document; whatever it holds, nothing is raised.

    A document with ``preset`` and without ``service`` is a preset.
    """
    root = document.root
    if not isinstance(root, MappingNode):
        return Parsed(document, None, (_no_mapping(document),))
    kind = PresetModel if _is_preset(root) else ServiceModel
    if not any(name in shape_of(kind).keys for name in root.entries):
        return Parsed(document, None, (_no_policy(document, root),))
    walk = Preparation(document)
    data = walk.block(root, shape_of(kind), ())
    both = list(_check_kind(document, root))
    known = {d.span for d in both}
    findings = [d for d in walk.findings if d.span not in known] + both
    findings += islice(check_names(document), MOST_PER_STEP)
    more = walk.more
    if walk.references:
        findings += check_references(document, walk.references)
    model: ServiceModel | PresetModel | None = None
    try:
        model = kind.model_validate(data)
    except ValidationError as error:
        located, rest = to_findings(document, error, walk.reported)
        findings += located
        more += rest
    diagnostics = _tidy(document, findings, more)
    return Parsed(document, None if diagnostics else model, diagnostics)


def _is_preset(root: MappingNode) -> bool:
    return "preset" in root.entries and "service" not in root.entries


def _no_mapping(document: Document) -> Diagnostic:
    what = kind_of(plain(document.root))
    return finding(
        "not-a-policy",
        document.span(document.root),
        f"this document is {what}, not a policy",
        "begin with version: 1 and service: NAME",
    )


def _no_policy(document: Document, root: MappingNode) -> Diagnostic:
    names = [name[:40] for name in list(root.entries)[:4]]
    shown = f"its keys are {', '.join(names)}" if names else "it is empty"
    return finding(
        "not-a-policy",
        key_span(document, ()),
        f"this document is not a policy: {shown}",
        "begin with version: 1 and service: NAME",
    )


def _check_kind(document: Document, root: MappingNode) -> Iterable[Diagnostic]:
    entries = root.entries
    if "preset" in entries and "service" in entries:
        yield finding(
            "conflicting-keys",
            document.span(entries["preset"].key),
            "a document is a service or a preset, not both",
            "move the preset into a document of its own",
            related=(Related(document.span(entries["service"].key), "the other one"),),
            policy_path=dotted(document, ("preset",)),
        )
    elif "service" in entries and not any(name in entries for name in _SOMETHING):
        yield finding(
            "nothing-to-protect",
            document.span(entries["service"].key),
            "the service has nothing to protect",
            f"add one of {', '.join(_SOMETHING)}",
            policy_path=dotted(document, ()),
        )


def _tidy(
    document: Document, findings: list[Diagnostic], more: int
) -> tuple[Diagnostic, ...]:
    """Findings in order, each once (an alias repeats its own), and not too many."""
    unique = {(d.code, d.span): d for d in reversed(findings)}
    ordered = sorted(unique.values(), key=lambda d: d.sort_key)
    more += max(0, len(ordered) - MOST_FINDINGS)
    if more == 0:
        return tuple(ordered)
    shown = ordered[:MOST_FINDINGS]
    count = str(more) if more <= MOST_PER_STEP else f"over {MOST_PER_STEP}"
    rest = finding(
        "too-many-errors",
        ordered[min(MOST_FINDINGS, len(ordered) - 1)].span,
        f"{count} more errors in this document are not shown",
        "mend those above first",
    )
    return (*shown, rest)
