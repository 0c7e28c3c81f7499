"""How one key of a policy is checked: markers that annotate the model's fields.

A marker builds the pydantic core schema of its field, so that no union reaches
pydantic and every error carries the document's own path, one clear message and a hint.
The same markers describe their field to ``shape`` and ``schema``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from policyctl.units import UnitError, quote

Off = Literal["off"]
OFF: Off = "off"
MOST_ITEMS = 1000
_ANY = core_schema.any_schema()
_PLAIN = core_schema.simple_ser_schema("any")


class Settings(BaseModel):
    """Base of every block: keys are optional, unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_by_name=False,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,
    )


def setting(
    description: str,
    *examples: object,
    alias: str | None = None,
    default: object = None,
    by_default: str = "",
) -> Any:
    """Declare an optional key with its description and examples (as YAML values).

    ``default`` is what later steps fill in where the block is present; ``by_default``
    says it in words where it depends on other settings. Both are for readers: the model
    itself fills nothing in.
    """
    words = by_default if default is None else _yaml(default)
    return Field(
        default=None,
        description=description,
        examples=list(examples),
        alias=alias,
        json_schema_extra={"by_default": words, "default": cast(Any, default)},
    )


def _yaml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def required(description: str, *examples: object) -> Any:
    """Declare a key that its block cannot do without."""
    return Field(description=description, examples=list(examples))


def fail(
    check: str,
    message: str,
    hint: str | Callable[[], str] = "",
    index: int | None = None,
) -> PydanticCustomError:
    """Build the error of one value; ``check`` is a name of ``model.codes``.

    ``index`` names the item of a list that the error is about. A hint that is dear to
    find is a function, called for the findings that are shown.
    """
    context = {"check": check, "message": message, "hint": hint, "index": index}
    return PydanticCustomError("policy", "{message}", context)


def kind_of(value: object) -> str:
    """What a YAML value is, in a user's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a mapping" if isinstance(value, dict) else "a list"


def is_off(value: object) -> bool:
    """Whether a value switches something off, whichever YAML version read it."""
    return value is False or value == OFF


def show_value(value: Any) -> str:
    """The value in backticks, or its kind where it is a collection."""
    kind = kind_of(value)
    if kind in ("a mapping", "a list", "null"):
        return kind
    if kind == "a boolean":
        return quote("true" if value else "false")
    return quote(value)


class Marker:
    """Base of the markers; ``off`` says whether ``off`` may stand for the value."""

    off: bool

    def __get_pydantic_core_schema__(
        self, _source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return self.core(handler)

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The pydantic core schema of the field."""
        raise fail("wrong-type", "no schema")


class Scalar(Marker):
    """Base of the markers of single values."""

    check: ClassVar[str] = "wrong-type"

    def read(self, value: object) -> object:
        """Return the parsed value.

        Raises:
            UnitError: the value does not fit.
        """
        return value

    def validate(self, value: object) -> object:
        """``read`` for pydantic: ``off`` passes where it may, errors are located."""
        if self.off and (value is False or value == OFF):
            return OFF
        try:
            return self.read(value)
        except UnitError as error:
            raise fail(
                getattr(error, "check", self.check), error.message, error.lazy_hint
            ) from None

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A plain function: one Python call for each value."""
        return core_schema.no_info_plain_validator_function(self.validate)


@dataclass(frozen=True, slots=True)
class Items(Marker):
    """A list of single values; no value twice."""

    item: Scalar
    off: bool = True
    nonempty: bool = False

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A list schema, so that an error points at the item."""
        return core_schema.no_info_wrap_validator_function(
            self._validate,
            core_schema.list_schema(self.item.core(handler)),
            serialization=_PLAIN,
        )

    def _validate(self, value: Any, handler: Callable[[Any], list[Any]]) -> object:
        if self.off and is_off(value):
            return OFF
        if kind_of(value) != "a list":
            raise fail(
                "wrong-type", f"{show_value(value)} is not a list", _list_hint(value)
            )
        if self.nonempty and not value:
            raise fail("wrong-type", "the list is empty", "name at least one")
        if len(value) > MOST_ITEMS:
            raise fail(
                "wrong-type",
                f"the list has {len(value)} items",
                f"name at most {MOST_ITEMS}",
            )
        found = handler(value)
        if len(set(found)) != len(found):
            index = next(i for i, item in enumerate(found) if item in found[:i])
            raise fail(
                "duplicate-item",
                f"{quote(found[index])} is in the list twice",
                "remove one of them",
                index,
            )
        return found


def _list_hint(value: object) -> str:
    return (
        f"write [{value}]"
        if isinstance(value, (str, int)) and len(str(value)) < 60
        else "write a list"
    )


Expand = Callable[[object], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Block(Marker):
    """A mapping validated by ``model``; ``short`` turns its short form into a mapping."""

    model: type[BaseModel]
    short: Expand | None = None
    off: bool = True

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The model's schema behind a function that expands short forms."""
        return core_schema.no_info_wrap_validator_function(
            self._validate, handler.generate_schema(self.model), serialization=_PLAIN
        )

    def _validate(self, value: Any, handler: Callable[[Any], object]) -> object:
        if isinstance(value, (dict, self.model)):
            return handler(value)
        if self.off and is_off(value):
            return OFF
        if self.short is None:
            raise fail(
                "wrong-type",
                f"{show_value(value)} is not a mapping",
                lambda: block_hint(self.model),
            )
        try:
            return handler(self.short(value))
        except UnitError as error:
            raise fail(
                getattr(error, "check", "wrong-type"), error.message, error.lazy_hint
            ) from None


def block_hint(model: type[BaseModel]) -> str:
    """The hint for a scalar or a list where a block is wanted."""
    for name, field in model.model_fields.items():
        if field.examples and not isinstance(field.examples[0], (dict, list)):
            return f"write for example {{{field.alias or name}: {field.examples[0]}}}"
    return "write a mapping"


@dataclass(frozen=True, slots=True)
class Named(Marker):
    """A mapping of names to blocks; the names themselves are checked elsewhere."""

    model: type[BaseModel]
    off: bool = False

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A dictionary schema; each block must be a mapping."""
        block = Block(self.model, off=False).core(handler)
        return core_schema.no_info_wrap_validator_function(
            self._validate, core_schema.dict_schema(_ANY, block), serialization=_PLAIN
        )

    def _validate(self, value: Any, handler: Callable[[Any], object]) -> object:
        if self.off and is_off(value):
            return OFF
        if not isinstance(value, dict):
            raise fail(
                "wrong-type",
                f"{show_value(value)} is not a mapping",
                "write each name as a key with a mapping below it",
            )
        return handler(value)


@dataclass(frozen=True, slots=True)
class Blocks(Marker):
    """A list of blocks."""

    model: type[BaseModel]
    off: bool = True

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A list schema; each item must be a mapping."""
        block = Block(self.model, off=False).core(handler)
        return core_schema.no_info_wrap_validator_function(
            self._validate, core_schema.list_schema(block), serialization=_PLAIN
        )

    def _validate(self, value: Any, handler: Callable[[Any], object]) -> object:
        if self.off and is_off(value):
            return OFF
        if not isinstance(value, list):
            raise fail(
                "wrong-type",
                f"{show_value(value)} is not a list",
                "write each entry as a list item, with a dash before it",
            )
        return handler(value)


@dataclass(frozen=True, slots=True)
class Anything(Marker):
    """Any value at all, null included."""

    off: bool = False

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """No check."""
        return _ANY
