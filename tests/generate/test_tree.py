"""Files in memory: packed, and some known by their digest alone."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from policyctl.generate.digest import content_digest
from policyctl.generate.tree import Content, NotBuiltError, Tree, content_of

A, B = PurePosixPath("a.py"), PurePosixPath("b.py")


def test_bytes_come_out_as_they_went_in() -> None:
    """Packing loses nothing, and every form has its bytes."""
    for content in (b"", b"x = 1\n", bytes(range(256)) * 100):
        packed = Content(content)
        assert packed.read() == content
        assert packed.digest == content_digest(content)
        assert content_of(packed) == content_of(content) == content
    assert content_of(None) == b""


def test_parts_are_one_content() -> None:
    """What comes in parts is the same as what comes at once."""
    whole, parts = Content(b"x = 1\ny = 2\n"), Content.of(
        iter((b"x = 1\n", b"", b"y = 2\n"))
    )
    assert (parts.read(), parts.digest) == (whole.read(), whole.digest)
    tree = Tree()
    assert tree.add_parts("a.py", iter((b"1", b"2"))) == content_digest(b"12")
    assert tree == {A: b"12"}


def test_files_are_in_the_order_of_their_paths() -> None:
    """A tree is a mapping, and equal to one with the same files."""
    tree = Tree()
    tree.add("b.py", b"2")
    tree.add("a.py", b"1")
    assert list(tree) == [A, B]
    assert tree == {A: b"1", B: b"2"}
    assert tree != {A: b"1"}
    assert len(tree) == 2
    assert PurePosixPath("c.py") not in tree


def test_line_ends_of_windows_match() -> None:
    """A file on disk is the same with other line ends, and only then."""
    tree = Tree()
    tree.add("a.py", b"x\ny\n")
    assert tree.matches(A, b"x\ny\n")
    assert tree.matches(A, b"x\r\ny\r\n")
    assert not tree.matches(A, b"x\ny")


def test_a_digest_is_enough_while_the_file_is_the_same() -> None:
    """What is on disk need not be built; once it is not, that is told."""
    tree = Tree()
    tree.add_known("a.py", content_digest(b"x\n"))
    assert tree.matches(A, b"x\n")
    with pytest.raises(NotBuiltError, match=r"a\.py"):
        tree.matches(A, b"y\n")
    with pytest.raises(NotBuiltError, match=r"a\.py"):
        tree[A]
