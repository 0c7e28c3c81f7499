"""Findings as text: one file per format, found by its name and imported on use.

A format is a module of this folder, whose name does not begin with an underscore, with
``render(report) -> str``. One that can colour its output takes ``color`` as a keyword
and says so by ``TAKES_COLOR = True``, one that fits a terminal takes ``width`` and says
``TAKES_WIDTH = True``; one for machines, to be written as UTF-8 whatever
the locale says, has ``MACHINE = True``.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from policyctl.reports.report import Report

_NOT_FORMATS = frozenset({"report", "encode"})


def format_names() -> tuple[str, ...]:
    """The names of all formats, in order."""
    names = (module.name for module in iter_modules(__path__))
    return tuple(
        sorted(n for n in names if not n.startswith("_") and n not in _NOT_FORMATS)
    )


def is_machine_format(name: str) -> bool:
    """Whether the output of a format is for machines and always UTF-8.

    Raises:
        ValueError: there is no such format.
    """
    return bool(getattr(_load(name), "MACHINE", False))


def render(
    name: str, report: Report, *, color: bool = False, width: int | None = None
) -> str:
    """Return ``report`` in the format ``name``, ending in a line break.

    ``width`` is that of the terminal that shows it, None where there is none.

    Raises:
        ValueError: there is no such format.
    """
    module = _load(name)
    options: dict[str, object] = {}
    if color and getattr(module, "TAKES_COLOR", False):
        options["color"] = True
    if width is not None and getattr(module, "TAKES_WIDTH", False):
        options["width"] = width
    text: str = module.render(report, **options)
    return text


def _load(name: str) -> ModuleType:
    if name not in format_names():
        known = ", ".join(format_names())
        raise ValueError(f"{name!r} is not a report format; the formats are {known}")
    return import_module(f"{__name__}.{name}")
