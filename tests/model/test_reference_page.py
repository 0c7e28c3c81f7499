"""The key reference under docs/ is that of the present model."""

from __future__ import annotations

from docs.reference_page import PAGE, page


def test_the_page_is_what_the_model_says() -> None:
    """docs/reference.md is what ``python -m docs.reference_page`` writes."""
    assert PAGE.read_text("utf-8") == page()


def test_the_page_names_each_key_once() -> None:
    """A row of each block stands in one section alone."""
    sections = page().split("\n## ")[1:]
    titles = [section.splitlines()[0] for section in sections]
    assert len(set(titles)) == len(titles)
    for section in sections:
        keys = [
            line.split("`")[1]
            for line in section.splitlines()
            if line.startswith("| `")
        ]
        assert len(set(keys)) == len(keys)
        assert keys
