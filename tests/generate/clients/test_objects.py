"""Members that are called without being functions: typed where their type is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from policyctl.generate.build import Built
from policyctl.model.code.library import Library

Package = Callable[[str], Callable[[str], ModuleType]]

SOURCE = '''\
from functools import partialmethod
from typing import Any, Callable, ClassVar, Final, Generic, TypeVar

from desk_sdk import parts

Q = TypeVar("Q")
A = TypeVar("A")

class UnaryCall(Generic[Q, A]):
    def __init__(self, make): self.make = make
    def __call__(self, request: Q, *, timeout: float | None = None) -> A:
        """Call it."""
        return self.make(request)

class _Quote:
    def __call__(self=None, item: str = "") -> int: return len(item)

class Desk:
    SayHello: UnaryCall[str, int]
    later: "Callable[[int, str], parts.Part]"
    anything: ClassVar[Callable[..., int]] = staticmethod(lambda *a, **k: 5)
    shout = partialmethod(print, "x")
    short = lambda self: 1
    limit: int = 3

    def __init__(self) -> None:
        self.SayHello = UnaryCall(len)
        self.later = lambda a, b: parts.Part()
        self.told: Final[UnaryCall[bytes, str]] = UnaryCall(bytes.decode)
        self.loose = print

quote = _Quote()
'''
POLICY = """\
version: 1
service: desk
target: desk_sdk.api:Desk
operations:
  say_hello: {target: "desk_sdk.api:Desk.SayHello"}
  later: {}
  anything: {}
  told: {circuit_breaker: {failure_threshold: 1, minimum_calls: 1, record_on: [TypeError]}}
  quote: {target: "desk_sdk.api:quote"}
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Path]:
    """The folder of the library above, on the path."""
    folder = tmp_path / "desk_sdk"
    folder.mkdir()
    (folder / "__init__.py").write_text("from desk_sdk import parts\n")
    (folder / "parts.py").write_text("class Part: ...\n")
    (folder / "api.py").write_text(SOURCE)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [n for n in sys.modules if n.partition(".")[0] == "desk_sdk"]:
        del sys.modules[name]


def test_types_of_called_objects(
    generate: Callable[..., Built], library: Path, tmp_path: Path
) -> None:
    """Signatures are those of ``__call__``, or of ``Callable`` without its names."""
    built = generate(POLICY, tmp_path / "acme")
    assert built.diagnostics == ()
    text = next(v for k, v in built.tree.items() if k.name == "desk.py").decode()
    found = " ".join(text.split())
    for head in (
        "def SayHello(self, request: str, *, timeout: float | None = None) -> int:",
        "def later(self, value_1: int, value_2: str, /) -> _desk_sdk_parts.Part: ...",
        "def anything(self, *args: _typing.Any, **kwargs: _typing.Any) -> int: ...",
        "def told(self, request: bytes, *, timeout: float | None = None) -> str:",
        '@staticmethod def quote(item: str = "") -> int: ...',
    ):
        assert head in found, found


def test_called_objects_are_guarded(library: Path, package: Package) -> None:
    """What the object holds is called, under the policy."""
    desk = package(POLICY)("desk")
    raw = import_module("desk_sdk.api").Desk()
    client = desk.Desk(raw)
    assert client.SayHello("abc", timeout=1) == 3 == desk.guarded.quote("abc")
    assert type(client.later(1, "x")).__name__ == "Part"
    assert client.anything(1, b=2) == 5
    assert client.told(b"x") == "x"
    with pytest.raises(TypeError):
        client.told(1)
    assert desk.told.circuit_breaker.state == "open"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shout", "is made by partialmethod, which leaves no signature to read"),
        ("short", "is a lambda, which has no types to read"),
        ("limit", "is a value with no signature to read"),
        ("loose", "is a value with no signature to read"),
    ],
)
def test_values_without_a_signature(
    name: str,
    expected: str,
    generate: Callable[..., Built],
    library: Path,
    tmp_path: Path,
) -> None:
    """One error says what the value is and how to guard it all the same."""
    text = f"{POLICY.partition('operations')[0]}operations: {{{name}: {{}}}}\n"
    [found] = generate(text, tmp_path / "acme").diagnostics
    assert found.code == "GN010"
    assert found.message == f"desk_sdk.api:Desk.{name} {expected}"
    assert found.help == "write target: off, and use its .call"


def test_a_package_that_imports_its_own_part(library: Path) -> None:
    """``from lib import part`` inside of ``lib`` is the module, not a loop."""
    found = Library([str(library)]).find("desk_sdk", "parts.Part")
    assert found is not None
    assert (found.module, found.name, found.kind) == ("desk_sdk.parts", "Part", "class")
