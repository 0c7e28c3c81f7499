"""Code in the syntax of later Pythons is read alike by each Python."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable

import pytest

from policyctl.model.code.newer import parse, parse_newer
from policyctl.model.code.tokens import tokens

LATER = '''\
"""Of a library for Python 3.13."""
import re

type Pairs[K: (str, int), *Ts, **P] = dict[K, tuple[*Ts]]; type Name = "str"
type = re.compile("type X = 1")

class Store[K = str, V: Item | None = None](Base[K], kind="x[y]"):
    """Keeps."""
    def get[T](self, key: K, make: Callable[[], T], /) -> T | V: ...
    async def put[**Q](self, *a: Q.args, **k: Q.kwargs) -> f"{"N" "one"}":
        return f"{self.name!r:>{width}} {"a" + f'{x["}"]}'} \\N{EM DASH} {{ {
            y  # why "not
        }"

def plain(type, other=f'{1}') -> None:
    yield f"""{
        '}'
    }"""
'''


def shape(node: object) -> object:
    """A tree as data: without places, and f-strings without their parts."""
    if isinstance(node, ast.JoinedStr):
        return "f-string"
    if isinstance(node, ast.AST):
        names = (n for n in node._fields if n not in ("ctx", "type_comment", "kind"))
        return type(node).__name__, [(n, shape(getattr(node, n, None))) for n in names]
    return list(map(shape, node)) if isinstance(node, list) else repr(node)


def definitions(tree: ast.Module) -> Iterable[ast.AST]:
    """Everything in a tree that has type parameters."""
    return (n for n in ast.walk(tree) if getattr(n, "type_params", None))


def test_later_syntax_in_this_python() -> None:
    """Parameters have their kinds, bounds and defaults, whatever Python reads them."""
    found: dict[str, list[str]] = {}
    for node in definitions(parse(LATER.encode())):
        name = getattr(node, "name")  # noqa: B009
        parameters = getattr(node, "type_params")  # noqa: B009
        found[name if isinstance(name, str) else name.id] = [
            " ".join(
                (
                    f"{type(p).__name__} {p.name}",
                    *(
                        f"{field}={ast.unparse(value)}"
                        for field in ("bound", "default_value")
                        if (value := getattr(p, field, None)) is not None
                    ),
                )
            )
            for p in parameters
        ]
    assert found == {
        "Pairs": ["TypeVar K bound=(str, int)", "TypeVarTuple Ts", "ParamSpec P"],
        "Store": [
            "TypeVar K default_value=str",
            "TypeVar V bound=Item | None default_value=None",
        ],
        "get": ["TypeVar T"],
        "put": ["ParamSpec Q"],
    }


def test_the_rest_stays_as_it_is() -> None:
    """Names, signatures, docstrings and plain strings are those of the text."""
    tree = parse(LATER.encode())
    kinds = [type(node).__name__ for node in tree.body]
    assert kinds[1:] == [
        "Import",
        "TypeAlias",
        "TypeAlias",
        "Assign",
        "ClassDef",
        "FunctionDef",
    ]
    assert ast.unparse(tree.body[4]) == "type = re.compile('type X = 1')"
    store = tree.body[5]
    assert isinstance(store, ast.ClassDef)
    assert (store.name, ast.get_docstring(store)) == ("Store", "Keeps.")
    assert [ast.unparse(base) for base in store.bases] == ["Base[K]"]
    method = store.body[1]
    assert isinstance(method, ast.FunctionDef)
    assert ast.unparse(method.args) == "self, key: K, make: Callable[[], T], /"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="3.13 reads it by itself")
def test_the_same_as_pythons_own_tree() -> None:
    """Reading in older syntax gives what a Python of today sees in the text."""
    assert shape(parse_newer(LATER)) == shape(ast.parse(LATER))


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self, x: int = 1) -> str:\n        yield x\n",
        "x.type = self\nself.other = 1\n",
        "s = 'a' \"b\" u'''c'd'''\nt = rb'\\''\n",
        "print(type)\nname = 1\n",
        "a = b if c else d; class_ = 1 if not e else (lambda: f)\n",
        "x: dict[str, int] = {'a': 1}\n",
        "f'{a}' 'b'\n",
    ],
)
def test_older_syntax_is_left_alone(text: str) -> None:
    """What is no later syntax means the same after it was rewritten."""
    assert shape(parse_newer(text)) == shape(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "class A[T:\n    pass\n",
        "class A[T: ]:\n    pass\n",
        "class A[]: pass\nx = (\n",
        "f'{a'\n",
        "f'{a:{b}\n'\n",
        "x = 'a\n",
        '"""a\n',
        "type X = \n",
        "def [T](): ...\n",
        "\0",
    ],
)
def test_no_python_is_an_error(text: str) -> None:
    """What no Python reads is refused with the errors of ``ast``."""
    with pytest.raises((SyntaxError, ValueError)):
        parse(text.encode())


def test_nothing_is_said_of_others_escapes() -> None:
    r"""A library's ``"\d"`` prints no warning while policies are checked."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(b'x = "\\d"\n')


def test_ends_of_formatted_strings() -> None:
    """A formatted string is one token up to its own closing quote."""
    text = (
        "f'{a[\"'\"]}' rf\"\\{b}\" F'''{c}'d''' f\"\\N{EM DASH}\" f'{{' f'{e:%\"}' b''"
    )
    assert [(t.kind, t.text) for t in tokens(text)] == [
        ("formatted", "f'{a[\"'\"]}'"),
        ("formatted", 'rf"\\{b}"'),
        ("formatted", "F'''{c}'d'''"),
        ("formatted", 'f"\\N{EM DASH}"'),
        ("formatted", "f'{{'"),
        ("formatted", "f'{e:%\"}'"),
        ("string", "b''"),
    ]
