"""CB-21: two documents of one name never live side by side or replace each other."""

from __future__ import annotations

import pytest

from policyctl.resolve.project import InputFile, Inputs, Loaded, load_project

A = b"version: 1\nservice: payments\noperations: {charge: {attempt_timeout: 1s}}\n"
B = b"version: 1\nservice: payments\noperations: {charge: {attempt_timeout: 2s}}\n"


def load(*files: tuple[str, bytes, bool]) -> Loaded:
    return load_project(Inputs(tuple(InputFile(*file) for file in files)))


@pytest.mark.parametrize("second", [A, B])
def test_both_places_are_named(second: bytes) -> None:
    """Equal or not, the second document is an error that shows the first."""
    [found] = load(("a.yaml", A, True), ("b.yaml", second, True)).diagnostics
    assert (found.code, found.name) == ("VA101", "duplicate-service")
    assert found.message == "service 'payments' is declared twice"
    assert str(found.span) == "b.yaml:2:10"
    assert str(found.related[0].span) == "a.yaml:2:10"


def test_two_documents_of_one_file() -> None:
    """A stream is no exception."""
    [found] = load(("a.yaml", A + b"---\n" + B, True)).diagnostics
    assert (str(found.span), str(found.related[0].span)) == (
        "a.yaml:6:10",
        "a.yaml:2:10",
    )


def test_the_clash_shows_from_either_side() -> None:
    """A file that is asked for alone still learns of its double in another file."""
    for reported in ((True, False), (False, True)):
        files = (("a.yaml", A, reported[0]), ("b.yaml", B, reported[1]))
        assert [found.code for found in load(*files).diagnostics] == ["VA101"]
    assert load(("a.yaml", A, False), ("b.yaml", B, False)).diagnostics == ()
