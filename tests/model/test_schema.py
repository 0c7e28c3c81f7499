"""The JSON Schema: complete, with examples that hold, and in step with the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from policyctl.checks.limits import Limit, show
from policyctl.model.attempt_timeout import AttemptTimeout
from policyctl.model.backoff import Jitter
from policyctl.model.budget import Budget
from policyctl.model.circuit_breaker import RecoveryTimeout, Window
from policyctl.model.fields import Anything, Block, Blocks, Items, Marker, Named, Scalar
from policyctl.model.idempotency import KeyForms
from policyctl.model.operation import Operation
from policyctl.model.queues import Queue
from policyctl.model.scalars import (
    Choice,
    Flag,
    Number,
    Status,
    Text,
)
from policyctl.model.schema import policy_schema
from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.validate import parse_document
from policyctl.source.plain import to_plain
from policyctl.source.reader import read

ROOT = Path(__file__).parents[2]
SCHEMA = policy_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
Keys = tuple[str, ...]


def errors(data: object) -> list[str]:
    """What the schema finds wrong with plain data."""
    return [error.message[:200] for error in VALIDATOR.iter_errors(data)]


def marker_of(info: FieldInfo) -> Marker:
    """The marker that a field is annotated with."""
    return next(m for m in info.metadata if isinstance(m, Marker))


def fields(model: type[BaseModel], path: Keys = ()) -> Iterator[tuple[Keys, FieldInfo]]:
    """Every field below a model with its path; ``*`` is a name, ``-`` an item."""
    for name, info in model.model_fields.items():
        here = (*path, info.alias or name)
        yield here, info
        if here[-1] in ("defaults", "override", "inbound") and len(here) > 1:
            continue
        marker = marker_of(info)
        if isinstance(marker, Block):
            yield from fields(marker.model, here)
        elif isinstance(marker, Named):
            yield from fields(marker.model, (*here, "*"))
        elif isinstance(marker, Blocks):
            yield from fields(marker.model, (*here, "-"))


FIELDS = {path: info for m in (ServiceModel, PresetModel) for path, info in fields(m)}
_NEEDED: dict[str, dict[str, object]] = {
    "calls": {"to": "a.b"},
    "layers": {"name": "mesh", "max_attempts": 2},
    "ignore": {"rule": "RT001", "reason": "x"},
}


def document(path: Keys, value: object) -> dict[str, Any]:
    """A document that holds ``value`` at ``path`` and what else it needs."""
    data = value
    for index in range(len(path) - 1, -1, -1):
        part = path[index]
        if part == "*":
            data = {"thing": data}
        elif part == "-":
            assert isinstance(data, dict)
            data = [{**_NEEDED[path[index - 1]], **data}]
        else:
            data = {part: data}
    assert isinstance(data, dict)
    if path[0] == "preset":
        return {"version": 1, **data}
    return {"version": 1, "service": "pay", "operations": {}, **data}


def test_the_schema_is_a_schema() -> None:
    """It is valid for its own dialect, and says which that is."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_every_key_is_described_with_examples_that_hold(path: Keys) -> None:
    """Each example is accepted by the model and by the schema."""
    info = FIELDS[path]
    assert info.description
    assert info.description.endswith(".")
    assert info.examples
    model = PresetModel if path[0] == "preset" else ServiceModel
    for example in info.examples:
        data = document(path, example)
        model.model_validate(data)
        assert errors(data) == []


def properties(schema: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property in the schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"].items()
        for value in schema.values():
            yield from properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value)


def test_every_property_tells_an_editor_what_it_is() -> None:
    """Descriptions and examples reach the schema itself."""
    found = list(properties(SCHEMA))
    assert len(found) > 150
    assert [name for name, schema in found if not schema.get("description")] == []
    assert [name for name, schema in found if not schema.get("examples")] == []


@pytest.mark.parametrize(
    "data",
    [
        {"version": 1, "service": "pay"},
        {"version": 2, "service": "pay", "operations": {}},
        {"version": 1, "service": "Pay", "operations": {}},
        {"service": "pay", "operations": {}},
        {"version": 1, "service": "pay", "preset": "base", "operations": {}},
        {"version": 1, "preset": "base", "operations": {}},
        {"version": 1, "service": "pay", "operations": {"getIt": {}}},
        document(("operations", "*", "retri"), {}),
        document(("operations", "*", "retry"), None),
        document(("operations", "*", "attempt_timeout"), 30),
        document(("operations", "*", "attempt_timeout"), "30"),
        document(("operations", "*", "attempt_timeout"), ""),
        document(("operations", "*", "retry", "max_attempts"), 0),
        document(("operations", "*", "retry", "max_attempts"), True),
        document(("operations", "*", "retry", "retry_on"), "timeout"),
        document(("operations", "*", "fallback"), {"value": 1, "call": "a:b"}),
        document(("operations", "*", "idempotency", "key"), []),
        document(("operations", "*", "idempotent"), "off"),
        document(("operations", "*", "circuit_breaker", "window"), "30"),
        document(("queues", "*", "max_bytes"), "10MB"),
        document(("operations", "*", "circuit_breaker", "failure_ratio"), "100.5%"),
        document(("operations", "*", "circuit_breaker", "failure_ratio"), "150%"),
    ],
)
def test_common_mistakes_show_in_an_editor(data: dict[str, Any]) -> None:
    """What the model refuses by its form alone, the schema refuses too."""
    assert errors(data)


def test_notes_are_allowed_everywhere() -> None:
    """Keys that begin with x- are welcome in every block."""
    data = document(("operations", "*", "retry"), {"x-why": None, "max_attempts": 2})
    data["operations"]["x-common"] = {"anything": [1]}
    data["x-note"] = 5
    assert errors(data) == []


