"""Reading: values, documents, places and limits, the same with both parsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import Severity
from policyctl.source.edits import apply_fixes
from policyctl.source.limits import Limits
from policyctl.source.nodes import (
    Document,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
)
from policyctl.source.plain import to_plain
from policyctl.source.reader import ReadResult, read
from policyctl.source.scalars import resolve

Reader = Callable[[str], ReadResult]
Walk = Callable[[Node], Iterator[Node]]


def values(result: ReadResult) -> list[Any]:
    """The plain data of all documents."""
    return [to_plain(document.root) for document in result.documents]


def shape(node: Node) -> Any:
    """Everything that a tree of nodes holds, comparable."""
    if isinstance(node, ScalarNode):
        return (node.start, node.end, repr(node.value), node.text, node.style)
    if isinstance(node, MappingNode):
        entries = [
            (name, shape(e.key), shape(e.value), e.merged, e.alias)
            for name, e in node.entries.items()
        ]
        return (node.start, node.end, node.flow, entries)
    items = [shape(item) for item in node.items]
    return (node.start, node.end, node.flow, items, node.aliases)


def root_mapping(result: ReadResult) -> MappingNode:
    """The root of the only document."""
    (document,) = result.documents
    assert isinstance(document.root, MappingNode)
    return document.root


def texts(result: ReadResult) -> dict[str, str]:
    """The source text of each value under the root."""
    assert result.source is not None
    text = result.source.text
    entries = root_mapping(result).entries
    return {name: text[slice(*e.extent)] for name, e in entries.items()}


def test_values_of_all_styles(reader: Reader) -> None:
    """Block, flow, quoted and folded forms give the data that they mean."""
    result = reader(
        "plain: some text\nsingle: 'it''s'\ndouble: \"a\\tb\"\n"
        "literal: |\n  one\n  two\nfolded: >-\n  one\n  two\n"
        "flow: {a: 1, b: [x, 2.5, true, null]}\nblock:\n- a\n- b: c\nempty:\n"
    )
    assert result.diagnostics == ()
    assert values(result) == [
        {
            "plain": "some text",
            "single": "it's",
            "double": "a\tb",
            "literal": "one\ntwo\n",
            "folded": "one two",
            "flow": {"a": 1, "b": ["x", 2.5, True, None]},
            "block": ["a", {"b": "c"}],
            "empty": None,
        }
    ]


def test_spans_cover_the_text_of_each_value(reader: Reader) -> None:
    """A span begins after anchor and tag and ends where the value's text ends."""
    result = reader(
        "a: plain text  # c\nb: &x 'quoted'\nc: !!str 5\nd: &y !!seq [1, 2]\n"
        "e: |  # head\n  text\n\nf: >+\n  kept\n\ng: *x\nh:\n- 1\n- 2\n\n# end\ni:\n"
    )
    assert texts(result) == {
        "a": "plain text",
        "b": "'quoted'",
        "c": "5",
        "d": "[1, 2]",
        "e": "|  # head\n  text",
        "f": ">+\n  kept\n\n",
        "g": "*x",
        "h": "- 1\n- 2",
        "i": "",
    }


def test_a_block_mapping_ends_with_its_last_value(reader: Reader) -> None:
    """Trailing comments and blank lines are not part of a block."""
    result = reader("a:\n  b: 1\n  c:\n    d: x\n\n  # on a\n\n# on all\ne: 2\n")
    assert texts(result)["a"] == "b: 1\n  c:\n    d: x"


def test_offsets_count_characters_of_the_text(reader: Reader) -> None:
    """Marks, multi-byte and astral characters and CRLF leave places right."""
    result = reader("\ufeffé: 1\r\n😀: [ü, '😀😀', z]\r\nlast: x\r\n")
    assert result.source is not None
    assert result.source.has_bom
    assert texts(result) == {"é": "1", "😀": "[ü, '😀😀', z]", "last": "x"}
    (document,) = result.documents
    assert str(document.locate(("😀", 2))) == "f.yaml:2:14"
    assert str(document.locate_key(("last",))) == "f.yaml:3:1"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_with_any_of_three_breaks(reader: Reader, newline: str) -> None:
    """LF, CRLF and CR give the same lines and columns."""
    result = reader(newline.join(["a: 1", "b:", "  c: 2", ""]))
    (document,) = result.documents
    assert values(result) == [{"a": 1, "b": {"c": 2}}]
    assert str(document.locate(("b", "c"))) == "f.yaml:3:6"
    assert document.source.newline == newline
    assert document.source.line_text(3) == "  c: 2"


