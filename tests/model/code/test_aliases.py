"""Methods that a class has under a second name."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.model.code.callables import (
    Function,
    Property,
    read_class,
    read_function,
    read_method,
)
from policyctl.model.code.conditions import Conditions
from policyctl.model.code.library import Library

SOURCE = """
from sdk import charge as imported

def charge(amount: int) -> str: ...

pay = imported
buy = pay
here = there
there = here
loose = decorate(charge)

class Base:
    def send(self, item: int, *, urgent: bool = False) -> str: ...
    post = send

class Client(Base):
    @property
    def state(self) -> str: ...
    @classmethod
    async def create(cls, key: str) -> "Client": ...

    make = build = create
    status = state
    again = make
    loop = pool
    pool = loop
    first, second = create
    wrapped = guard(create)
    foreign = somewhere
    number = 3
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A library of one module."""
    (tmp_path / "sdk.py").write_text(SOURCE)
    return Library([str(tmp_path)], Conditions((3, 11)))


@pytest.mark.parametrize(
    ("name", "original"),
    [("post", "send"), ("make", "create"), ("build", "create"), ("again", "create")],
)
def test_a_second_name_is_the_same_method(
    library: Library, name: str, original: str
) -> None:
    """Signature, binding and place are those of the first name, inherited or not."""
    target = read_class(library, "sdk", "Client")
    assert target is not None
    found = read_method(library, target, name)
    known = read_method(library, target, original)
    assert isinstance(found, Function)
    assert isinstance(known, Function)
    assert found.name == name
    assert found.body is known.body
    assert (found.binding, found.is_async) == (known.binding, known.is_async)


def test_a_second_name_of_a_property(library: Library) -> None:
    """It is a property as well."""
    target = read_class(library, "sdk", "Client")
    assert target is not None
    assert isinstance(read_method(library, target, "status"), Property)


@pytest.mark.parametrize(
    "name", ["loop", "pool", "first", "wrapped", "foreign", "number"]
)
def test_what_is_no_second_name(library: Library, name: str) -> None:
    """Names in a circle, parts of values, calls and names of elsewhere are none."""
    target = read_class(library, "sdk", "Client")
    assert target is not None
    assert read_method(library, target, name) is None


@pytest.mark.parametrize("name", ["pay", "buy"])
def test_a_second_name_of_a_function(library: Library, name: str) -> None:
    """It is the function, across imports as well."""
    found = read_function(library, "sdk", name)
    assert found is not None
    assert found.body.name == "charge"


@pytest.mark.parametrize("name", ["here", "there", "loose", "missing"])
def test_what_is_no_function(library: Library, name: str) -> None:
    """Names in a circle and the results of calls have no signature."""
    assert read_function(library, "sdk", name) is None
