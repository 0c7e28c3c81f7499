"""Shared means of the tests of reading: real files, and helpers to read text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policyctl.source.nodes import MappingNode, Node, ScalarNode
from policyctl.source.reader import ReadResult, read

Reader = Callable[[str], ReadResult]

_BESIDE = Path(__file__).parents[2].parent / "shared" / "corpus"


@pytest.fixture(params=["libyaml", "pure"])
def reader(request: pytest.FixtureRequest) -> Reader:
    """Reads text as ``f.yaml``, once with each parser."""
    return lambda text: read(
        text.encode("utf-8"), "f.yaml", pure=request.param == "pure"
    )


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """Real YAML files of other systems; POLICYCTL_CORPUS or ../shared/corpus."""
    folder = Path(os.environ.get("POLICYCTL_CORPUS", str(_BESIDE)))
    files = sorted(folder.glob("*/*.yaml")) + sorted(folder.glob("*/*.yml"))
    if not files:
        pytest.skip(f"no YAML files under {folder.name}: the corpus is not at hand")
    return files


def every_node(root: Node) -> Iterator[Node]:
    """All nodes below ``root``, keys included; a shared node comes as often as used."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, MappingNode):
            for entry in node.entries.values():
                pending += (entry.key, entry.value)
        elif not isinstance(node, ScalarNode):
            pending += node.items


@pytest.fixture
def nodes_of() -> Callable[[Node], Iterator[Node]]:
    """The function that walks a tree."""
    return every_node
