"""Formatting: black, unless a cheap check proves that black would change nothing.

The check reads the text line by line and knows a small part of Python: comments and a
docstring at the top, imports, assignments, classes that hold assignments, and calls and
collections that are on one line or have one item per line and a trailing comma. What it
does not know it does not prove, and then black runs. ``tests/generate/test_format.py``
holds it to black's word on generated documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from policyctl import assets
from policyctl.generate import stable


def formatted(text: str, target_python: str) -> str:
    """``text`` as black formats it for ``target_python``, for example ``3.11``."""
    if proved(text):
        return text
    return run_black(text, target_python)


def proved(text: str) -> bool:
    """Whether black would certainly leave ``text`` as it is."""
    for tail in _static_tails():
        if text.endswith(tail):
            return stable.is_stable(text.removesuffix(tail))
    return stable.is_stable(text)


def run_black(text: str, target_python: str) -> str:
    """What black makes of ``text``.

    Raises:
        ValueError: ``text`` is not Python, which only an overridden template causes.
    """
    from black import format_str
    from black.mode import Mode, TargetVersion
    from black.parsing import InvalidInput

    version = TargetVersion[f"PY{target_python.replace('.', '')}"]
    try:
        return format_str(text, mode=Mode(target_versions={version}))
    except InvalidInput as error:
        raise ValueError(f"the rendered text is not Python: {error}") from None


@cache
def _static_tails() -> Sequence[str]:
    """The ends of the shipped templates that no policy changes, functions and all."""
    tails: list[str] = []
    for path in sorted((assets.templates() / "python").glob("*.jinja")):
        _, mark, tail = path.read_text(encoding="utf-8").rpartition("}}\n")
        if mark and "{%" not in tail and tail.startswith("\n"):
            tails.append(tail)
    return tuple(tails)
