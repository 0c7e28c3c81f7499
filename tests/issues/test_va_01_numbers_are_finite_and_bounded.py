"""VA-01: every number is finite and bounded; booleans and texts are not numbers.

https://github.com/pydantic/pydantic/issues/7296 and
https://github.com/pydantic/pydantic/issues/12561
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from policyctl.model.fields import Marker
from policyctl.model.scalars import Number, Target
from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.shape import Shape, leaf_marker, shape_of
from policyctl.model.validate import parse_document
from policyctl.source.reader import read

Path = tuple[str, ...]
_BAD = [".nan", ".inf", "-.inf", "nan", "1e999", "true", "'5'", "1" + "0" * 30, "-1"]
_BASE: dict[str, dict[str, object]] = {"ignore": {"rule": "RT001", "reason": "x"}, "layers": {"name": "a", "max_attempts": 2}, "calls": {"to": "a.b"}}  # fmt: skip


def numbers(shape: Shape, path: Path = ()) -> Iterator[tuple[Path, Marker]]:
    """Every numeric key of a shape with its path; ``*`` stands for names and items."""
    for name, child in shape.keys.items():
        marker = leaf_marker(child.marker)
        if isinstance(marker, Number | Target):
            yield (*path, name), marker
        if child.kind == "block":
            yield from numbers(child, (*path, name))
        elif child.item is not None:
            yield from numbers(child.item, (*path, name, "*"))


def is_tested(path: Path) -> bool:
    """Overlays and overrides repeat the keys of operations: a part of them will do."""
    repeated = path[0] in ("environments", "defaults") or "override" in path
    return not repeated or "budget" in path or "queues" in path


NUMBERS = {p: m for p, m in numbers(shape_of(ServiceModel)) if is_tested(p)}


def flow(path: Path, value: str) -> str:
    """YAML of a service with ``value`` at ``path``."""
    text = value
    for index in range(len(path) - 1, -1, -1):
        part = path[index]
        if part != "*":
            text = f"{{{part}: {text}}}"
            continue
        owner = path[index - 1]
        if owner in ("calls", "layers", "ignore"):
            rest = {k: v for k, v in _BASE[owner].items() if k != path[index + 1]}
            more = "".join(f"{k}: {v}, " for k, v in rest.items())
            text = f"[{{{more}{text[1:-1]}}}]"
        else:
            text = f"{{thing: {text}}}"
    head = f"version: 1\nservice: pay\n{text[1:-1]}\n"
    return (
        head
        if path[0] in ("operations", "queues", "calls", "inbound")
        else head + "operations: {}\n"
    )


@pytest.mark.parametrize("path", NUMBERS, ids=".".join)
def test_no_field_takes_what_is_no_bounded_number(path: Path) -> None:
    """Each numeric key refuses each such value with one error at that very value."""
    marker = NUMBERS[path]
    for bad in [*_BAD, *(["5.0"] if _is_count(marker) else [])]:
        text = flow(path, bad)
        (document,) = read(text.encode(), "f.yaml").documents
        (finding,) = parse_document(document).diagnostics
        assert finding.policy_path == ".".join(("pay", *path_in_text(path))), text
        assert text[finding.span.start : finding.span.end] == bad, text
        assert len(finding.message) < 120, text


def _is_count(marker: Marker) -> bool:
    return isinstance(marker, Number) and marker.limit.kind == "count"


def path_in_text(path: Path) -> list[str]:
    """The path with names and indexes as they stand in the text."""
    owners = ("calls", "layers", "ignore")
    return [
        ("0" if path[i - 1] in owners else "thing") if part == "*" else part
        for i, part in enumerate(path)
    ]


def test_there_are_numbers_to_test() -> None:
    """The walk finds the numeric keys of all blocks."""
    paths = {".".join(path) for path in NUMBERS}
    assert len(paths) > 150
    for known in (
        "operations.*.retry.max_attempts",
        "operations.*.circuit_breaker.window.calls",
        "operations.*.calls.*.override.budget.total",
        "queues.*.max_bytes",
        "facts.layers.*.max_attempts",
        "environments.*.queues.*.lease",
    ):
        assert known in paths


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "5", 10**30, -1])
def test_the_model_itself_refuses_them_too(value: object) -> None:
    """Data that comes from elsewhere than a YAML file is held to the same bounds."""
    data = {
        "version": 1,
        "preset": "base",
        "defaults": {"retry": {"backoff": {"multiplier": value}}},
    }
    with pytest.raises(ValidationError):
        PresetModel.model_validate(data)
