"""YA-07: a byte-order mark hid the first key, with a cryptic message or none.

https://github.com/moonrepo/moon/issues/1903,
https://github.com/microsoft/winget-cli/issues/5502
"""

from __future__ import annotations

import codecs

import pytest

from policyctl.source.edits import apply_edits, encode
from policyctl.source.nodes import MappingNode, ScalarNode
from policyctl.source.plain import to_plain
from policyctl.source.reader import read
from policyctl.source.rewrite import set_scalar

POLICY = "version: 1\nservice: payment_api\n"


@pytest.mark.parametrize("start", ["", "---\n", "# comment\n", "%YAML 1.2\n---\n"])
@pytest.mark.parametrize("pure", [False, True])
def test_utf8_with_a_mark_reads_like_without(start: str, pure: bool) -> None:
    """Data and places are the same."""
    text = (start + POLICY).encode()
    plain = read(text, "f.yaml", pure=pure)
    marked = read(codecs.BOM_UTF8 + text, "f.yaml", pure=pure)
    assert plain.diagnostics == marked.diagnostics == ()
    (one,), (two,) = plain.documents, marked.documents
    assert to_plain(one.root) == to_plain(two.root)
    assert one.locate(("service",)) == two.locate(("service",))


def test_a_finding_on_the_first_line_has_its_column() -> None:
    """The mark takes no column."""
    (found,) = read(codecs.BOM_UTF8 + b"a: @\n", "f.yaml").diagnostics
    assert str(found.span) == "f.yaml:1:4"


def test_an_edit_keeps_the_mark() -> None:
    """Bytes apart from the edit stay, the mark and CRLF among them."""
    data = codecs.BOM_UTF8 + b"version: 1\r\nservice: x # c\r\n"
    result = read(data, "f.yaml")
    (document,) = result.documents
    assert isinstance(document.root, MappingNode)
    node = document.root.get("service")
    assert isinstance(node, ScalarNode)
    edit = set_scalar(document, node, "payment_api")
    assert edit is not None
    text = apply_edits(document.source, [edit])
    assert encode(document.source, text) == (
        codecs.BOM_UTF8 + b"version: 1\r\nservice: payment_api # c\r\n"
    )


@pytest.mark.parametrize(
    "data",
    [
        POLICY.encode("utf-16"),
        POLICY.encode("utf-16-le"),
        POLICY.encode("utf-16-be"),
        codecs.BOM_UTF16_BE + POLICY.encode("utf-16-be"),
        POLICY.encode("utf-32"),
        (POLICY + "owner: Zoë\n").encode("latin-1"),
        (POLICY + "owner: \0\n").encode(),
        codecs.BOM_UTF8,
    ],
)
def test_other_encodings_give_one_clear_finding(data: bytes) -> None:
    """One finding at 1:1 with a remedy, whatever the bytes are."""
    (found,) = read(data, "f.yaml").diagnostics
    assert found.code in ("SY001", "SY002", "SY019")
    assert str(found.span) == "f.yaml:1:1"
    assert found.help
