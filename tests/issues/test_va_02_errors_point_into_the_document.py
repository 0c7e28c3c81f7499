"""VA-02: error locations are paths of the document, never of the model.

https://github.com/pydantic/pydantic/issues/7500 and
https://github.com/pydantic/pydantic/issues/7261
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from policyctl.diagnostics import Diagnostic
from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.shape import Shape, shape_of
from policyctl.model.validate import parse_document
from policyctl.source.nodes import Document
from policyctl.source.reader import read

Path = tuple[str, ...]
_LISTS = ("calls", "layers", "ignore")
_REQUIRED = {
    "calls": "to: a.b",
    "layers": "name: a, max_attempts: 2",
    "ignore": "rule: RT001, reason: x",
}
_INTERNALS = re.compile(
    r"pydantic|Input should|Model\b|Settings\b|type=|input_value|\bdict\b|\bstr\b|"
    r"\bNone\b|Literal|union|validator|function-|Traceback|object at|errors\.|<class",
)


def leaves(shape: Shape, path: Path = ()) -> Iterator[tuple[Path, Shape]]:
    """Every key of a shape with its path; ``*`` stands for names and items."""
    for name, child in shape.keys.items():
        yield (*path, name), child
        if child.kind == "block":
            yield from leaves(child, (*path, name))
        elif child.item is not None:
            yield from leaves(child.item, (*path, name, "*"))


def is_tested(path: Path) -> bool:
    """Overlays and overrides repeat the keys of operations: a part of them will do."""
    repeated = path[0] == "environments" or "override" in path or path[0] == "defaults"
    return not repeated or "retry" in path or len(path) <= 3


SERVICE = {
    path: shape
    for path, shape in leaves(shape_of(ServiceModel))
    if shape.kind != "any" and is_tested(path)
}


def flow(path: Path, value: str, name: str = "thing") -> str:
    """YAML of a service with ``value`` at ``path``; the other keys are as needed."""
    text = value
    for index in range(len(path) - 1, -1, -1):
        part = path[index]
        if part != "*":
            text = f"{{{part}: {text}}}"
        elif path[index - 1] in _LISTS:
            given = path[index + 1]
            rest = [
                p
                for p in _REQUIRED[path[index - 1]].split(", ")
                if not p.startswith(f"{given}:")
            ]
            text = "[{" + ", ".join([*rest, text[1:-1]]) + "}]"
        else:
            text = f"{{{name}: {text}}}"
    needed = {
        "version": "version: 1",
        "service": "service: pay",
        "operations": "operations: {}",
    }
    head = [line for key, line in needed.items() if key != path[0]]
    return "\n".join([*head, text[1:-1], ""])


def check(document: Document, finding: Diagnostic) -> None:
    """The path exists, and neither texts nor codes show what the model is made of."""
    dotted = finding.policy_path.removeprefix("pay.").replace("a.b c", "a-b c")
    keys = [key.replace("a-b c", "a.b c") for key in dotted.split(".")]
    path = tuple(int(key) if key.isdigit() else key for key in keys)
    assert len(list(document.walk(path))) == len(path)
    shown = f"{finding.message} {finding.help} {finding.policy_path} {finding.name}"
    assert not _INTERNALS.search(shown), shown
    assert finding.help


@pytest.mark.parametrize("path", SERVICE, ids=".".join)
def test_one_bad_value_is_one_error_at_that_value(path: Path) -> None:
    """Under each key a value that cannot be is reported there, or inside it."""
    for bad in ("[[{}]]", "{'a.b c': 1}", "!!str ''"):
        text = flow(path, bad)
        (document,) = read(text.encode(), "f.yaml").documents
        found = parse_document(document).diagnostics
        found = tuple(d for d in found if d.name != "nothing-to-protect")
        named = bad.startswith("{") and SERVICE[path].kind == "named"
        assert len(found) == 1 or (named and len(found) == 2), found
        for finding in found:
            start = text.index(bad)
            assert start <= finding.span.start <= start + len(bad)
            check(document, finding)


@pytest.mark.parametrize(
    "name", ["a.b", "'a b'", "3", "'3'", "0x1F", "'-'", "'é'", "''"]
)
def test_names_with_dots_spaces_and_digits_keep_their_place(name: str) -> None:
    """An error below a strangely named operation points at its own value."""
    text = (
        f"version: 1\nservice: pay\noperations:\n  {name}:\n    attempt_timeout: 30\n"
    )
    (document,) = read(text.encode(), "f.yaml").documents
    findings = parse_document(document).diagnostics
    places = {d.name: (d.span.line, d.span.column) for d in findings}
    assert places == {"invalid-name": (4, 3), "invalid-duration": (5, 22)}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("service: pay\noperations: {}\n", 1, 1),
        ("version: 1\nservice: pay\ncalls:\n  - per_request: 1\n", 4, 5),
        ("version: 1\nservice: pay\noperations:\n  a:\n    calls:\n      - mode: parallel\n", 6, 9),
        ("version: 1\nservice: pay\noperations: {}\nignore:\n  - reason: x\n", 5, 5),
    ],
)  # fmt: skip
def test_a_missing_key_is_reported_at_its_parent(
    text: str, line: int, column: int
) -> None:
    """What is not there has the place of the block that lacks it."""
    (document,) = read(text.encode(), "f.yaml").documents
    (finding,) = parse_document(document).diagnostics
    assert finding.name == "missing-key"
    assert (finding.span.line, finding.span.column) == (line, column)


@pytest.mark.parametrize("key", ["service", "preset"])
def test_a_document_of_nothing_but_wrong_values_names_no_class(key: str) -> None:
    """Every top-level key wrong at once still shows no internals."""
    model = ServiceModel if key == "service" else PresetModel
    body = "".join(f"{name}: 3.5\n" for name in shape_of(model).keys)
    (document,) = read(body.encode(), "f.yaml").documents
    findings = parse_document(document).diagnostics
    assert len(findings) >= len(shape_of(model).keys) - 1
    for finding in findings:
        assert not _INTERNALS.search(f"{finding.message} {finding.help}"), finding
