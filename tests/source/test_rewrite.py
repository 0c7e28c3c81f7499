"""Edits of the tree: what the text is afterwards, to the character."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from policyctl.diagnostics import Edit
from policyctl.source.edits import apply_edits
from policyctl.source.nodes import (
    Document,
    MappingNode,
    Node,
    NodePath,
    ScalarNode,
    SequenceNode,
)
from policyctl.source.plain import to_plain
from policyctl.source.reader import read
from policyctl.source.rewrite import (
    append_item,
    insert_key,
    remove_item,
    remove_key,
    set_scalar,
    set_value,
)


def load(text: str) -> Document:
    """The only document of a text that reads without findings."""
    result = read(text.encode(), "f.yaml")
    assert result.diagnostics == ()
    (document,) = result.documents
    return document


def at(document: Document, *path: str | int) -> Node:
    """The node at a path."""
    found = document.root
    for _part, _key, node in document.walk(path):
        found = node
    return found


def mapping(document: Document, *path: str | int) -> MappingNode:
    """The mapping at a path."""
    node = at(document, *path)
    assert isinstance(node, MappingNode)
    return node


def sequence(document: Document, *path: str | int) -> SequenceNode:
    """The sequence at a path."""
    node = at(document, *path)
    assert isinstance(node, SequenceNode)
    return node


def after(document: Document, edit: Edit | None) -> str:
    """The text after an edit."""
    assert edit is not None
    return apply_edits(document.source, [edit])


@pytest.mark.parametrize(
    ("before", "value", "expected"),
    [
        ("a: 1 # c\n", 20, "a: 20 # c\n"),
        ("a: 30s\n", "1m", "a: 1m\n"),
        ("a: '30s'\n", "1m", "a: '1m'\n"),
        ('a: "30s"\n', "1m", 'a: "1m"\n'),
        ('a: "30s"\n', 'say "x"', "a: 'say \"x\"'\n"),
        ("a: x\n", "yes", "a: 'yes'\n"),
        ("a: x\n", True, "a: true\n"),
        ("a:\n", 5, "a: 5\n"),
        ("a: \n", 5, "a: 5 \n"),
        ("a: &x !!str 5\nb: *x\n", "q", "a: &x !!str q\nb: *x\n"),
        ("a: |\n  text\n  more\nb: 1\n", "one", "a: one\nb: 1\n"),
        ("a: {b: 1}\n", None, None),
    ],
)
def test_set_scalar(before: str, value: Any, expected: str | None) -> None:
    """The scalar's own characters change, and its quotes are kept where it had some."""
    document = load(before)
    node = at(document, "a")
    if not isinstance(node, ScalarNode):
        assert expected is None
        return
    assert after(document, set_scalar(document, node, value)) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("a: 1 # c\nb: 2\n", "a: off # c\nb: 2\n"),
        ("a: {x: 1,\n    y: 2} # c\n", "a: off # c\n"),
        ("a:\nb: 2\n", "a: off\nb: 2\n"),
        ("b: &b 1\na: *b\n", "b: &b 1\na: off\n"),
        ("a:\n  x: 1\n", None),
        ("a: |\n  x\n", None),
        ("a: {x: &x 1}\nb: *x\n", None),
    ],
)
def test_set_value(before: str, expected: str | None) -> None:
    """A value of one line or in flow style is replaced, an alias at its own place."""
    document = load(before)
    edit = set_value(document, mapping(document).entries["a"], "off")
    if expected is None:
        assert edit is None
    else:
        assert after(document, edit) == expected


