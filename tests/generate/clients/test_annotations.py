"""Annotations and signatures of a library, as a generated module writes them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policyctl.generate.clients.annotations import Annotations
from policyctl.generate.clients.imports import Imports
from policyctl.generate.clients.overloads import choose
from policyctl.generate.clients.signatures import stub
from policyctl.model.code.callables import (
    ClassTarget,
    Function,
    read_class,
    read_method,
)
from policyctl.model.code.library import Library

Printed = Callable[..., list[str]]

HEAD = """\
import collections.abc as abc
import typing as t
from typing import Annotated, Any, Callable, Literal, Optional, ParamSpec, Self, TypeVar

import ssl
from lib import models
from lib._private import Hidden, Alias
from lib.models import Order as O

T = TypeVar("T")
P = ParamSpec("P")
A = TypeVar("A", bound="Client")


class Client:
    class Inner: ...
    Own = int
"""
LIBRARY = {
    "lib/__init__.py": "from lib._private import Public as Public\n",
    "lib/_private.py": (
        "from typing import Dict, TypeVar\n"
        "K = TypeVar('K')\n"
        "class Hidden: ...\nclass Public: ...\nAlias = Dict[str, K]\n"
    ),
    "lib/models.py": "from lib._private import Public\nclass Order: ...\n",
}


def read(
    folder: Path, methods: str, name: str = "Client"
) -> tuple[Library, ClassTarget]:
    """A library in ``folder`` whose client has ``methods``."""
    for path, text in LIBRARY.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    body = "".join(f"    {line}\n" for line in methods.splitlines())
    (folder / "lib" / "client.py").write_text(HEAD + body)
    library = Library([str(folder)])
    target = read_class(library, "lib.client", name)
    assert target is not None
    return library, target


def printed(folder: Path, methods: str, name: str = "f", **options: Any) -> list[str]:
    """The lines of the stub of a method."""
    library, target = read(folder, methods)
    imports = Imports(library, **options)
    annotations = Annotations(library, imports, imports.name(target.symbol))
    function = read_method(library, target, name)
    assert isinstance(function, Function)
    chosen = choose(annotations, function, target, "Client")
    return list(stub(annotations, function, chosen, name, ""))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("int | None", "int | None"),
        ("'int | None'", "int | None"),
        ("Optional['O']", "_typing.Optional[_lib_models.Order]"),
        ("models.Order", "_lib_models.Order"),
        ("models.Public", "_lib.Public"),
        ("Hidden", "_lib_private.Hidden"),
        ("Alias", "_lib_private.Alias[_typing.Any]"),
        ("Alias[int]", "_lib_private.Alias[int]"),
        ("t.Dict", "_typing.Dict[_typing.Any, _typing.Any]"),
        ("list", "list[_typing.Any]"),
        ("tuple", "tuple[_typing.Any, ...]"),
        ("tuple[int, ...]", "tuple[int, ...]"),
        ("abc.Callable", "_collections_abc.Callable[..., _typing.Any]"),
        (
            "Callable[[int, O], T]",
            "_typing.Callable[[int, _lib_models.Order], _lib_client.T]",
        ),
        ("Callable[P, T]", "_typing.Callable[_lib_client.P, _lib_client.T]"),
        (
            "Callable[t.Concatenate[int, P], T]",
            "_typing.Callable[_typing.Concatenate[int, _lib_client.P], _lib_client.T]",
        ),
        ("Literal['a', 'O']", "_typing.Literal['a', 'O']"),
        ("Annotated[int, some(1)]", "int"),
        ("t.Union[int]", "int"),
        ("Self", "_lib_client.Client"),
        ("type[Self]", "type[_lib_client.Client]"),
        ("Inner", "_lib_client.Client.Inner"),
        ("Own", "_lib_client.Client.Own"),
        ("'Client.Inner'", "_lib_client.Client.Inner"),
        ("ssl.SSLContext", "_ssl.SSLContext"),
        ("Any", "_typing.Any"),
        ("None", "None"),
        ("Unknown", "_lib_client.Unknown"),
        ("'not an expression at all('", "_typing.Any"),
        ("call(1)", "_typing.Any"),
        ("tuple[*tuple[int, ...], str]", "tuple[*tuple[int, ...], str]"),
    ],
)
def test_an_annotation(written: str, expected: str, tmp_path: Path) -> None:
    """Each name is written where it is defined, and bare generics are filled."""
    lines = printed(tmp_path, f"def f(self, x: {written}): ...")
    assert lines == [f"def f(self, x: {expected}) -> _typing.Any: ..."]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "def f(self, a, /, b, *, c): ...",
            "def f(self, a: _typing.Any, /, b: _typing.Any, *, c: _typing.Any)",
        ),
        ("def f(self, /, a): ...", "def f(self, /, a: _typing.Any)"),
        ("def f(this, self): ...", "def f(this, self: _typing.Any)"),
        (
            "def f(self, *a: int, b: str = 'x', **c: bool): ...",
            'def f(self, *a: int, b: str = "x", **c: bool)',
        ),
        (
            "def f(self, a: int = -1, b: float = 1.5): ...",
            "def f(self, a: int = -1, b: float = 1.5)",
        ),
        ("def f(self, a: str = None): ...", "def f(self, a: str = ...)"),
        (
            "def f(self, a: Optional[str] = None): ...",
            "def f(self, a: _typing.Optional[str] = None)",
        ),
        (
            "def f(self, a: bool = True, b: bytes = b'x'): ...",
            "def f(self, a: bool = True, b: bytes = b'x')",
        ),
        ("def f(self, a: O = MISSING): ...", "def f(self, a: _lib_models.Order = ...)"),
        ("def f(self, a: T = 1): ...", "def f(self, a: _lib_client.T = ...)"),
        ("def f(self: A) -> A: ...", "def f(self)"),
        ("@classmethod\ndef f(cls: type[A]) -> A: ...", "def f(cls)"),
        ("@staticmethod\ndef f(a: int): ...", "def f(a: int)"),
        ("async def f(self): ...", "async def f(self)"),
        ("async def f(self) -> t.AsyncIterator[int]:\n    yield 1", "def f(self)"),
        ("async def f(self):\n    def g(): yield", "async def f(self)"),
    ],
)
def test_a_signature(written: str, expected: str, tmp_path: Path) -> None:
    """Kinds, defaults that say something, and how it is called."""
    lines = printed(tmp_path, written)
    assert lines[-1].startswith(f"{expected} -> ")


def test_names_that_mean_something_else(tmp_path: Path) -> None:
    """A builtin that a method hides is imported under a private name."""
    lines = printed(
        tmp_path, "def f(self, x: list[str]) -> str: ...", shadowed=frozenset({"list"})
    )
    assert lines == ["def f(self, x: _builtins.list[str]) -> str: ..."]


def test_text_that_would_break_out(tmp_path: Path) -> None:
    """Docstrings and defaults with quotes, backslashes and controls stay text."""
    hostile = 'ends"""\nimport os\x00\\ {{ x }} \u202e'
    source = f"def f(self, a: str = {hostile!r}):\n    {hostile!r}\n    return 1"
    lines = printed(tmp_path, source)
    tree = ast.parse("\n".join(lines))
    [function] = tree.body
    assert isinstance(function, ast.FunctionDef)
    assert ast.literal_eval(function.args.defaults[0]) == hostile
    assert ast.get_docstring(function, clean=False) is not None
    assert [type(node).__name__ for node in function.body] == ["Expr", "Expr"]


