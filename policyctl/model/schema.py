"""The JSON Schema (draft 2020-12) of a policy document, for editors and other tools.

It is built from the same fields that the model validates with: every key has its
description and examples, short and long forms stand side by side, and ``off`` is
allowed where the model allows it. What the model accepts, the schema accepts; what
needs arithmetic or other documents is left to ``policyctl validate``.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from policyctl.model.attempt_timeout import AttemptTimeout
from policyctl.model.backoff import Jitter
from policyctl.model.budget import Budget
from policyctl.model.circuit_breaker import RecoveryTimeout, Window
from policyctl.model.fields import Anything, Block, Blocks, Items, Marker, Named, Scalar
from policyctl.model.forms import ALTERNATIVES
from policyctl.model.idempotency import KeyCall, KeyForms
from policyctl.model.kinds import ARGUMENT_PATH, JITTERS
from policyctl.model.scalar_schema import PERCENT, WINDOW, scalar_schema
from policyctl.model.service import Overlay, PresetModel, ServiceModel

JsonSchema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OFF: JsonSchema = {
    "enum": ["off", False],
    "description": "Switch off what is inherited.",
}
_EXTENSIONS: JsonSchema = {"^x-": {"description": "A note; kept and ignored."}}
_SHORT_KEYS: dict[type[BaseModel], str] = {
    AttemptTimeout: "total",
    Budget: "total",
    RecoveryTimeout: "initial",
}
_SOMETHING = ("operations", "calls", "inbound", "queues")
_NAME = r"^(x-.*|[a-z][a-z0-9]*(_[a-z0-9]+)*)$"
_ENVIRONMENT = r"^(x-.*|[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*)$"


def policy_schema() -> JsonSchema:
    """Return the schema of one document: a service, or a preset."""
    builder = _Builder()
    service = builder.reference(ServiceModel)
    preset = builder.reference(PresetModel)
    return {
        "$schema": DIALECT,
        "title": "policyctl policy, version 1",
        "description": "Resilience policies of one service, or a preset for several.",
        "type": "object",
        "if": {"required": ["preset"], "not": {"required": ["service"]}},
        "then": preset,
        "else": service,
        "$defs": dict(sorted(builder.definitions.items())),
    }


class _Builder:
    """Collects the definitions of the blocks that a schema refers to."""

    def __init__(self) -> None:
        self.definitions: dict[str, JsonSchema] = {}

    def reference(self, model: type[BaseModel]) -> JsonSchema:
        """A reference to the definition of a model, made where it is missing."""
        name = model.__name__.removesuffix("Model")
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = self._object(model)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, model: type[BaseModel]) -> JsonSchema:
        properties: dict[str, JsonSchema] = {}
        for name, info in model.model_fields.items():
            properties[info.alias or name] = self._property(info)
        schema: JsonSchema = {
            "type": "object",
            "description": (model.__doc__ or "").strip(),
            "properties": properties,
            "patternProperties": _EXTENSIONS,
            "additionalProperties": False,
        }
        required = [n for n, info in model.model_fields.items() if info.is_required()]
        if required:
            schema["required"] = required
        if model is ServiceModel:
            schema["anyOf"] = [{"required": [name]} for name in _SOMETHING]
        pairs = _pairs(ALTERNATIVES.get(model, ()))
        if pairs:
            schema["allOf"] = [{"not": {"required": pair}} for pair in pairs]
        return schema

    def _property(self, info: FieldInfo) -> JsonSchema:
        marker = next(m for m in info.metadata if isinstance(m, Marker))
        forms = self.forms(marker)
        if marker.off:
            forms.append(_OFF)
        schema: JsonSchema = {"description": describe(info)}
        schema |= forms[0] if len(forms) == 1 else {"anyOf": forms}
        schema["examples"] = info.examples
        default = default_of(info)
        return schema if default is None else {**schema, "default": default}

    def forms(self, marker: Marker) -> list[JsonSchema]:
        """The forms that a value may have, ``off`` left out."""
        if isinstance(marker, Block):
            return [*self._short(marker.model), self.reference(marker.model)]
        if isinstance(marker, KeyForms):
            return self._key_forms()
        if isinstance(marker, Named):
            return [self._named(marker.model)]
        if isinstance(marker, Blocks):
            return [{"type": "array", "items": self.reference(marker.model)}]
        if isinstance(marker, Items):
            return [_array(marker.item, marker.nonempty)]
        if isinstance(marker, Scalar):
            return [scalar_schema(marker)]
        return [{}] if isinstance(marker, Anything) else []

    def _short(self, model: type[BaseModel]) -> list[JsonSchema]:
        key = _SHORT_KEYS.get(model)
        if key is not None:
            metadata = model.model_fields[key].metadata
            return [scalar_schema(m) for m in metadata if isinstance(m, Scalar)]
        if model is Window:
            return [{"type": "string", "pattern": WINDOW}]
        if model is Jitter:
            ratio = {"type": "number", "minimum": 0, "maximum": 1}
            return [
                {"enum": list(JITTERS)},
                {"type": "string", "pattern": PERCENT},
                ratio,
            ]
        return []

    def _named(self, model: type[BaseModel]) -> JsonSchema:
        pattern = _ENVIRONMENT if model is Overlay else _NAME
        return {
            "type": "object",
            "propertyNames": {"pattern": pattern},
            "patternProperties": _EXTENSIONS,
            "additionalProperties": self.reference(model),
        }

    def _key_forms(self) -> list[JsonSchema]:
        info = KeyCall.model_fields["call"]
        call = {
            "type": "object",
            "properties": {"call": self._property(info)},
            "patternProperties": _EXTENSIONS,
            "additionalProperties": False,
        }
        return [_array(ARGUMENT_PATH, True), call]


def default_of(info: FieldInfo) -> Any:
    """The value that an absent key of a present block gets; None where there is none."""
    return _extra(info).get("default")


def by_default(info: FieldInfo) -> str:
    """The default in words; empty where there is none."""
    return str(_extra(info).get("by_default", ""))


def _extra(info: FieldInfo) -> dict[str, Any]:
    return cast("dict[str, Any]", info.json_schema_extra or {})


def describe(info: FieldInfo) -> str:
    """A key's description with its default."""
    words = by_default(info)
    return f"{info.description} Default: {words}." if words else str(info.description)


def _array(item: Scalar, nonempty: bool) -> JsonSchema:
    schema: JsonSchema = {
        "type": "array",
        "items": scalar_schema(item),
        "uniqueItems": True,
    }
    return {**schema, "minItems": 1} if nonempty else schema


def _pairs(names: tuple[str, ...]) -> list[list[str]]:
    return [[a, b] for i, a in enumerate(names) for b in names[i + 1 :]]
