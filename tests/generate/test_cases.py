"""Whole packages: the policies of a case folder give exactly its expected tree.

To accept an intended change of the output, run with POLICYCTL_ACCEPT=1 and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from policyctl.generate.build import build
from policyctl.generate.format import run_black
from policyctl.generate.options import GenerateOptions
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_the_policies_give_the_expected_tree(
    case: str, load: LoadProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file is as expected, and black and ``compile`` accept the modules."""
    monkeypatch.chdir(CASES / case)
    texts = {
        path.as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(Path("policies").glob("*.yaml"))
    }
    options = GenerateOptions(Path("expected"), "acme.resilience", root=Path())
    built = build(load(texts), options)
    assert built.diagnostics == ()
    expected = Path("expected")
    if os.environ.get("POLICYCTL_ACCEPT"):
        expected.mkdir(exist_ok=True)
        for path, content in built.tree.items():
            (expected / path).write_bytes(content)
    assert {str(path): content for path, content in built.tree.items()} == {
        path.name: path.read_bytes() for path in expected.iterdir() if path.is_file()
    }
    for path, content in built.tree.items():
        if path.suffix == ".py":
            text = content.decode("utf-8")
            compile(text, str(path), "exec")
            assert run_black(text, "3.11") == text
