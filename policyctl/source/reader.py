"""``read``: the bytes of one file to located documents and findings."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.source.builder import Builder
from policyctl.source.codes import finding
from policyctl.source.decode import decode
from policyctl.source.events import event_source
from policyctl.source.limits import DEFAULT_LIMITS, Limits
from policyctl.source.nodes import Document, Source
from policyctl.source.problems import StopReading
from policyctl.source.syntax import translate

_BOM_LENGTH = 3


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What reading one file gave.

    ``source`` is None only where the bytes are no text in UTF-8. ``documents`` are those
    that were read whole, also where ``diagnostics`` hold errors; of a duplicated key the
    first one is kept.
    """

    source: Source | None
    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]


def read(
    data: bytes, path: str, limits: Limits = DEFAULT_LIMITS, *, pure: bool = False
) -> ReadResult:
    """Read the YAML text ``data``; whatever it holds, nothing is raised or executed.

    ``path`` is what findings show. Empty documents of a stream are left out; a file
    without any document gives one warning. ``pure`` reads with PyYAML's pure-Python
    parser, as happens by itself where libyaml is missing.
    """
    if len(data) > limits.max_bytes:
        return ReadResult(None, (), (too_large(path, limits),))
    source, problem = decode(data, path)
    if source is None or problem is not None:
        return ReadResult(source, (), () if problem is None else (problem,))
    builder = Builder(source, limits)
    try:
        body = data[_BOM_LENGTH:] if source.has_bom else data
        builder.run(event_source(body, pure=pure))
    except StopReading as stop:
        builder.findings.append(stop.finding)
    except yaml.YAMLError as error:
        builder.findings.append(translate(source, error))
    if not builder.documents and not builder.findings:
        builder.findings.append(_empty(source))
    return ReadResult(source, tuple(builder.documents), tuple(builder.findings))


def too_large(path: str, limits: Limits) -> Diagnostic:
    """The finding for a file over the size limit; callers may not have read it all."""
    message = f"the file is larger than the limit of {limits.max_bytes:,} bytes"
    return finding("SY003", Span(path), message, "split it into several files")


def _empty(source: Source) -> Diagnostic:
    message = "the file holds no document"
    if source.text.lstrip().startswith("#"):
        message += ", only comments"
    return finding(
        "SY019",
        Span(source.path),
        message,
        "describe a service in it, or remove the file",
        severity=Severity.WARNING,
    )
