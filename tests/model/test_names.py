"""Names inside one document."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policyctl.model.validate import Parsed

Found = Callable[[str], list[str]]
_HEAD = "version: 1\nservice: pay\n"


@pytest.mark.parametrize(
    ("names", "message", "first"),
    [
        (("charge", "Charge"), "`Charge` and `charge` are one name in generated code", 4),
        (("getThing", "get_thing"), "`get_thing` and `getThing` are one name in generated code", 4),
        (("get-thing", "GET thing"), "`GET thing` and `get-thing` are one name in generated code", 4),
        (("id", "_id"), "`_id` and `id` are one name in generated code", 4),
        (("ﬁle", "file"), "`file` and `ﬁle` are one name in generated code", 4),
    ],
)  # fmt: skip
def test_operations_that_fold_to_one_name_are_both_shown(
    names: tuple[str, str], message: str, first: int, parse: Callable[[str], Parsed]
) -> None:
    """The later one is the finding's place, the first one is related."""
    text = _HEAD + "operations:\n" + "".join(f"  {name}: {{}}\n" for name in names)
    (found,) = (d for d in parse(text).diagnostics if d.name == "name-collision")
    assert found.message == message
    assert (found.span.line, found.related[0].span.line) == (first + 1, first)


def test_an_operation_and_a_queue_cannot_share_a_name(
    parse: Callable[[str], Parsed],
) -> None:
    """Both would be an attribute of one module."""
    text = _HEAD + "operations: {jobs: {}}\nqueues: {jobs: {max_size: 1}}\n"
    (found,) = parse(text).diagnostics
    assert found.message == "`jobs` and `jobs` are the same name"
    assert (found.span.line, found.related[0].span.line) == (4, 3)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("class", "3:14 invalid-name: the name `class` is a keyword of Python; write for example class_item"),
        ("match", "3:14 invalid-name: the name `match` is a keyword of Python; write for example match_item"),
        ("inbound", "3:14 invalid-name: the name `inbound` is used by the generated code itself; write for example inbound_api"),
        ("registry", "3:14 invalid-name: the name `registry` is used by the generated code itself; write for example registry_api"),
        ("None", "3:14 invalid-name: the name `None` is not a snake_case identifier; write none"),
        ("getThing", "3:14 invalid-name: the name `getThing` is not a snake_case identifier; write get_thing"),
        ("'../x'", "3:14 invalid-name: the name `../x` is not a snake_case identifier; write x"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_generated_are_refused(
    name: str, finding: str, found: Found
) -> None:
    """Keywords, reserved words and other spellings are told what to write."""
    assert found(_HEAD + f"operations: {{{name}: {{}}}}\n") == [finding]


def test_names_of_overlays_are_left_to_their_operations(found: Found) -> None:
    """An overlay names operations that exist elsewhere; resolve compares them."""
    text = _HEAD + "operations: {a: {}}\nenvironments: {qa: {operations: {a: {}}}}\n"
    assert found(text) == []
