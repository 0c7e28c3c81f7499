"""Explicit tags: those of the core schema are followed, all others are refused."""

from __future__ import annotations

from policyctl.source import problems
from policyctl.source.nodes import MappingNode, ScalarNode, SequenceNode, Source
from policyctl.source.problems import StopReading
from policyctl.source.scalars import Scalar, resolve

_PREFIX = "tag:yaml.org,2002:"
_SCALARS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
}
_CONTAINERS = {"map": MappingNode, "seq": SequenceNode}


def tagged_value(source: Source, node: ScalarNode, tag: str, start: int) -> None:
    """Give a scalar the value that its tag asks for.

    Raises:
        StopReading: the tag is not of the core schema, or the text does not fit it.
    """
    name = tag.removeprefix(_PREFIX)
    span = source.span(start, node.end)
    if tag == "!" or (name == "str" and tag != name):
        node.value = node.text
        return
    if tag == name or (name not in _SCALARS and name not in _CONTAINERS):
        raise StopReading(problems.unknown_tag(span, shown_tag(tag)))
    value = _resolved(node.text)
    allowed = _SCALARS.get(name, ())
    if type(value) not in allowed:
        raise StopReading(problems.tag_mismatch(span, shown_tag(tag), node.text))
    node.value = float(value) if name == "float" and isinstance(value, int) else value


def check_container_tag(
    source: Source, node: MappingNode | SequenceNode, tag: str | None
) -> None:
    """Refuse a tag that is not the one of this kind of container.

    Raises:
        StopReading: the tag is another one.
    """
    if tag is None or tag == "!":
        return
    span = source.span(node.start, node.start + 1)
    wanted = (
        _CONTAINERS.get(tag.removeprefix(_PREFIX)) if tag.startswith(_PREFIX) else None
    )
    if wanted is None:
        raise StopReading(problems.unknown_tag(span, shown_tag(tag)))
    if not isinstance(node, wanted):
        kind = "a mapping" if isinstance(node, MappingNode) else "a list"
        raise StopReading(problems.tag_mismatch(span, shown_tag(tag), kind))


def shown_tag(tag: str) -> str:
    """The tag as people write it: ``!!name`` for those of yaml.org."""
    if tag.startswith(_PREFIX):
        return "!!" + tag.removeprefix(_PREFIX)
    return tag if tag.startswith("!") else f"!<{tag}>"


def _resolved(text: str) -> Scalar:
    try:
        return resolve(text)
    except ValueError:
        return text
