"""YA-09: a Windows path in double quotes was an invalid escape that the tool had written.

https://github.com/sigcli/sigcli/pull/96
"""

from __future__ import annotations

import pytest

from policyctl.source.edits import apply_edits, apply_fixes
from policyctl.source.nodes import MappingNode, ScalarNode
from policyctl.source.plain import to_plain
from policyctl.source.quotes import scalar_text
from policyctl.source.reader import read
from policyctl.source.rewrite import set_scalar


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("written", "column", "remedy"),
    [
        (r'"data\queue.db"', 12, r"'data\queue.db'"),
        (r'"C:\Users\x"', 10, r"'C:\Users\x'"),
        (r'"C:\data\its"', 10, r"'C:\data\its'"),
        ('"it\'s\\queue"', 12, r"'it''s\queue'"),
    ],
)
def test_the_hint_holds_the_text_in_single_quotes(
    written: str, column: int, remedy: str, pure: bool
) -> None:
    """The finding lies on the backslash, and its help can be pasted."""
    (found,) = read(f"path: {written}\n".encode(), "f.yaml", pure=pure).diagnostics
    assert (found.code, found.name) == ("SY008", "invalid-escape")
    assert str(found.span) == f"f.yaml:1:{column}"
    assert found.help == (
        f"use single quotes, where a backslash is a backslash: {remedy}"
    )


@pytest.mark.parametrize("pure", [False, True])
def test_the_remedy_loads(pure: bool) -> None:
    """What the help proposes is the path that was meant."""
    (found,) = read(rb'path: "data\queue.db"', "f.yaml", pure=pure).diagnostics
    assert found.help is not None
    remedy = found.help.rpartition(": ")[2]
    (document,) = read(f"path: {remedy}".encode(), "f.yaml").documents
    assert to_plain(document.root) == {"path": r"data\queue.db"}


@pytest.mark.parametrize("pure", [False, True])
def test_the_fix_writes_the_remedy(pure: bool) -> None:
    """Applied, the file loads with the path that was meant, the rest untouched."""
    result = read(b'# c\r\npath: "data\\queue.db" # d\r\n', "f.yaml", pure=pure)
    assert result.source is not None
    (found,) = result.diagnostics
    assert found.fix is not None
    assert not found.fix.safe
    text = apply_fixes(result.source, [found.fix]).text
    assert text == "# c\r\npath: 'data\\queue.db' # d\r\n"


@pytest.mark.parametrize(
    "text",
    [
        r"data\queue.db",
        r"C:\new\table",
        r"\\server\share",
        "a # b",
        "a: b",
        "trailing ",
        " leading",
        "*star",
        "&and",
        "!bang",
        "it's",
        'say "x"',
        "%percent",
        "@at",
        "`tick`",
        "tab\there",
        "two\nlines",
        "- item",
        "? key",
        "[x",
        "{x",
        "x]",
        "null",
        "0x10",
        "1e3",
    ],
)
@pytest.mark.parametrize("before", ["x", "'x'", '"x"', ""])
def test_what_is_written_loads_to_the_same_text(text: str, before: str) -> None:
    """Replacing a value in a file chooses the quotes by the content."""
    (document,) = read(f"a: {before}\nb: 1\n".encode(), "f.yaml").documents
    assert isinstance(document.root, MappingNode)
    node = document.root.get("a")
    assert isinstance(node, ScalarNode)
    edit = set_scalar(document, node, text)
    assert edit is not None
    again = read(apply_edits(document.source, [edit]).encode(), "f.yaml")
    assert to_plain(again.documents[0].root) == {"a": text, "b": 1}
    (alone,) = read(f"- {scalar_text(text)}".encode(), "f.yaml").documents
    assert to_plain(alone.root) == [text]
