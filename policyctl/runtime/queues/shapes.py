"""Values of typed payloads as JSON data and back, directed by their annotations.

Plain JSON that any program can read: dataclasses and TypedDicts are objects, dates ISO
text, Decimal and UUID text, bytes base64, sets and tuples lists. What comes back equals
what went in, because the annotations say what it was.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """The two ways between a value and JSON data; both raise TypeError or ValueError."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


def shape_of(annotation: Any) -> Shape:
    """The shape of a type.

    Raises:
        TypeError: values of the type cannot be turned into JSON and back.
    """
    return _Builder().build(annotation)


def check_json(value: Any) -> Any:
    """A value that JSON gives back as it is.

    Raises:
        TypeError: it holds something else, for example a tuple or a key that is no text.
    """
    kind = _kind(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [check_json(item) for item in value]
    if kind is dict:
        return {_exactly(str, key): check_json(item) for key, item in value.items()}
    raise TypeError(f"a {kind.__name__} is not JSON")


def _kind(value: object) -> type[Any]:
    return type(value)


_KEPT: dict[Any, Any] = {set: set, frozenset: frozenset}
_PLAIN = frozenset({type(None), bool, int, float, str})


def _exactly(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _text_of(
    kind: type[Any], show: Callable[[Any], str], read: Callable[[str], Any]
) -> Shape:
    return Shape(
        lambda value: show(_instance(kind, value)),
        lambda data: read(_exactly(str, data)),
    )


def _instance(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _plain(kind: type[Any]) -> Shape:
    same = partial(_exactly, kind)
    return Shape(same, same)


_LEAVES: dict[Any, Shape] = {
    Any: Shape(check_json, lambda data: data),
    object: Shape(check_json, lambda data: data),
    None: _plain(types.NoneType),
    types.NoneType: _plain(types.NoneType),
    bool: _plain(bool),
    int: _plain(int),
    str: _plain(str),
    float: Shape(_number, _number),
    datetime: _text_of(datetime, datetime.isoformat, datetime.fromisoformat),
    date: _text_of(date, date.isoformat, date.fromisoformat),
    time: _text_of(time, time.isoformat, time.fromisoformat),
    Decimal: _text_of(Decimal, str, Decimal),
    UUID: _text_of(UUID, str, UUID),
    bytes: _text_of(
        bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode
    ),
    timedelta: Shape(
        lambda value: [
            _instance(timedelta, value).days,
            value.seconds,
            value.microseconds,
        ],
        lambda data: timedelta(data[0], data[1], data[2]),
    ),
}


class _Builder:
    """Builds shapes; a type that holds itself meets the shape that is being built."""

    def __init__(self) -> None:
        self._known: dict[Any, list[Shape]] = {}

    def build(self, annotation: Any) -> Shape:
        leaf = _LEAVES.get(annotation) if _is_hashable(annotation) else None
        if leaf is not None:
            return leaf
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin is typing.Annotated or origin in (
            typing.Required,
            typing.NotRequired,
        ):
            return self.build(arguments[0])
        if origin is typing.Literal:
            return _literal(arguments)
        if isinstance(annotation, typing.NewType):
            return self.build(annotation.__supertype__)
        if isinstance(origin or annotation, type):
            return self._of_class(origin or annotation, arguments)
        raise TypeError(f"{annotation!r} cannot be stored as JSON")

    def _of_class(self, kind: type[Any], arguments: tuple[Any, ...]) -> Shape:
        if issubclass(kind, enum.Enum):
            return Shape(lambda v: check_json(_instance(kind, v).value), kind)
        if dataclasses.is_dataclass(kind):
            return self._once(kind, self._dataclass)
        if typing.is_typeddict(kind):
            return self._once(kind, self._typed_dict)
        if hasattr(kind, "model_validate"):
            model: Any = kind
            return Shape(
                lambda v: _instance(kind, v).model_dump(mode="json"),
                model.model_validate,
            )
        if issubclass(kind, tuple):
            return self._tuple(arguments)
        if kind in (list, set, frozenset) or issubclass(kind, Sequence):
            return self._list(_KEPT.get(kind, list), arguments)
        if issubclass(kind, Mapping):
            return self._mapping(arguments)
        raise TypeError(f"a {kind.__qualname__} cannot be stored as JSON")

    def _once(self, kind: type[Any], make: Callable[[type[Any]], Shape]) -> Shape:
        cell = self._known.get(kind)
        if cell is None:
            cell = self._known[kind] = []
            cell.append(make(kind))
        found = cell
        return Shape(lambda v: found[0].pack(v), lambda d: found[0].unpack(d))

    def _list(self, kind: type[Any], arguments: tuple[Any, ...]) -> Shape:
        item = self.build(arguments[0] if arguments else Any)
        return Shape(
            lambda value: [item.pack(each) for each in _instance(kind, value)],
            lambda data: kind(item.unpack(each) for each in _exactly(list, data)),
        )

    def _tuple(self, arguments: tuple[Any, ...]) -> Shape:
        if not arguments or arguments[-1] is Ellipsis:
            return self._list(tuple, arguments[:1])
        items = [self.build(argument) for argument in arguments]
        return Shape(
            lambda value: [
                item.pack(each)
                for item, each in zip(items, _instance(tuple, value), strict=True)
            ],
            lambda data: tuple(
                item.unpack(each)
                for item, each in zip(items, _exactly(list, data), strict=True)
            ),
        )

    def _mapping(self, arguments: tuple[Any, ...]) -> Shape:
        if arguments and arguments[0] not in (str, Any):
            raise TypeError(f"JSON has no keys of type {arguments[0]!r}")
        item = self.build(arguments[1] if arguments else Any)
        return Shape(
            lambda value: {
                _exactly(str, key): item.pack(each)
                for key, each in _instance(Mapping, value).items()
            },
            lambda data: {
                key: item.unpack(each) for key, each in _exactly(dict, data).items()
            },
        )

    def _union(self, arguments: tuple[Any, ...]) -> Shape:
        shapes = [self.build(argument) for argument in arguments]
        return Shape(
            lambda value: _first([s.pack for s in shapes], value),
            lambda data: _first([s.unpack for s in shapes], data),
        )

    def _dataclass(self, kind: type[Any]) -> Shape:
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = [f for f in dataclasses.fields(typing.cast(Any, kind)) if f.init]
        shapes = {f.name: self.build(hints[f.name]) for f in fields}

        def pack(value: Any) -> dict[str, Any]:
            if type(value) is not kind:
                raise TypeError(f"{value!r} is not a {kind.__qualname__}")
            return {
                name: _at(name, shape.pack, getattr(value, name))
                for name, shape in shapes.items()
            }

        def unpack(data: Any) -> Any:
            return kind(
                **{
                    name: _at(name, shapes[name].unpack, each)
                    for name, each in _exactly(dict, data).items()
                    if name in shapes
                }
            )

        return Shape(pack, unpack)

    def _typed_dict(self, kind: Any) -> Shape:
        hints = typing.get_type_hints(kind, include_extras=True)
        shapes = {name: self.build(hint) for name, hint in hints.items()}
        required = {
            name
            for name, hint in hints.items()
            if _is_required(hint, name in kind.__required_keys__)
        }

        def convert(way: str, value: Any) -> dict[str, Any]:
            missing = sorted(required - _instance(Mapping, value).keys())
            if missing:
                raise TypeError(f"{kind.__name__} lacks {missing[0]!r}")
            return {
                name: _at(name, getattr(shapes[name], way), each)
                for name, each in value.items()
                if _declares(kind, shapes, name)
            }

        return Shape(partial(convert, "pack"), partial(convert, "unpack"))


def _is_required(hint: Any, by_default: bool) -> bool:
    """Whether a key has to be there; postponed annotations hide it from the class."""
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return origin is typing.Required
    return by_default


def _declares(kind: type[Any], shapes: Mapping[str, Shape], name: str) -> bool:
    if name not in shapes:
        raise TypeError(f"{kind.__name__} has no {name!r}")
    return True


def _at(name: str, convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from None


def _literal(values: tuple[Any, ...]) -> Shape:
    def check(value: Any) -> Any:
        for known in values:
            if type(known) is type(value) and known == value:
                return value
        raise ValueError(f"{value!r} is not one of {', '.join(map(repr, values))}")

    return Shape(check, check)


def _first(ways: Sequence[Callable[[Any], Any]], value: Any) -> Any:
    """What the first way that takes the value makes of it."""
    for way in ways:
        try:
            return way(value)
        except (TypeError, ValueError, KeyError):
            continue
    raise TypeError(f"{value!r} has none of the declared types")


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
