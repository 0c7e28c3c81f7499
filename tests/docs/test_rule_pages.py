"""The committed pages of the rules are those that their docstrings make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import reference_page
from docs.rule_pages import FAMILIES, FOLDER, pages, write
from policyctl.lint.registry import all_rules

WANTED = pages()


@pytest.mark.parametrize("name", sorted(WANTED))
def test_pages_are_fresh(name: str) -> None:
    """Each page is there as written by ``make docs``, which mends this test."""
    assert (FOLDER / name).read_text("utf-8") == WANTED[name]


def test_there_are_no_other_pages() -> None:
    """No page of a rule that is gone is left."""
    assert {path.name for path in FOLDER.glob("*")} == set(WANTED)


def test_every_family_has_a_title() -> None:
    """The index names the families by their subject."""
    assert {rule.code[:2] for rule in all_rules()} <= FAMILIES.keys()


def test_every_gap_in_the_codes_is_explained() -> None:
    """Codes run from 001 up; the index says of each missing one why it has no rule."""
    codes = {rule.code for rule in all_rules()}
    gaps = {
        f"{family}{number:03}"
        for family in {code[:2] for code in codes}
        for number in range(1, max(int(c[2:]) for c in codes if c[:2] == family))
    } - codes
    section = WANTED["README.md"].partition("## Codes without a rule")[2]
    told = set(re.findall(r"^\| ([A-Z]{2}\d{3}) \|", section, re.MULTILINE))
    assert told - {"GR007"} == gaps
    assert not told & codes


def test_writing_removes_what_is_gone(tmp_path: Path) -> None:
    """A page without a rule is removed."""
    (tmp_path / "ZZ001.md").write_text("gone", "utf-8")
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(WANTED)


def test_the_reference_is_fresh() -> None:
    """docs/reference.md is what ``python -m docs.reference_page`` writes."""
    assert reference_page.PAGE.read_text("utf-8") == reference_page.page()
