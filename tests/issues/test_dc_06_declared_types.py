"""DC-06: the declared type of a wrapper lacks binding, or is not the function's own.

https://github.com/jd/tenacity/pull/668 and
https://github.com/python-backoff/backoff/pull/203. mypy and pyright, strict, check what
they say of guarded functions in ``tests/contract/test_typing_api.py``; this holds that
the file they check has every shape of the report.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "contract" / "typing_api.py"
TREE = ast.parse(FILE.read_text(encoding="utf-8"))
FUNCTIONS = [
    node
    for node in ast.walk(TREE)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
]
GUARDED = [
    f for f in FUNCTIONS if any("policy" in ast.unparse(d) for d in f.decorator_list)
]


def decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of what decorates a function."""
    return {ast.unparse(decorator) for decorator in function.decorator_list}


SHAPES = {
    "plain": any(isinstance(f, ast.FunctionDef) for f in GUARDED),
    "async": any(isinstance(f, ast.AsyncFunctionDef) for f in GUARDED),
    "method": any(f.args.args and f.args.args[0].arg == "self" for f in GUARDED),
    "classmethod": any("classmethod" in decorators(f) for f in GUARDED),
    "keyword-only": any(f.args.kwonlyargs for f in GUARDED),
    "overloaded": any("overload" in decorators(f) for f in FUNCTIONS),
    "generic": "TypeVar" in FILE.read_text(encoding="utf-8"),
    "ParamSpec": "P.kwargs" in FILE.read_text(encoding="utf-8"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_checked(shape: str) -> None:
    """The file that both checkers read guards a function of this shape."""
    assert SHAPES[shape]


def test_right_types_are_asserted_and_wrong_calls_are_errors() -> None:
    """Both are there in numbers: an ignore that is not needed fails the check."""
    text = FILE.read_text(encoding="utf-8")
    assert text.count("assert_type(") >= 20
    assert text.count("# type: ignore[") >= 5
