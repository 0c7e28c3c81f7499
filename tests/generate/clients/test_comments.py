"""Checkers are told to be quiet about what a module has, and about nothing else."""

from __future__ import annotations

import pytest

from policyctl.generate.clients.comments import comments

ALWAYS = [
    "reportDeprecated",
    "reportInvalidTypeVarUse",
    "reportMissingTypeStubs",
    "reportUnknownMemberType",
    "reportUnknownParameterType",
]


@pytest.mark.parametrize(
    ("line", "mypy", "rules"),
    [
        ("def f(self, x: int) -> str: ...", False, []),
        ("@_typing.overload", True, ["reportOverlappingOverload"]),
        ("import lib._models as _lib_models", False, ["reportPrivateUsage"]),
        ("def f(self) -> _lib._Kept: ...", False, ["reportPrivateUsage"]),
        ("def f(this, x: int) -> str: ...", False, ["reportSelfClsParameterName"]),
    ],
)
def test_only_what_is_needed(line: str, mypy: bool, rules: list[str]) -> None:
    """Each rule has a reason in the text; lines stay within 88 columns."""
    first, *more = comments([line])
    assert first == "# What the library's own signatures do is not reported here again."
    assert ('# mypy: disable-error-code="overload-overlap"' in more) is mypy
    found = [m.removeprefix("# pyright: ") for m in more if m.startswith("# pyright: ")]
    assert ", ".join(found).split(", ") == [
        f"{rule}=false" for rule in sorted([*ALWAYS, *rules])
    ]
    assert max(map(len, more)) <= 88
