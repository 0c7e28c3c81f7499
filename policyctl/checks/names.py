"""Names of services, operations, queues, presets and environments."""

from __future__ import annotations

import re
from keyword import iskeyword
from unicodedata import normalize

from policyctl.units import UnitError, quote

RESERVED = frozenset(
    {
        "inbound",
        "annotations",
        "guarded",
        "registry",
        "to",
    }
)
"""Names that a generated package or module uses itself."""

RESERVED_FILES = frozenset({"policies"})
"""Names of files that a generated package has already."""

_DEVICE = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PRESET = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_ENVIRONMENT = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")
_LONGEST = 100
# As of Python 3.12: every version refuses the same names.
_SOFT_KEYWORDS = frozenset({"_", "case", "match", "type"})


def check_name(text: str) -> None:
    """Check the name of a service, an operation or a queue.

    It becomes a Python module, attribute or function, so it is a snake_case identifier
    of ASCII letters and digits, no keyword, and none of ``RESERVED``.

    Raises:
        UnitError: it is not.
    """
    if len(text) > _LONGEST:
        raise UnitError(
            f"the name {quote(text)} is over {_LONGEST} characters", "make it shorter"
        )
    if _NAME.fullmatch(text) is None:
        raise UnitError(
            f"the name {quote(text)} is not a snake_case identifier", _suggest(text)
        )
    if iskeyword(text) or text in _SOFT_KEYWORDS:
        raise UnitError(
            f"the name {quote(text)} is a keyword of Python",
            f"write for example {text}_item",
        )
    if text in RESERVED:
        raise UnitError(
            f"the name {quote(text)} is used by the generated code itself",
            f"write for example {text}_api",
        )


def check_service(text: str) -> None:
    """Check the name of a service, which is that of a generated file too.

    Raises:
        UnitError: as ``check_name``, or the name cannot be a file everywhere.
    """
    check_name(text)
    if text in RESERVED_FILES or _DEVICE.fullmatch(text):
        raise UnitError(
            f"the name {quote(text)} cannot be the name of a generated file",
            f"write for example {text}_api",
        )


def _suggest(text: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", normalize("NFKD", text))
    words = (
        re.sub(r"[^A-Za-z0-9]+", "_", words.encode("ascii", "ignore").decode())
        .strip("_")
        .lower()
    )
    words = words.lstrip("0123456789_")
    if (
        _NAME.fullmatch(words)
        and not iskeyword(words)
        and words not in _SOFT_KEYWORDS
        and words not in RESERVED
    ):
        return f"write {words}"
    return "write lower-case letters, digits and underscores, for example payment_api"


def check_preset(text: str) -> None:
    """Check the name of a preset: lower case, with dashes or underscores.

    Raises:
        UnitError: it is not a preset's name.
    """
    if len(text) > _LONGEST or _PRESET.fullmatch(text) is None:
        raise UnitError(
            f"{quote(text)} is not a preset's name",
            "write lower-case words joined by dashes, for example http-client",
        )


def check_environment(text: str) -> None:
    """Check the name of an environment.

    Raises:
        UnitError: it is not an environment's name.
    """
    if len(text) > _LONGEST or _ENVIRONMENT.fullmatch(text) is None:
        raise UnitError(
            f"the name {quote(text)} is not possible for an environment",
            "write letters, digits and dashes, for example staging",
        )


def fold(name: str) -> str:
    """What two names share when they would be one name in generated code.

    NFKC folding, case, and any separator for an underscore: ``getThing``, ``get-thing``
    and ``get_thing`` fold alike, and so do ``a`` and a full-width ``ａ``.
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", normalize("NFKC", name))
    return re.sub(r"[\W_]+", "_", words.casefold()).strip("_") or name