def test_streams_give_documents_in_order(reader: Reader) -> None:
    """Documents are numbered, empty ones left out, and comments belong to the nearest."""
    result = reader("# one\na: 1\n---\n---\n# two\nb: 2\n...\n---\nc: 3 # three\n---\n")
    assert values(result) == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [document.index for document in result.documents] == [0, 1, 2]
    comments = [[c.text for c in d.comments] for d in result.documents]
    assert comments == [["# one"], ["# two"], ["# three"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file holds no document"),
        ("\n\n", "the file holds no document"),
        ("---\n", "the file holds no document"),
        ("# only\n# comments\n", "the file holds no document, only comments"),
    ],
)
def test_a_file_without_a_document_is_a_warning(
    reader: Reader, text: str, message: str
) -> None:
    """Nothing to read is said, and is no error."""
    result = reader(text)
    assert result.documents == ()
    (found,) = result.diagnostics
    assert (found.code, found.message, found.severity) == (
        "SY019",
        message,
        Severity.WARNING,
    )


def test_aliases_share_the_node_and_know_their_place(reader: Reader) -> None:
    """An alias is the anchored node itself, with the place of the alias beside it."""
    result = reader("a: &x {k: 1}\nb: *x\nc: [0, *x]\n")
    root = root_mapping(result)
    assert root.entries["b"].value is root.entries["a"].value
    assert root.entries["b"].alias == (16, 18)
    listed = root.entries["c"].value
    assert isinstance(listed, SequenceNode)
    assert listed.items[1] is root.entries["a"].value
    assert listed.aliases == {1: (26, 28)}
    assert listed.extent(0) == (23, 24)


def test_depth_counts_through_aliases(reader: Reader) -> None:
    """Levels of the aliased value add to those around the alias."""
    anchored = "a: &a " + "[" * 60 + "]" * 60
    fits, too_deep = (f"{anchored}\nb: {'[' * n}*a{']' * n}\n" for n in (39, 40))
    assert reader(fits).diagnostics == ()
    (found,) = reader(too_deep).diagnostics
    assert (found.code, str(found.span)) == ("SY014", "f.yaml:2:44")


