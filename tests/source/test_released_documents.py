"""Documents that let go of their nodes answer as before, from the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.generate.build import build
from policyctl.generate.options import GenerateOptions
from policyctl.resolve.inputs import InputFile, Inputs
from policyctl.resolve.project import load_project
from policyctl.source.nodes import MappingNode, NodePath
from policyctl.source.reader import read

TEXT = """\
# Payments.
version: 1
service: "payment_api"
calls:
  - {to: tax_api.compute}
operations:
  charge: {attempt_timeout: 1s}
  refund:
    idempotent: true
queues: {jobs: {store: memory}}
---
version: 1
preset: base
"""
PATHS: list[NodePath] = [
    (),
    ("service",),
    ("preset",),
    ("operations",),
    ("operations", "charge"),
    ("operations", "charge", "attempt_timeout"),
    ("operations", "refund", "idempotent"),
    ("operations", "gone"),
    ("queues", "jobs"),
    ("calls", 0, "to"),
    ("calls", 7),
]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_places_are_the_same(path: NodePath, bom: bytes) -> None:
    """Names come from what was kept, everything else from reading again."""
    data = bom + TEXT.encode()
    kept, released = (read(data, "a.yaml").documents for _ in range(2))
    for document in released:
        document.release()
    for before, after in zip(kept, released, strict=True):
        assert after.locate(path) == before.locate(path)
        assert after.locate_key(path) == before.locate_key(path)


def test_names_need_no_reading() -> None:
    """What every run asks for is told without the nodes."""
    [first, _] = read(TEXT.encode(), "a.yaml").documents
    first.release()
    first.source.text = ""
    assert first.locate_key(("operations", "refund")).line == 8
    assert first.locate(("service",)).line == 3
    assert first.locate(("calls", 0, "to")).column == 10


def test_nodes_come_back_whole() -> None:
    """The nodes are those of the document's own part of the file, and stay then."""
    [_, second] = read(TEXT.encode(), "a.yaml").documents
    second.release()
    root = second.root
    assert isinstance(root, MappingNode)
    assert list(root.entries) == ["version", "preset"]
    assert second.root is root
    second.release()
    assert second.locate(("preset",)).line == 13


def test_findings_are_the_same_in_a_frugal_run() -> None:
    """Places, related places and messages do not depend on what is kept."""
    texts = {
        "a.yaml": "version: 1\nservice: a\noperations:\n  x: {budget: {total: 1s, minimum: 2s}}\n",
        "b.yaml": "version: 1\nservice: b\ncalls: [{to: a.x, override: {retry: {}}}]\n",
        "c.yaml": "version: 1\nservice: a\noperations: {y: {target: 'no_such_sdk:f'}}\n",
        "d.yaml": "version: 1\nservice: d\noperations: {z: {bad: 1}}\n",
    }
    files = tuple(InputFile(name, text.encode()) for name, text in texts.items())
    plain, frugal = (load_project(Inputs(files, frugal=f)) for f in (False, True))
    assert plain.diagnostics
    assert frugal.diagnostics == plain.diagnostics


def test_a_frugal_run_reads_nothing_again(tmp_path: Path) -> None:
    """From loading to the last module, no step of a clean run asks for nodes."""
    text = (
        "version: 1\nservice: {name}\ncalls: [{{to: b.x, override: {{retry: off}}}}]\n"
        "operations:\n"
        "  x: {{transport: http, attempt_timeout: 1s, retry: {{max_attempts: 2}}}}\n"
        "  y: {{fallback: {{operation: {name}.x}}}}\n"
    )
    files = tuple(
        InputFile(f"{name}.yaml", text.format(name=name).encode()) for name in "ab"
    )
    loaded = load_project(Inputs(files, frugal=True))
    assert loaded.diagnostics == ()
    built = build(loaded.project, GenerateOptions(tmp_path / "acme", "acme"))
    assert (built.diagnostics, len(built.tree)) == ((), 6)
    for service in loaded.project.services.values():
        with pytest.raises(AttributeError):
            object.__getattribute__(service.document, "root")