_FILES = sorted(p for p in (ROOT / "policies").rglob("*.yaml"))


@pytest.mark.parametrize("file", _FILES, ids=[str(p.relative_to(ROOT)) for p in _FILES])
def test_our_own_policies_follow_the_schema(file: Path) -> None:
    """Every document under policies/ is accepted."""
    for read_one in read(file.read_bytes(), "f.yaml").documents:
        assert errors(to_plain(read_one.root)) == []


def number_texts(limit: Limit) -> st.SearchStrategy[object]:
    """Values that a number of this kind may be written as, some of them wrong."""
    inside = st.floats(limit.minimum, limit.maximum) | st.sampled_from([0.0, 1.0, 30.0])
    if limit.kind == "count":
        words = [limit.word] if limit.word else []
        return st.integers(0, 50) | st.sampled_from([*words, True, 2.0])
    if limit.kind == "number":
        return st.integers(0, 5) | st.floats(0, 10)
    shown = inside.map(lambda number: show(limit.kind, number))
    if limit.kind == "ratio":
        return shown | st.floats(0, 1) | st.sampled_from([0, 1, 50])
    return shown | st.sampled_from(["1m30s", "40/s", "600/m", "1.5KiB", 5, "5"])


def scalars(marker: Scalar, examples: list[Any]) -> st.SearchStrategy[object]:
    """Values for a single value, mostly right ones."""
    given_ones = st.sampled_from(examples)
    if isinstance(marker, Number):
        return given_ones | number_texts(marker.limit)
    if isinstance(marker, Choice):
        return st.sampled_from(marker.values)
    if isinstance(marker, Flag):
        return st.booleans()
    if isinstance(marker, Status):
        return st.integers(90, 610) | st.sampled_from(
            ["502-504", "504-502", "UNAVAILABLE", "08*", "40001", "5xx", "HV00*"]
        )
    if isinstance(marker, Text) and marker.parse is None:
        return given_ones | st.text(
            st.characters(categories=["L", "N", "P", "Zs"]), max_size=5
        )
    return given_ones | st.sampled_from(["json", "a.b", "a:b", "operation", "X", "x"])


_SHORT: dict[type[BaseModel], list[object]] = {
    AttemptTimeout: ["5s", "250ms", 5],
    Budget: ["15s", "1m30s"],
    RecoveryTimeout: ["30s", "0s"],
    Window: ["30s", "100 calls", "1 call", "1d12h"],
    Jitter: ["full", "none", "20%", 0.2, 1, "ratio"],
}


def values(marker: Marker, examples: list[Any], depth: int) -> st.SearchStrategy[Any]:
    """Values for one key: short forms, long forms, off, now and then wrong ones."""
    off = st.sampled_from(["off", False])
    if isinstance(marker, Block):
        forms: st.SearchStrategy[Any] = blocks(marker.model, depth - 1)
        if marker.model in _SHORT:
            forms |= st.sampled_from(_SHORT[marker.model])
    elif isinstance(marker, Named):
        names = st.sampled_from(["charge", "get_it", "x-note"])
        forms = st.dictionaries(names, blocks(marker.model, depth - 1), max_size=2)
    elif isinstance(marker, Blocks):
        forms = st.lists(blocks(marker.model, depth - 1), max_size=2)
    elif isinstance(marker, Items):
        flat = [item for example in examples for item in example]
        forms = st.lists(scalars(marker.item, flat), max_size=3)
    elif isinstance(marker, KeyForms | Anything):
        forms = st.sampled_from([*examples, ["order.id"], ["a", "a"]])
    else:
        assert isinstance(marker, Scalar)
        forms = scalars(marker, examples)
    return st.one_of(forms, forms, forms, off)


def blocks(model: type[BaseModel], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings for a block: its required keys and a few of the others."""
    if depth < 0:
        return st.just({})
    needed, others = {}, {}
    for name, info in model.model_fields.items():
        strategy = values(marker_of(info), info.examples or [], depth)
        if info.is_required():
            needed[info.alias or name] = st.sampled_from(info.examples or [])
        else:
            others[info.alias or name] = strategy
    return st.lists(
        st.sampled_from(sorted(others) or ["x-note"]), max_size=4, unique=True
    ).flatmap(
        lambda names: st.fixed_dictionaries(
            {**needed, **{name: others.get(name, st.none()) for name in names}}
        )
    )


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks(ServiceModel, 2))
def test_what_the_model_accepts_of_a_service_the_schema_accepts(
    data: dict[str, Any],
) -> None:
    """Over generated documents the schema is never stricter than the model."""
    agree({"calls": [], **data})


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks(Operation, 2))
def test_what_the_model_accepts_of_an_operation_the_schema_accepts(
    data: dict[str, Any],
) -> None:
    """Over generated operations the schema is never stricter than the model."""
    agree({"version": 1, "service": "pay", "operations": {"charge": data}})


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks(Queue, 2))
def test_what_the_model_accepts_of_a_queue_the_schema_accepts(
    data: dict[str, Any],
) -> None:
    """Over generated queues the schema is never stricter than the model."""
    agree({"version": 1, "service": "pay", "queues": {"jobs": data}})


def agree(data: dict[str, Any]) -> None:
    """The schema accepts what validation accepts; JSON is YAML."""
    (read_one,) = read(
        json.dumps(data, ensure_ascii=False).encode(), "f.yaml"
    ).documents
    if parse_document(read_one).model is None:
        event("refused")
        return
    event("accepted")
    assert errors(data) == []
