"""Read code in the syntax of Python up to 3.13 with any Python from 3.11 on.

A library may be written for a later Python than the one that runs here, and what is
generated from it must not depend on that. So where ``ast`` refuses a text, it is written
in the syntax of 3.11: type parameters in brackets (PEP 695, with defaults, PEP 696) and
``type`` statements become marks, f-strings of the later kind (PEP 701) become empty ones.
The marks are then replaced by what the later ``ast`` has in their place.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from keyword import iskeyword
from typing import Literal, cast
from typing import TypeVar as TypeVariable

from policyctl.model.code.tokens import Token, closing, tokens

_MARK = "__with_parameters_"
_ALIAS = "__type_alias__"
N = TypeVariable("N", bound=ast.AST)


class TypeVar(ast.AST):
    """A type parameter, as ``ast.TypeVar`` of Python 3.13."""

    _fields = ("name", "bound", "default_value")


class ParamSpec(ast.AST):
    """``**P`` in brackets, as ``ast.ParamSpec`` of Python 3.13."""

    _fields = ("name", "default_value")


class TypeVarTuple(ast.AST):
    """``*Ts`` in brackets, as ``ast.TypeVarTuple`` of Python 3.13."""

    _fields = ("name", "default_value")


class TypeAlias(ast.stmt):
    """``type X = …``, as ``ast.TypeAlias`` of Python 3.12."""

    _fields = ("name", "type_params", "value")


_KINDS: dict[str, type[ast.AST]] = {"": TypeVar, "*": TypeVarTuple, "**": ParamSpec}


def parse(source: bytes) -> ast.Module:
    """The syntax tree of a module.

    Nodes of ``class`` and ``def`` may have ``type_params``, as in Python 3.12.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    with warnings.catch_warnings():
        # What the authors of a library escape is theirs to mend.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except SyntaxError:
            return parse_newer(_decoded(source))


def parse_newer(text: str) -> ast.Module:
    """The syntax tree of a text, read in the syntax of Python 3.11.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    parameters: list[list[ast.AST]] = []
    tree = ast.parse(_older(text, parameters))
    return cast("ast.Module", _Marks(parameters).visit(tree))


def _decoded(source: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
    text = source.decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _older(text: str, parameters: list[list[ast.AST]]) -> str:
    """The text in older syntax; adds what its marks stand for to ``parameters``."""
    found = list(tokens(text))
    parts: list[str] = []
    done = 0

    def replace(start: int, end: int, by: str) -> None:
        nonlocal done
        parts.extend((text[done:start], by))
        done = end

    for index, (token, after) in enumerate(pairwise(found)):
        if token.start < done:
            continue
        if token.kind == "formatted":
            replace(token.start, token.end, _plain(token))
        elif token.kind == "name" and after.kind == "name":
            if token.text in ("class", "def"):
                end = _bracketed(found, index + 2)
                if end is not None:
                    mark = f"{after.text}{_MARK}{len(parameters)}"
                    parameters.append([*_parameters(text, found[index + 3 : end])])
                    replace(after.start, found[end].end, mark)
            elif token.text == "type" and "\n" not in text[token.end : after.start]:
                end = _bracketed(found, index + 2)
                last = index + 1 if end is None else end
                if iskeyword(after.text) or [t.text for t in found[last + 1 :][:1]] != [
                    "="
                ]:
                    continue
                mark = f"{after.text}{_MARK}{len(parameters)}: {_ALIAS}"
                parameters.append([*_parameters(text, found[index + 3 : last])])
                replace(token.start, found[last].end, mark)
    if found and found[-1].kind == "formatted" and found[-1].start >= done:
        replace(found[-1].start, found[-1].end, _plain(found[-1]))
    return "".join((*parts, text[done:]))


def _plain(token: Token) -> str:
    """An empty f-string of as many lines, so that places stay what they are."""
    lines = token.text.count("\n")
    return 'f"""' + "\n" * lines + '"""' if lines else 'f""'


def _bracketed(found: list[Token], opening: int) -> int | None:
    """The index of the bracket that closes the parameters, if there are any."""
    is_there = opening < len(found) and found[opening].text == "["
    return closing(found, opening) if is_there else None


def _parameters(text: str, written: list[Token]) -> Iterator[ast.AST]:
    for start, end in _split(written, ","):
        yield _parameter(text, written[start:end])


def _parameter(text: str, written: list[Token]) -> ast.AST:
    stars = written[0].text if written[0].text in _KINDS else ""
    name = written[1 if stars else 0].text
    (start, end), *more = _split(written, "=")
    default = _expression(text, written[slice(*more[0])]) if more else None
    bound = None
    for first, last in [*_split(written[start:end], ":")][1:]:
        bound = _expression(text, written[first:last])
    kind = _KINDS[stars]
    if kind is TypeVar:
        return _node(kind, name=name, bound=bound, default_value=default)
    return _node(kind, name=name, default_value=default)


def _node(kind: type[N], **fields: object) -> N:
    """A node; the constructors of some versions warn of fields that they do not know."""
    node = kind.__new__(kind)
    vars(node).update(fields)
    return node


def _split(
    written: list[Token], separator: Literal[",", "=", ":"]
) -> list[tuple[int, int]]:
    """The parts between separators outside of brackets, as first and last index."""
    parts: list[tuple[int, int]] = []
    start = index = 0
    while index < len(written):
        token = written[index]
        if token.kind == "other" and token.text in "([{":
            index = closing(written, index)
        elif token.text == separator:
            parts.append((start, index))
            start = index + 1
        index += 1
    if start < len(written) or separator != ",":
        parts.append((start, len(written)))
    return parts


def _expression(text: str, written: list[Token]) -> ast.expr:
    if not written:
        raise SyntaxError("a type parameter lacks a type")
    inner = _older(text[written[0].start : written[-1].end], [])
    items = ast.parse(f"({inner}\n,)", mode="eval").body
    return cast("ast.Tuple", items).elts[0]


class _Marks(ast.NodeTransformer):
    """Replaces marks by what they stand for."""

    def __init__(self, parameters: list[list[ast.AST]]) -> None:
        self._parameters = parameters

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        target, annotation = node.target, node.annotation
        if not (isinstance(annotation, ast.Name) and annotation.id == _ALIAS):
            return node
        assert isinstance(target, ast.Name)
        name, _, number = target.id.partition(_MARK)
        return _node(
            TypeAlias,
            name=ast.Name(name, ast.Store()),
            type_params=self._parameters[int(number)],
            value=node.value,
            lineno=node.lineno,
            col_offset=node.col_offset,
        )

    def _definition(
        self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ) -> ast.AST:
        name, mark, number = node.name.partition(_MARK)
        if mark:
            node.name = name
            vars(node)["type_params"] = self._parameters[int(number)]
        return self.generic_visit(node)
