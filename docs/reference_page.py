"""Writes docs/reference.md from the fields of the model.

python -m docs.reference_page
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from policyctl.model.fields import Block, Blocks, Items, Marker, Named
from policyctl.model.idempotency import KeyForms
from policyctl.model.operation import Operation, OperationSettings
from policyctl.model.queues import Queue
from policyctl.model.scalars import (
    Choice,
    Flag,
    IsoDate,
    Number,
    Status,
    Target,
    Text,
    Version,
)
from policyctl.model.schema import by_default
from policyctl.model.service import Overlay, PresetModel, ServiceModel

PAGE = Path(__file__).with_name("reference.md")

HEAD = """\
# Key reference

Every key of a policy file. `policyctl schema` prints the same as JSON Schema, for
editors: put `# yaml-language-server: $schema=policy.schema.json` above a document and
save the schema beside it.

All keys are optional unless marked **required**. A default counts where its block is
present; an absent block is off. "or `off`" marks what can be switched off where it is
inherited. Keys that begin with `x-` are kept and ignored everywhere. `defaults`, and the
operations of an environment, take what an operation takes, but `extends`, `target` and
`description`.

This page is made from `policyctl/model/` by `python -m docs.reference_page`.
"""

_TITLES: dict[type[BaseModel], str] = {
    ServiceModel: "Service document",
    PresetModel: "Preset document",
    Overlay: "Environment: `environments.NAME`",
    Operation: "Operation: `operations.NAME`",
    Queue: "Queue: `queues.NAME`",
}
_DOCUMENTS = (ServiceModel, PresetModel)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(path, model) for path, model in _blocks())


def _blocks() -> Iterator[tuple[str, type[BaseModel]]]:
    """Each block once, with the path where it is met first, in reading order."""
    seen: set[type[BaseModel]] = {OperationSettings}
    pending: list[tuple[str, type[BaseModel]]] = [("", model) for model in _DOCUMENTS]
    while pending:
        path, model = pending.pop(0)
        if model in seen:
            continue
        seen.add(model)
        yield path, model
        below = [
            (_join(path, info.alias or name, marker), marker.model)
            for name, info in model.model_fields.items()
            if isinstance(marker := _marker(info), Block | Blocks | Named)
        ]
        pending = [*below, *pending] if path else [*pending, *below]


def _join(path: str, name: str, marker: Marker) -> str:
    suffix = (
        ".NAME"
        if isinstance(marker, Named)
        else "[]" if isinstance(marker, Blocks) else ""
    )
    return f"{path}.{name}{suffix}" if path else name + suffix


def _marker(info: FieldInfo) -> Marker:
    return next(m for m in info.metadata if isinstance(m, Marker))


def _section(path: str, model: type[BaseModel]) -> str:
    title = _TITLES.get(model, f"`{path}`")
    fields = sorted(model.model_fields.items(), key=lambda f: not f[1].is_required())
    rows = [_row(info.alias or name, info) for name, info in fields]
    text = f"\n## {title}\n\n{(model.__doc__ or '').replace('``', '`')}\n\n"
    return (
        text
        + "| key | value | default | example | |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


def _row(name: str, info: FieldInfo) -> str:
    marker = _marker(info)
    value = _kind(marker) + (" or `off`" if marker.off else "")
    default = "**required**" if info.is_required() else by_default(info)
    example = f"`{_flow(info.examples[0])}`" if info.examples else ""
    cells = (f"`{name}`", value, default, example, str(info.description))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _flow(value: object) -> str:
    """A value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    quoted = re.fullmatch(r"[0-9]{3}-[0-9]{3}|[0-9]{5}|.*[*]", text)
    return f'"{text}"' if quoted else text


def _kind(marker: Marker) -> str:
    """The kind of a value in a word or two."""
    if isinstance(marker, Number):
        limit = marker.limit
        return f"{limit.kind} or `{limit.word}`" if limit.word else limit.kind
    if isinstance(marker, Choice):
        return ", ".join(f"`{word}`" for word in marker.values)
    if isinstance(marker, Items):
        return f"list: {_kind(marker.item)}"
    if isinstance(marker, Block):
        return "block" if marker.short is None else "short form or block"
    if isinstance(marker, Text):
        return marker.what
    for kind, words in _WORDS.items():
        if isinstance(marker, kind):
            return words
    return "any value"


_WORDS: dict[type[Marker], str] = {
    Flag: "`true`, `false`",
    Status: "a status",
    IsoDate: "a date",
    Target: "ratio or number",
    Version: "`1`",
    Named: "block for each name",
    Blocks: "list of blocks",
    KeyForms: "list of argument paths, or `{call: …}`",
}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
