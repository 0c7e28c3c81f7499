"""The tables of codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policyctl.diagnostics import Span
from policyctl.source import codes, files

FOLDER = Path(codes.__file__).parent
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("table", [codes.NAMES, files.NAMES])
def test_codes_and_names(table: dict[str, str]) -> None:
    """Two letters and three digits, and a kebab-case name that no other code has."""
    assert all(re.fullmatch(r"(SY|CF)[0-9]{3}", code) for code in table)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in table.values())
    assert len(set(table.values())) == len(table)
    assert list(table) == sorted(table)


def test_retired_codes_are_not_given_again() -> None:
    """A code is in one of the two tables."""
    assert not codes.RETIRED & set(codes.NAMES)


@pytest.mark.parametrize("code", [*codes.NAMES, *files.NAMES])
def test_every_code_is_used(code: str) -> None:
    """The tables name what can be found, and nothing else."""
    assert len(re.findall(f'"{code}"', TEXT)) >= 2


def test_an_unknown_code_is_a_mistake() -> None:
    """A finding of a code that the table lacks cannot be made."""
    with pytest.raises(KeyError):
        codes.finding("SY999", Span("f.yaml"), "words")
