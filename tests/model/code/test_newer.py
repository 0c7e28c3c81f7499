"""Code in the syntax of later Pythons is read alike by each Python."""

from __future__ import annotations

import ast
import sys
import sysconfig
import warnings
from collections.abc import Iterable
from pathlib import Path

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


@pytest.mark.skipif(sys.version_info < (3, 13), reason="3.13 reads it by itself")
@pytest.mark.parametrize(
    "name",
    ["typing", "test/test_type_params", "test/test_type_aliases", "test/test_fstring"],
)
def test_pythons_own_code(name: str) -> None:
    """Python's library, and its tests of later syntax, are read as Python reads them."""
    file = Path(sysconfig.get_path("stdlib"), f"{name}.py")
    if not file.is_file():
        pytest.skip("this Python comes without its tests")
    text = file.read_text(encoding="utf-8")
    assert shape(parse_newer(text)) == shape(ast.parse(text))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("try: a\nexcept A, b.C, d[1:2]: b\n", "try: a\nexcept (A, b.C, d[1:2]): b\n"),
        ("try: a\nexcept* A, f(b, c): b\n", "try: a\nexcept* (A, f(b, c)): b\n"),
        ("try: a\nexcept (A, B) as e: t'{a}'\n", "try: a\nexcept (A, B) as e: f''\n"),
        ("x = t'{a['b']}'\n", "x = f''\n"),
    ],
)
def test_syntax_of_3_14(text: str, same: str) -> None:
    """Exceptions without brackets and t-strings are what older syntax can say."""
    assert shape(parse(text.encode())) == shape(ast.parse(same))


def test_lines_are_kept() -> None:
    """Definitions have the lines of the text, also where brackets span several."""
    text = "type A[\n  T,\n] = (\n  T)\ndef f[\n  T, # ]\n  U\n](): ...\nclass B: ..."
    tree = parse_newer(text)
    assert [node.lineno for node in tree.body] == [1, 5, 9]
    assert [type(node).__name__ for node in tree.body] == [
        "TypeAlias",
        "FunctionDef",
        "ClassDef",
    ]


def test_names_are_normal_forms() -> None:
    """A parameter in another form of its letters is the one that the body names."""
    function = parse_newer("def f[\N{MODIFIER LETTER CAPITAL T}](): ...").body[0]
    assert getattr(function, "type_params")[0].name == "T"  # noqa: B009


@pytest.mark.parametrize("between", [" ", "\t", "\f", "\\\n", " \\\n\\\n "])
def test_spaces_in_type_statements(between: str) -> None:
    """A continued line is one line, a new one is not."""
    assert type(parse_newer(f"type{between}X = int").body[0]).__name__ == "TypeAlias"
    kinds = [type(node).__name__ for node in parse_newer("type\nX = int").body]
    assert kinds == ["Expr", "Assign"]


def test_bounds_may_hold_colons() -> None:
    """A bound goes on to the default, whatever is in it."""
    function = parse_newer("def f[T: lambda x: x[1:2] = {1: 2}](): ...").body[0]
    (parameter,) = getattr(function, "type_params")  # noqa: B009
    assert ast.unparse(parameter.bound) == "lambda x: x[1:2]"
    assert ast.unparse(parameter.default_value) == "{1: 2}"


def test_marks_of_others_are_names() -> None:
    """Whatever a library calls its own things, nothing else is read into it."""
    text = (
        "type X = int\nclass a__with_parameters_7: pass\n"
        "x__with_parameters_0: __type_alias__ = 3\nself.x: __type_alias__ = 3\n"
    )
    tree = parse_newer(text)
    assert [type(n).__name__ for n in tree.body] == [
        "TypeAlias",
        "ClassDef",
        "AnnAssign",
        "AnnAssign",
    ]
    assert shape(tree.body[1:]) == shape(ast.parse(text.partition("\n")[2]).body)


def test_long_chains_beside_later_syntax() -> None:
    """Two thousand branches are no deeper for this reader than for Python's own."""
    tree = parse_newer("type X = int\nif a: b\n" + "elif a: b\n" * 2000)
    assert [type(node).__name__ for node in tree.body] == ["TypeAlias", "If"]


@pytest.mark.parametrize("cookie", ["rot13", "hex", "undefined", "utf-16", "no-such"])
def test_encodings_that_are_none(cookie: str) -> None:
    """What is no encoding of text is an error of syntax like others."""
    with pytest.raises((SyntaxError, ValueError)):
        parse(f"# coding: {cookie}\nx = 1\n".encode())


@pytest.mark.parametrize("source", [b"x = 1 # \xff\n", b"a\n" * 3 + b"# \xff\n"])
def test_bytes_that_are_no_text(source: bytes) -> None:
    """Wrong bytes are refused by each Python, in comments too."""
    with pytest.raises((SyntaxError, UnicodeDecodeError)):
        parse(source)


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbftype X = '\xc3\xa9'\r\nclass A[T]:\r\n  x = 1\r\n",
        b"# coding: latin-1\ntype X = '\xe9'\rclass A[T]:\r  x = 1\r",
    ],
)
def test_encodings_and_line_ends(source: bytes) -> None:
    """Byte order marks, cookies and line ends of other systems are read as text."""
    first, second = parse(source).body
    value: ast.expr = vars(first)["value"]
    assert ast.unparse(value) == "'\N{LATIN SMALL LETTER E WITH ACUTE}'"
    assert isinstance(second, ast.ClassDef)
    assert second.name == "A"


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
