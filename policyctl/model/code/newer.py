"""Read code in the syntax of Python up to 3.14 with any Python from 3.11 on.

A library may be written for a later Python than the one that runs here, and what is
generated from it must not depend on that. So where ``ast`` refuses a text, it is written
in the syntax of 3.11: type parameters in brackets (PEP 695, with defaults, PEP 696) and
``type`` statements become marks, f-strings of the later kind (PEP 701) and t-strings
(PEP 750) become empty ones, and several exceptions get their brackets (PEP 758). The marks
are then replaced by what the later ``ast`` has in their place.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import pairwise
from keyword import iskeyword
from typing import Literal, cast
from typing import TypeVar as TypeVariable
from unicodedata import normalize

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
    # Not by ast: what it makes of wrong bytes in comments depends on its version.
    text = _decoded(source)
    with warnings.catch_warnings():
        # What the authors of a library escape is theirs to mend.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError:
            return parse_newer(text)


def parse_newer(text: str) -> ast.Module:
    """The syntax tree of a text, read in the syntax of Python 3.11.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    marks = _Marks(text)
    tree = ast.parse(_older(text, marks))
    marks.replace(tree)
    return tree


def _decoded(source: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
    try:
        text = source.decode(encoding)
    except LookupError as error:
        raise SyntaxError(f"{encoding} is no encoding of text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _older(text: str, marks: _Marks) -> str:
    """The text in older syntax, with marks for what that has not."""
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
        elif token.kind != "name":
            continue
        elif token.text == "except":
            start, end = _exceptions(found, index + 1)
            if start < end:
                inner = _older(text[start:end], marks)
                replace(start, end, f"({inner})")
        elif after.kind == "name" and token.text in ("class", "def"):
            last = _bracketed(found, index + 2)
            if last is not None:
                parameters = _parameters(text, found[index + 3 : last])
                mark = marks.add(after.text, parameters)
                end = found[last].end
                replace(after.start, end, mark + _lines(text[after.end : end]))
        elif after.kind == "name" and token.text == "type":
            last = _alias_end(text, found, index)
            if last is not None:
                parameters = _parameters(text, found[index + 3 : last])
                mark = f"{marks.add(after.text, parameters)}: {_ALIAS}"
                end = found[last].end
                replace(token.start, end, mark + _lines(text[token.end : end]))
    if found and found[-1].kind == "formatted" and found[-1].start >= done:
        replace(found[-1].start, found[-1].end, _plain(found[-1]))
    return "".join((*parts, text[done:]))


def _lines(replaced: str) -> str:
    """As many lines as were replaced, so that places stay what they are."""
    return "\\\n" * replaced.count("\n")


def _alias_end(text: str, found: list[Token], index: int) -> int | None:
    """The index of the last token before the ``=`` of ``type X[T] = …``, if it is one."""
    token, after = found[index : index + 2]
    between = text[token.end : after.start].replace("\\\n", "")
    if "\n" in between or iskeyword(after.text):
        return None
    end = _bracketed(found, index + 2)
    last = index + 1 if end is None else end
    return last if [t.text for t in found[last + 1 : last + 2]] == ["="] else None


def _exceptions(found: list[Token], index: int) -> tuple[int, int]:
    """From where to where several exceptions are written without brackets."""
    index += found[index].text == "*"
    first, several = index, False
    while index < len(found) and found[index].text not in (":", "as"):
        several = several or found[index].text == ","
        is_open = found[index].kind == "other" and found[index].text in "([{"
        index = (closing(found, index) if is_open else index) + 1
    return (found[first].start, found[index - 1].end) if several else (0, 0)


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
    bounds = _split(written[start:end], ":")[1:]
    bound = _expression(text, written[bounds[0][0] : end]) if bounds else None
    kind, name = _KINDS[stars], normalize("NFKC", name)
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
    part = text[written[0].start : written[-1].end]
    inner = _older(part, _Marks(part))
    items = ast.parse(f"({inner}\n,)", mode="eval").body
    return cast("ast.Tuple", items).elts[0]


class _Marks:
    """Names that stand for a name with type parameters, none of which ``text`` has."""

    def __init__(self, text: str) -> None:
        self._parameters: list[list[ast.AST]] = []
        self._mark = _MARK
        while self._mark in text:
            self._mark += "_"

    def add(self, name: str, parameters: Iterable[ast.AST]) -> str:
        """A mark for ``name`` with these parameters."""
        self._parameters.append([*parameters])
        return f"{name}{self._mark}{len(self._parameters) - 1}"

    def replace(self, tree: ast.AST) -> None:
        """Put what marks stand for in their place; a tree may be of any depth."""
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                name, mark, number = node.name.partition(self._mark)
                if mark:
                    node.name = name
                    vars(node)["type_params"] = self._parameters[int(number)]
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list):
                    statements = cast("list[ast.stmt]", body)
                    statements[:] = map(self._statement, statements)

    def _statement(self, node: ast.stmt) -> ast.stmt:
        """The statement itself, or the ``type`` statement that it stands for."""
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            return node
        name, mark, number = node.target.id.partition(self._mark)
        if not mark:
            return node
        return _node(
            TypeAlias,
            name=ast.Name(name, ast.Store()),
            type_params=self._parameters[int(number)],
            value=node.value,
            lineno=node.lineno,
            col_offset=node.col_offset,
        )
