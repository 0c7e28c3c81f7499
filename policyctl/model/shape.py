"""The shape of a document: which keys stand where, read off the model's fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic import BaseModel

from policyctl.model.fields import Anything, Block, Blocks, Items, Marker, Named
from policyctl.model.idempotency import KeyCall, KeyForms


@dataclass(slots=True, eq=False)
class Shape:
    """What may stand under one key.

    ``block`` has ``keys``; ``named`` and ``blocks`` have an ``item``; ``any`` is not
    looked into; ``leaf`` is a single value or a list of them. ``marker`` is the field's.
    """

    kind: Literal["block", "named", "blocks", "any", "leaf"]
    marker: Marker | None = None
    keys: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    item: Shape | None = None
    model: type[BaseModel] | None = None


@cache
def shape_of(model: type[BaseModel]) -> Shape:
    """The shape of a model's mapping."""
    shape = Shape("block", model=model)
    for name, info in model.model_fields.items():
        marker = next(m for m in info.metadata if isinstance(m, Marker))
        shape.keys[info.alias or name] = _shape(marker)
    return shape


def _shape(marker: Marker) -> Shape:
    if isinstance(marker, Block):
        inner = shape_of(marker.model)
        return Shape("block", marker, inner.keys, model=marker.model)
    if isinstance(marker, KeyForms):
        keys = {"call": shape_of(KeyCall).keys["call"]}
        return Shape(
            "block", marker, keys, shape_of(KeyCall).keys["arguments"], KeyCall
        )
    if isinstance(marker, Named):
        return Shape("named", marker, item=shape_of(marker.model))
    if isinstance(marker, Blocks):
        return Shape("blocks", marker, item=shape_of(marker.model))
    return Shape("any" if isinstance(marker, Anything) else "leaf", marker)


def leaf_marker(marker: Marker | None) -> Marker | None:
    """The marker of a leaf's values: of the items where it is a list."""
    return marker.item if isinstance(marker, Items) else marker
