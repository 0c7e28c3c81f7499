"""YAML parsing events, by libyaml where PyYAML was built with it.

PyYAML's events are read one by one and never composed into its own nodes, since its
composers recurse. The pure-Python parser gives the same events, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import yaml


class Mark(Protocol):
    """A place; ``index`` counts characters of the decoded text."""

    index: int


class Event(Protocol):
    """Any event, with the half-open range of text that it stands for."""

    start_mark: Mark
    end_mark: Mark


class AliasEvent(Event, Protocol):
    """``*anchor``."""

    anchor: str


class ScalarEvent(Event, Protocol):
    """A scalar; ``style`` is None or empty for plain; the range includes properties."""

    anchor: str | None
    tag: str | None
    value: str
    style: str | None


class StartEvent(Event, Protocol):
    """The start of a mapping or sequence."""

    anchor: str | None
    tag: str | None
    flow_style: bool | None


def _c_parser() -> type[Any] | None:
    try:
        from yaml._yaml import CParser
    except ImportError:
        return None
    return CParser


C_PARSER = _c_parser()
"""PyYAML's binding of libyaml, or None where it was not compiled in."""


def event_source(data: bytes, *, pure: bool = False) -> Callable[[], Any]:
    """Return a function that gives the next event of UTF-8 ``data`` (no mark).

    It raises ``yaml.YAMLError`` at the first place that is not YAML. ``pure`` asks for
    the pure-Python parser.
    """
    if C_PARSER is not None and not pure:
        parser: Any = C_PARSER(data)
    else:
        parser = yaml.SafeLoader(data.decode("utf-8"))
    get_event: Callable[[], Any] = parser.get_event
    return get_event
