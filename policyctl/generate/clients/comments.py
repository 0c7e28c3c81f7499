"""Comments that keep checkers from reporting a library's own signatures once more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

_WIDTH = 88
_WHY = "# What the library's own signatures do is not reported here again."
_OVERLOAD = re.compile(r"@_typing\.overload")
# What pyright's strict mode reports, and the lines that can be the reason; those of the
# second half depend on the library's own files.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("reportOverlappingOverload", _OVERLOAD),
    ("reportPrivateUsage", re.compile(r"\w\._[A-Za-z]")),
    ("reportSelfClsParameterName", re.compile(r"def \w+\((?!self[,)]|cls[,)])")),
    ("reportDeprecated", re.compile("")),
    ("reportInvalidTypeVarUse", re.compile("")),
    ("reportMissingTypeStubs", re.compile("")),
    ("reportUnknownMemberType", re.compile("")),
    ("reportUnknownParameterType", re.compile("")),
)


def comments(lines: Iterable[str]) -> tuple[str, ...]:
    """The comments for a module with these lines of imports, variables and stubs."""
    return tuple(_comments("\n".join(lines)))


def _comments(text: str) -> Iterator[str]:
    yield _WHY
    if _OVERLOAD.search(text):
        yield '# mypy: disable-error-code="overload-overlap"'
    rules = sorted(f"{rule}=false" for rule, why in _RULES if why.search(text))
    start = "# pyright: "
    for line in wrap(", ".join(rules), _WIDTH - len(start), break_long_words=False):
        yield start + line.removesuffix(",")