@pytest.mark.parametrize(
    ("before", "path", "expected"),
    [
        ("a: 1\n", (), "a: 1\nnew: 5s\n"),
        ("a: 1", (), "a: 1\nnew: 5s"),
        ("a: 1 # c\n# end\n", (), "a: 1 # c\nnew: 5s\n# end\n"),
        ("a:\n  b: 1\n\nc: 2\n", ("a",), "a:\n  b: 1\n  new: 5s\n\nc: 2\n"),
        ("a:\n  b:\n  - 1\nc: 2\n", ("a",), "a:\n  b:\n  - 1\n  new: 5s\nc: 2\n"),
        ("a:\n  b: |\n    x\n\nc: 2\n", ("a",), "a:\n  b: |\n    x\n  new: 5s\n\nc: 2\n"),
        ("a:\n  b: |+\n    x\n\nc: 2\n", ("a",), "a:\n  b: |+\n    x\n\n  new: 5s\nc: 2\n"),
        ("- a: 1\n  b: 2\n- c\n", (0,), "- a: 1\n  b: 2\n  new: 5s\n- c\n"),
        ("a: {}\n", ("a",), "a: {new: 5s}\n"),
        ("a: {b: 1}\n", ("a",), "a: {b: 1, new: 5s}\n"),
        ("a: { b: 1 }\n", ("a",), "a: { b: 1, new: 5s }\n"),
        ("a: {\n  b: 1,\n}\n", ("a",), "a: {\n  b: 1, new: 5s,\n}\n"),
        ("x: &x {y: 1}\na:\n  <<: *x\nb: 2\n", ("a",), "x: &x {y: 1}\na:\n  <<: *x\n  new: 5s\nb: 2\n"),
        ("a: {b: 1 # c\n  }\n", ("a",), None),
        ("? a\n: 1\n", (), None),
    ],
)  # fmt: skip
def test_insert_key(before: str, path: NodePath, expected: str | None) -> None:
    """The key comes last, in the style and at the indentation of its mapping."""
    document = load(before)
    edit = insert_key(document, mapping(document, *path), "new", "5s")
    if expected is None:
        assert edit is None
    else:
        assert after(document, edit) == expected


@pytest.mark.parametrize(
    ("before", "path", "expected"),
    [
        ("a:\n- 1\n- 2 # c\nb: 1\n", ("a",), "a:\n- 1\n- 2 # c\n- new\nb: 1\n"),
        ("a:\n  - x: 1\n    y: 2\n", ("a",), "a:\n  - x: 1\n    y: 2\n  - new\n"),
        ("- - 1\n  - 2\n- 3\n", (0,), "- - 1\n  - 2\n  - new\n- 3\n"),
        ("a: []\n", ("a",), "a: [new]\n"),
        ("a: [1, 2]\n", ("a",), "a: [1, 2, new]\n"),
        ("a: [\n  1,\n  2,\n]\n", ("a",), "a: [\n  1,\n  2, new,\n]\n"),
    ],
)
def test_append_item(before: str, path: NodePath, expected: str) -> None:
    """The item comes last, in the style and at the indentation of its list."""
    document = load(before)
    edit = append_item(document, sequence(document, *path), "new")
    assert after(document, edit) == expected


@pytest.mark.parametrize(
    ("before", "path", "expected"),
    [
        ("a: 1\nk: 2 # c\nb: 3\n", (), "a: 1\nb: 3\n"),
        ("k: 2\nb: 3\n", (), "b: 3\n"),
        ("a: 1\nk: 2", (), "a: 1\n"),
        ("a: 1\nk:\n  x: 1\n  y: 2\n# of b\nb: 3\n", (), "a: 1\n# of b\nb: 3\n"),
        ("a: 1\nk: |\n  x\n\nb: 3\n", (), "a: 1\n\nb: 3\n"),
        ("- k: 1\n  b: 2\n", (0,), "- b: 2\n"),
        ("- b: 1\n  k: 2\n", (0,), "- b: 1\n"),
        ("a:\n  k: 1 # c\nb: 2\n", ("a",), "a:\n  {} # c\nb: 2\n"),
        ("a: {k: 1}\n", ("a",), "a: {}\n"),
        ("a: {k: 1, b: 2}\n", ("a",), "a: {b: 2}\n"),
        ("a: {b: 2, k: 1}\n", ("a",), "a: {b: 2}\n"),
        ("a: {b: 2, k: 1,}\n", ("a",), "a: {b: 2,}\n"),
        ("a: {k: 1,}\n", ("a",), "a: {}\n"),
        ("a: {b: 2,\n  k: 1,\n  c: 3}\n", ("a",), "a: {b: 2,\n  c: 3}\n"),
        ("b: &b 1\nk: *b\nc: 2\n", (), "b: &b 1\nc: 2\n"),
        ("k: &b 1\nc: *b\n", (), None),
        ("k: {x: &b 1}\nc: *b\n", (), None),
        ("b: &b {k: 1}\na:\n  <<: *b\n", ("a",), None),
        ("? k\n: 1\n", (), None),
        ("a: 1\n", (), None),
    ],
)
def test_remove_key(before: str, path: NodePath, expected: str | None) -> None:
    """The key goes with its value and separator; what cannot be done safely is not."""
    document = load(before)
    edit = remove_key(document, mapping(document, *path), "k")
    if expected is None:
        assert edit is None
    else:
        assert after(document, edit) == expected


