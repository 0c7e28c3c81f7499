"""Models as dictionaries, with every release of pydantic that an installation may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.model.dump import dump
from policyctl.model.validate import parse_document
from policyctl.source.reader import read

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("policies", "examples", "tests/generate/cases")
    for path in (ROOT / folder).rglob("*.yaml")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_what_the_models_own_dump_gives(path: Path) -> None:
    """Keys that were written, aliases, blocks in lists and in mappings: no difference."""
    for document in read(path.read_bytes(), path.name).documents:
        model = parse_document(document).model
        if model is not None:
            for block in (model, *model.__dict__.values()):
                if hasattr(block, "model_rebuild"):
                    type(block).model_rebuild()
            assert dump(model) == model.model_dump(exclude_unset=True)


def test_only_what_was_written_is_there() -> None:
    """By the names of the keys in YAML, long forms only, in the order of the language."""
    text = b"""\
version: 1
service: pay
class: batch
operations:
  charge:
    transport: http
    budget: 15s
    retry: {retry_on: [timeout], backoff: {initial: 1s}}
    fallback: off
"""
    (document,) = read(text, "pay.yaml").documents
    model = parse_document(document).model
    assert model is not None
    assert dump(model) == {
        "version": 1,
        "service": "pay",
        "class": "batch",
        "operations": {
            "charge": {
                "transport": "http",
                "budget": {"total": 15.0},
                "retry": {"retry_on": ["timeout"], "backoff": {"initial": 1.0}},
                "fallback": "off",
            }
        },
    }