def test_without_libyaml_the_pure_parser_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyYAML that was built without it gives the same documents."""
    text = b"a: [1, &x {b: 'c'}]\nd: *x\n"
    fast = read(text, "f.yaml")
    monkeypatch.setattr("policyctl.source.events.C_PARSER", None)
    pure = read(text, "f.yaml")
    assert [shape(d.root) for d in pure.documents] == [
        shape(d.root) for d in fast.documents
    ]


def test_an_anchor_may_be_defined_again(reader: Reader) -> None:
    """An alias means the last definition before it; another document starts afresh."""
    assert values(reader("[&a 1, *a, &a 2, *a]")) == [[1, 1, 2, 2]]
    (found,) = reader("- &a 1\n---\n- *a\n").diagnostics
    assert (found.code, str(found.span)) == ("SY012", "f.yaml:3:3")


def test_merge_keys(reader: Reader) -> None:
    """Own keys win wherever they stand, and the first of several mappings wins."""
    result = reader(
        "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\n"
        "one:\n  x: 9\n  <<: *b\n  w: 5\nall:\n  <<: [*b, *m, {q: 7}]\n"
    )
    assert result.diagnostics == ()
    (data,) = values(result)
    assert list(data["one"].items()) == [("x", 9), ("y", 2), ("w", 5)]
    assert data["all"] == {"x": 1, "y": 2, "z": 4, "q": 7}
    one = root_mapping(result).entries["one"].value
    assert isinstance(one, MappingNode)
    assert {k: e.merged for k, e in one.entries.items()} == {
        "x": False,
        "y": True,
        "w": False,
    }


def test_a_quoted_merge_key_is_a_key(reader: Reader) -> None:
    """Only a plain ``<<`` merges."""
    assert values(reader("'<<': {a: 1}\n")) == [{"<<": {"a": 1}}]


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: {<<: 3}", "1:9"), ("a:\n  <<:\n", "2:3"), ("a: {<<: [{b: 1}, x]}", "1:18")],
)
def test_only_mappings_can_be_merged(reader: Reader, text: str, place: str) -> None:
    """Anything else under ``<<`` is an error at its place."""
    (found,) = reader(text).diagnostics
    assert (found.code, str(found.span)) == ("SY017", f"f.yaml:{place}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!str " + "9" * 101, "9" * 101),
        ("!!int '5'", 5),
        ("!!int 0x1F", 31),
        ("!!float 5", 5.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
        ("!<tag:yaml.org,2002:str> 5", "5"),
        ("%TAG !y! tag:yaml.org,2002:\n--- !y!str 5", "5"),
    ],
)
def test_core_tags_are_followed(reader: Reader, text: str, value: object) -> None:
    """A tag of the core schema decides the type."""
    result = reader(text)
    assert result.diagnostics == ()
    assert values(result) == [value]
    assert [type(v) for v in values(result)] == [type(value)]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("!!int x", "SY018", "'x' does not fit the tag !!int"),
        ("!!int " + "9" * 101, "SY018", f"'{'9' * 59}…' does not fit the tag !!int"),
        ("!!int 1.5", "SY018", "'1.5' does not fit the tag !!int"),
        ("!!bool yes", "SY018", "'yes' does not fit the tag !!bool"),
        ("!!map [a]", "SY018", "'a list' does not fit the tag !!map"),
        ("!!seq x", "SY018", "'x' does not fit the tag !!seq"),
        ("!!binary aGk=", "SY011", "the tag !!binary is not allowed"),
        ("!!set {a}", "SY011", "the tag !!set is not allowed"),
        ("!mine x", "SY011", "the tag !mine is not allowed"),
        ("!str x", "SY011", "the tag !str is not allowed"),
        ("!<x> x", "SY011", "the tag !<x> is not allowed"),
        (
            "!!python/object/apply:os.system [x]",
            "SY011",
            "the tag !!python/object/apply:os.system is not allowed",
        ),
    ],
)
def test_other_tags_are_refused(
    reader: Reader, text: str, code: str, message: str
) -> None:
    """Nothing is constructed from a tag, and a wrong value under a tag is an error."""
    result = reader("a: 1\n---\nb: " + text)
    assert values(result) == [{"a": 1}]
    (found,) = result.diagnostics
    assert (found.code, found.message) == (code, message)
    assert str(found.span) == "f.yaml:3:4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1: a", "the key 1 is an integer, not a name"),
        ("1.5: a", "the key 1.5 is a number, not a name"),
        ("true: a", "the key true is a boolean, not a name"),
        ("~: a", "the key ~ is null, not a name"),
        ("?\n: a", "the key is missing"),
        ("[a]: b", "a list is used as a key"),
        ("? {a: 1}\n: b", "a mapping is used as a key"),
        ("{{ name }}: b", "a mapping is used as a key"),
    ],
)
def test_keys_are_text(reader: Reader, text: str, message: str) -> None:
    """A key that is not text is an error; yes, no, on and off are text."""
    (found,) = reader(text).diagnostics
    assert (found.code, found.message) == ("SY010", message)
    assert found.help is not None
    assert values(reader("on: 1\nno: 2\n'3': 4\n")) == [{"on": 1, "no": 2, "3": 4}]


def test_a_key_can_be_put_in_quotes() -> None:
    """The fix gives a key that is text."""
    result = read(b"0x1F : a # c\n", "f.yaml")
    assert result.source is not None
    (found,) = result.diagnostics
    assert found.fix is not None
    assert apply_fixes(result.source, [found.fix]).text == '"0x1F" : a # c\n'


def test_errors_inside_a_document_do_not_hide_each_other(reader: Reader) -> None:
    """Keys that are wrong are all reported, the first of a duplicate kept."""
    result = reader("a: 1\na: 2\n5: x\nb: {c: 1, c: 2}\n")
    assert [(d.code, str(d.span)) for d in result.diagnostics] == [
        ("SY009", "f.yaml:2:1"),
        ("SY010", "f.yaml:3:1"),
        ("SY009", "f.yaml:4:11"),
    ]
    assert values(result) == [{"a": 1, "5": "x", "b": {"c": 1}}]


def test_errors_are_bounded(reader: Reader) -> None:
    """After twenty findings one more says that reading stopped."""
    result = reader("a: 1\n" * 1000)
    assert [d.code for d in result.diagnostics] == ["SY009"] * 20 + ["SY022"]


@pytest.mark.parametrize("digits", ["9" * 101, "0x" + "f" * 5000, "1e" + "9" * 200])
def test_enormous_numbers_are_refused(reader: Reader, digits: str) -> None:
    """Python would refuse to print them, or make infinity of them."""
    (found,) = reader(f"a: {digits}").diagnostics
    message = f"a number of {len(digits):,} characters is too long"
    assert (found.code, found.message) == ("SY018", message)


def test_an_escape_for_half_a_character_is_refused(reader: Reader) -> None:
    """No text with lone surrogates comes out of the reader."""
    (found,) = reader(r'a: "\ud83d"').diagnostics
    assert (found.code, found.span.line) == ("SY008", 1)


def test_a_file_over_the_limit_is_not_parsed() -> None:
    """The size is checked before anything else."""
    result = read(b"\0" * 101, "f.yaml", Limits(max_bytes=100))
    assert result.source is None
    (found,) = result.diagnostics
    assert found.message == "the file is larger than the limit of 100 bytes"


@pytest.mark.parametrize(
    "text", ["[1, 2, 3, 4, 5]", "{a: 1, b: 2}", "- 1\n- 2\n- 3\n- 4"]
)
def test_values_are_counted(reader: Reader, text: str) -> None:
    """Scalars, keys and containers count; at the limit all is well."""
    total = 5 if text.startswith("{") else text.count(",") + 2
    if text.startswith("-"):
        total = 5
    data = text.encode()
    assert read(data, "f.yaml", Limits(max_values=total)).diagnostics == ()
    (found,) = read(data, "f.yaml", Limits(max_values=total - 2)).diagnostics
    assert (found.code, found.message) == (
        "SY015",
        f"the file holds more than {total - 2} values",
    )


def test_locate_points_at_keys_of_blocks() -> None:
    """For a block or empty value the key is the place; for what is absent the parent."""
    result = read(b"a:\n  b:\n    c: 1\n  d:\n  e: [1]\n", "f.yaml")
    (document,) = result.documents
    assert isinstance(document, Document)
    places = {
        path: str(document.locate(path))
        for path in [("a", "b"), ("a", "b", "c"), ("a", "d"), ("a", "e"), ("a", "x")]
    }
    assert places == {
        ("a", "b"): "f.yaml:2:3",
        ("a", "b", "c"): "f.yaml:3:8",
        ("a", "d"): "f.yaml:4:3",
        ("a", "e"): "f.yaml:5:6",
        ("a", "x"): "f.yaml:1:1",
    }


def test_both_parsers_agree_on_real_files(corpus: list[Path]) -> None:
    """Values, spans and findings of libyaml and of the pure parser are equal."""
    for path in corpus:
        data = path.read_bytes()
        fast, pure = read(data, path.name), read(data, path.name, pure=True)
        assert [shape(d.root) for d in fast.documents] == [
            shape(d.root) for d in pure.documents
        ], path.name
        assert [(d.code, d.span) for d in fast.diagnostics] == [
            (d.code, d.span) for d in pure.diagnostics
        ], path.name


def test_spans_of_real_files_hold_the_scalars(
    corpus: list[Path], nodes_of: Walk
) -> None:
    """The text of a span, read alone, is the scalar again."""
    for path in corpus:
        result = read(path.read_bytes(), path.name)
        for document in result.documents:
            for node in nodes_of(document.root):
                if not isinstance(node, ScalarNode) or "\n" in node.text:
                    continue
                text = document.source.text[node.start : node.end]
                if node.style == "plain":
                    assert text == node.text, path.name
                elif node.style in ("single", "double"):
                    assert yaml.safe_load(text) == node.text, path.name


_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | _text.filter(lambda text: isinstance(resolve(text.strip() or "a"), str))
)
_keys = st.from_regex(r"[a-z][a-z0-9_ #:'-]{0,8}[a-z]", fullmatch=True)
_data = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(data=_data, flow=st.booleans(), crlf=st.booleans())
def test_what_a_writer_writes_is_read_back(
    data: object, flow: bool, crlf: bool
) -> None:
    """Data written by PyYAML in any style comes back equal, with the same types."""
    text = yaml.safe_dump([data], default_flow_style=flow, sort_keys=False, width=40)
    if crlf:
        text = text.replace("\n", "\r\n")
    result = read(text.encode(), "f.yaml")
    assert result.diagnostics == ()
    assert repr(values(result)) == repr([[data]])


_SPECIAL = "abc:-[]{}#&*!|>'\"%@`,?<=~01. \n\t\r\\é\ufeff😀"


@settings(max_examples=400, deadline=None)
@given(text=st.text(_SPECIAL, max_size=60), pure=st.booleans())
def test_any_text_gives_documents_or_placed_findings(text: str, pure: bool) -> None:
    """No text raises; each finding has a place inside the text, and a remedy."""
    result = read(text.encode(), "f.yaml", pure=pure)
    assert result.source is not None
    assert result.documents or result.diagnostics
    length = len(result.source.text)
    for found in result.diagnostics:
        assert 0 <= found.span.start <= found.span.end <= length
        assert found.span.line <= len(result.source.line_starts)
        assert found.message[:1] == found.message[:1].lower()
        assert found.help


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=40))
def test_any_bytes_give_documents_or_findings(data: bytes) -> None:
    """No bytes raise."""
    result = read(data, "f.yaml")
    assert result.documents or result.diagnostics