@pytest.mark.parametrize(
    ("before", "index", "expected"),
    [
        ("a: [1, 2, 3]\n", 0, "a: [2, 3]\n"),
        ("a: [1, 2, 3]\n", 1, "a: [1, 3]\n"),
        ("a: [1, 2, 3]\n", 2, "a: [1, 2]\n"),
        ("a: ['x', \"y\"]\n", 1, "a: ['x']\n"),
        ("a: [1]\n", 0, "a: []\n"),
        ("a:\n- 1\n- 2 # c\n- 3\n", 1, "a:\n- 1\n- 3\n"),
        ("a:\n  - 1\n  - x: 1\n    y: 2\n", 1, "a:\n  - 1\n"),
        ("a:\n  - x: 1\n    y: 2\n  - 1\n", 0, "a:\n  - 1\n"),
        ("a:\n- 1\n", 0, "a:\n  []\n"),
        ("b: &b 1\na: [*b, 2]\n", 0, "b: &b 1\na: [2]\n"),
        ("a: [1, # c\n  2]\n", 1, None),
        ("a:\n- # c\n  1\n- 2\n", 1, None),
        ("a:\n- &x 1\n- 2\n", 0, None),
        ("a: [1]\n", 1, None),
        ("a: [1]\n", -1, None),
    ],
)
def test_remove_item(before: str, index: int, expected: str | None) -> None:
    """The item goes with its dash or comma."""
    document = load(before)
    edit = remove_item(document, sequence(document, "a"), index)
    if expected is None:
        assert edit is None
    else:
        assert after(document, edit) == expected


def change(data: Any, path: NodePath, act: str, part: str | int) -> Any:
    """The same change to plain data, in place."""
    for step in path:
        data = data[step]
    if act == "remove":
        del data[part]
    elif isinstance(data, list):
        data.append("zz")
    else:
        data["zz"] = "zz"
    return data


def test_real_files_change_only_where_asked(corpus: list[Path]) -> None:
    """Each edit of a tree of a real file does to the data what it says, and no more.

    Lines that the edit does not touch stay byte for byte, since only a span is replaced.
    """
    chance = random.Random(7)
    made = refused = 0
    for path in corpus:
        result = read(path.read_bytes(), path.name)
        if result.diagnostics or result.source is None:
            continue
        document = chance.choice(result.documents)
        containers: list[tuple[NodePath, MappingNode | SequenceNode]] = []
        pending: list[tuple[NodePath, Node]] = [((), document.root)]
        while pending:
            where, node = pending.pop()
            if isinstance(node, MappingNode):
                containers.append((where, node))
                pending += [((*where, k), e.value) for k, e in node.entries.items()]
            elif isinstance(node, SequenceNode):
                containers.append((where, node))
                pending += [((*where, i), item) for i, item in enumerate(node.items)]
        for where, node in chance.sample(containers, min(6, len(containers))):
            act = chance.choice(["remove", "append"])
            part: str | int = 0
            if isinstance(node, MappingNode):
                if act == "remove" and node.entries:
                    part = chance.choice(list(node.entries))
                    edit = remove_key(document, node, str(part))
                else:
                    act, edit = "append", insert_key(document, node, "zz", "zz")
            elif act == "remove" and node.items:
                part = chance.randrange(len(node.items))
                edit = remove_item(document, node, part)
            else:
                act, edit = "append", append_item(document, node, "zz")
            if edit is None:
                refused += 1
                continue
            made += 1
            again = read(apply_edits(result.source, [edit]).encode(), path.name)
            assert again.diagnostics == (), (path.name, where, act, part)
            expected = to_plain(document.root)
            change(expected, where, act, part)
            index = document.index
            assert to_plain(again.documents[index].root) == expected, (path.name, where)
    assert made > 300
    assert refused < made / 10
