"""Real files of other systems: not policies, and told so without a fuss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policyctl.model.validate import parse_document
from policyctl.source.reader import read

_BESIDE = Path(__file__).parents[2].parent / "shared" / "corpus"


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Files from POLICYCTL_CORPUS or ../shared/corpus."""
    folder = Path(os.environ.get("POLICYCTL_CORPUS", str(_BESIDE)))
    found = sorted(
        p for p in folder.rglob("*") if p.suffix in (".yaml", ".yml", ".json")
    )
    if not found:
        pytest.skip(f"no files under {folder.name}: the corpus is not at hand")
    return found


def test_files_of_other_systems_are_no_policies(files: list[Path]) -> None:
    """Each document gets one finding, or is told which keys are foreign."""
    names: set[str] = set()
    for file in files:
        for document in read(file.read_bytes(), file.name).documents:
            parsed = parse_document(document)
            assert parsed.model is None
            assert parsed.diagnostics
            assert all(len(d.message) < 300 and d.help for d in parsed.diagnostics)
            if len(parsed.diagnostics) == 1:
                names.add(parsed.diagnostics[0].name)
    assert "not-a-policy" in names
