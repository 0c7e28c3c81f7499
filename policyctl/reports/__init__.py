"""Findings as text: one file per format, found by its name and imported on use.

A format is a module of this folder, whose name does not begin with an underscore, with
``render(report) -> str``. One that can colour its output takes ``color`` as a keyword
and says so by ``TAKES_COLOR = True``; one for machines, to be written as UTF-8 whatever
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


def render(name: str, report: Report, *, color: bool = False) -> str:
    """Return ``report`` in the format ``name``, ending in a line break.

    Raises:
        ValueError: there is no such format.
    """
    module = _load(name)
    if color and getattr(module, "TAKES_COLOR", False):
        colored: str = module.render(report, color=True)
        return colored
    plain: str = module.render(report)
    return plain


def _load(name: str) -> ModuleType:
    if name not in format_names():
        known = ", ".join(format_names())
        raise ValueError(f"{name!r} is not a report format; the formats are {known}")
    return import_module(f"{__name__}.{name}")