_NAMES = [f"p{number}" for number in range(8)]


@st.composite
def _signatures(draw: st.DrawFn) -> str:
    """Parameters of any kind after ``self``, as source text."""
    counts = [draw(st.integers(0, 2)) for _ in range(3)]
    names = iter(_NAMES)
    first = draw(st.integers(0, counts[0] + counts[1]))
    parts: list[str] = ["self"]
    for index in range(counts[0] + counts[1]):
        default = " = 1" if index >= first else ""
        parts.append(f"{next(names)}: int{default}")
        if index + 1 == counts[0]:
            parts.append("/")
    star = draw(st.booleans())
    if star:
        parts.append("*args: str")
    elif counts[2]:
        parts.append("*")
    for _ in range(counts[2]):
        default = " = None" if draw(st.booleans()) else ""
        parts.append(f"{next(names)}: 'str | None'{default}")
    if draw(st.booleans()):
        parts.append("**kwargs: bool")
    return ", ".join(parts)


def _shape(arguments: ast.arguments) -> Sequence[object]:
    return (
        [a.arg for a in arguments.posonlyargs],
        [a.arg for a in arguments.args],
        [a.arg for a in arguments.kwonlyargs],
        arguments.vararg and arguments.vararg.arg,
        arguments.kwarg and arguments.kwarg.arg,
        len(arguments.defaults),
        [d is not None for d in arguments.kw_defaults],
    )


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(_signatures())
def test_every_signature_is_kept(tmp_path: Path, parameters: str) -> None:
    """Any combination of parameters has the same kinds, names and defaults after."""
    source = f"def f({parameters}) -> int: ..."
    [line] = printed(tmp_path, source)
    ours, theirs = (ast.parse(text).body[0] for text in (line, source))
    assert isinstance(ours, ast.FunctionDef)
    assert isinstance(theirs, ast.FunctionDef)
    assert _shape(ours.args) == _shape(theirs.args)


