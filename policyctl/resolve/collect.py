"""Read and parse the files of a run, and sort what they declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.model.dump import dump
from policyctl.model.validate import parse_document
from policyctl.resolve.inputs import InputFile
from policyctl.source.files import unreadable
from policyctl.source.limits import DEFAULT_LIMITS
from policyctl.source.nodes import Document, MappingNode, ScalarNode
from policyctl.source.reader import read

_NAMED = re.compile(r"^(service|preset)[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Declared:
    """A valid service or preset document in long form."""

    name: str
    document: Document
    data: Mapping[str, Any]
    reported: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """A service or preset whose document, or file, has errors."""

    name: str
    findings: tuple[Diagnostic, ...]
    reported: bool


@dataclass(slots=True)
class Collected:
    """What all files declare.

    ``anonymous`` is set when some file with errors does not even tell which services
    it declares, so that no reference can be called unknown. ``findings`` are those of
    reported files.
    """

    services: list[Declared] = field(default_factory=list[Declared])
    presets: list[Declared] = field(default_factory=list[Declared])
    broken_services: dict[str, Broken] = field(default_factory=dict[str, Broken])
    broken_presets: dict[str, Broken] = field(default_factory=dict[str, Broken])
    anonymous: bool = False
    documents: list[Document] = field(default_factory=list[Document])
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def add(self, file: InputFile) -> None:
        """Read ``file`` and add what it declares."""
        result = read(file.data, file.path)
        self.documents += result.documents
        findings = list(result.diagnostics)
        if _errors(findings):
            self._add_unreadable(file, findings)
        for document in result.documents:
            parsed = parse_document(document)
            findings += _without_echoes(parsed.diagnostics, _errors(result.diagnostics))
            errors = _errors(parsed.diagnostics)
            if parsed.model is None or errors:
                self._add_broken(document, tuple(errors), file.reported)
            elif not _errors(result.diagnostics):
                data = dump(parsed.model)
                self._add_declared(document, data, file.reported)
        if file.reported:
            self.findings += findings

    def _add_declared(
        self, document: Document, data: Mapping[str, Any], reported: bool
    ) -> None:
        if "preset" in data:
            self.presets.append(Declared(data["preset"], document, data, reported))
        else:
            self.services.append(Declared(data["service"], document, data, reported))

    def _add_broken(
        self, document: Document, errors: tuple[Diagnostic, ...], reported: bool
    ) -> None:
        root = document.root
        for kind in ("service", "preset"):
            node = root.get(kind) if isinstance(root, MappingNode) else None
            if isinstance(node, ScalarNode):
                self._note(kind, Broken(node.text, errors, reported))
                return
        self.anonymous = True

    def _add_unreadable(self, file: InputFile, findings: list[Diagnostic]) -> None:
        """Note the names that the text of an unreadable file seems to declare."""
        text = file.data[:1_000_000].decode("utf-8", "replace")
        names = _NAMED.findall(text)
        for kind, name in names:
            self._note(kind, Broken(name, tuple(_errors(findings)), file.reported))
        self.anonymous |= not names

    def _note(self, kind: str, broken: Broken) -> None:
        names = self.broken_services if kind == "service" else self.broken_presets
        names.setdefault(broken.name, broken)


def _without_echoes(
    findings: Iterable[Diagnostic], causes: Iterable[Diagnostic]
) -> list[Diagnostic]:
    """What validation finds elsewhere than where the text itself is wrong already."""
    spans = {cause.span for cause in causes}
    return [finding for finding in findings if finding.span not in spans]


def collect(files: Iterable[InputFile], *, frugal: bool = False) -> Collected:
    """Read and parse ``files`` in their order; ``frugal`` as in ``Inputs``."""
    collected = Collected()
    for file in files:
        known = len(collected.documents)
        collected.add(file)
        for document in collected.documents[known:] if frugal else ():
            document.release()
    return collected


def read_folder(
    folder: Path, known: Iterable[str]
) -> tuple[list[InputFile], list[Diagnostic]]:
    """The preset files of ``folder`` as context, and findings about unreadable ones.

    Files in ``known``, the shown paths of what is read already, are left out.
    """
    seen = {Path(path).resolve() for path in known}
    files: list[InputFile] = []
    findings: list[Diagnostic] = []
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        if not path.is_file() or path.resolve() in seen:
            continue
        try:
            with path.open("rb") as stream:
                data = stream.read(DEFAULT_LIMITS.max_bytes + 1)
        except OSError as error:
            findings.append(unreadable(path.as_posix(), error))
        else:
            files.append(InputFile(path.as_posix(), data, reported=False))
    return files, findings


def _errors(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [finding for finding in findings if finding.severity is Severity.ERROR]