SELVES = """\
from typing import Awaitable, Literal, Protocol, overload

class IsAsync(Protocol):
    kind: Literal["async"]

class IsPlain(Protocol):
    kind: Literal["plain"]

class Shared:
    @overload
    def both(self, key: str) -> int: ...
    @overload
    def both(self: IsAsync, key: str) -> Awaitable[int]: ...
    def both(self, key): ...

    @overload
    def each(self: IsPlain, key: str) -> int: ...
    @overload
    def each(self: IsAsync, key: str, more: int = ...) -> Awaitable[int]: ...
    def each(self, key, more=7): ...

class Async(Shared):
    kind: Literal["async"] = "async"

class Plain(Shared):
    kind: Literal["plain"] = "plain"
"""


@pytest.mark.parametrize(
    ("name", "method", "expected"),
    [
        ("Async", "both", "def both(self, key: str) -> _typing.Awaitable[int]: ..."),
        ("Plain", "both", "def both(self, key: str) -> int: ..."),
        (
            "Async",
            "each",
            "def each(self, key: str, more: int = 7) -> _typing.Awaitable[int]: ...",
        ),
        ("Plain", "each", "def each(self, key: str) -> int: ..."),
    ],
)
def test_overloads_for_a_kind_of_self(
    name: str, method: str, expected: str, tmp_path: Path
) -> None:
    """The class has those that its own attributes do not contradict."""
    (tmp_path / "selves.py").write_text(SELVES)
    library = Library([str(tmp_path)])
    target = read_class(library, "selves", name)
    assert target is not None
    annotations = Annotations(library, Imports(library))
    function = read_method(library, target, method)
    assert isinstance(function, Function)
    chosen = choose(annotations, function, target, name)
    assert list(stub(annotations, function, chosen, method, "")) == [expected]


def test_type_parameters_in_brackets(tmp_path: Path) -> None:
    """Those of a function are declared under a private name, with their bounds."""
    library, target = read(tmp_path, "def f[K: O, *Ts](self, k: K, *a: *Ts) -> K: ...")
    imports = Imports(library)
    annotations = Annotations(library, imports)
    function = read_method(library, target, "f")
    assert isinstance(function, Function)
    chosen = choose(annotations, function, target, "Client")
    assert list(stub(annotations, function, chosen, "f", "")) == [
        "def f(self, k: _K, *a: *_Ts) -> _K: ..."
    ]
    assert imports.declarations() == (
        '_K = _typing.TypeVar("_K", bound="_lib_models.Order")',
        '_Ts = _typing.TypeVarTuple("_Ts")',
    )
