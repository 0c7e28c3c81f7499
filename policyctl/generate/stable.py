"""The proof that black would change nothing, over the lines of a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from policyctl.generate.layout import fits

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = rf"{_NAME}(?:\.{_NAME})*"
_ESCAPE = r"\\(?:[nrt\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
_DOUBLE = rf'"(?:[^"\\]|{_ESCAPE})*"'
_SINGLE = rf"""'(?:[^'"\\]|{_ESCAPE})*"(?:[^'\\]|{_ESCAPE})*'"""
_STRING = rf"(?:{_DOUBLE}|{_SINGLE})"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e-?[0-9]+)?"
_TUPLE = rf"\((?:{_STRING},|{_STRING}(?:, {_STRING})+)?\)"
# What a value is followed by: so no two stand side by side.
_END = r"(?=[,)\]}]|$)"
_TOKEN = (
    rf"{_DOTTED}(?:(?:\[{_NAME}\])?\(|=|{_END})|{_STRING}(?:: |{_END})|{_NUMBER}{_END}|{_TUPLE}{_END}"
    rf"|[\[{{]|[)\]}}]{_END}|, (?![)\]}}])"
)
_LABEL = rf"(?:{_NAME}=|{_STRING}: )?"

_value = re.compile(rf"(?:{_TOKEN})+")
_lone_atom = re.compile(rf"(?:{_NAME}=)?(?:{_STRING}|{_NUMBER})")
_open = re.compile(rf"{_LABEL}(?:{_DOTTED}(?:\[{_NAME}\])?\(|[(\[{{])")
_string = re.compile(_STRING)
_assign = re.compile(rf"{_NAME}(?:: {_DOTTED}(?:\[{_NAME}\])?)? = (.+)")
_import = re.compile(
    rf"import {_DOTTED}(?: as {_NAME})?|from \.*(?:{_DOTTED})? import {_NAME}(?: as {_NAME})?"
)
_call = re.compile(rf"{_DOTTED}\(")
_suite = re.compile(rf"(?:class {_NAME}|if {_DOTTED}):")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def is_stable(text: str) -> bool:
    """Whether black would certainly leave ``text`` as it is."""
    if not text.endswith("\n") or text.endswith("\n\n"):
        return False
    checker = _Checker()
    return all(map(checker.accept, text[:-1].split("\n"))) and checker.complete


class _Checker:
    """Reads lines; every method answers whether black leaves the line alone."""

    def __init__(self) -> None:
        self.brackets: list[tuple[str, str, int]] = []
        self.suites = 0
        self.blank = 0
        self.last = "start"
        self.opened = ""
        self.in_string = False
        self.in_class = False
        self.indents: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether the text may end here."""
        return not self.brackets and not self.in_string and self.last != "suite"

    def accept(self, line: str) -> bool:
        """Whether ``line`` may follow what was read."""
        if line != line.rstrip() or not (line.isascii() or line.isprintable()):
            return False
        if self.in_string:
            return self._string_line(line)
        if not line:
            self.blank += 1
            return not self.brackets
        body = line.lstrip(" ")
        level = len(line) - len(body)
        if self.brackets:
            return self.blank == 0 and self._item(line, body, level)
        accepted = self._statement(line, body, level)
        self.blank = 0
        return accepted

    def _string_line(self, line: str) -> bool:
        body = line.lstrip(" ")
        margin = self.suites * 4
        if body == '"""':
            self.in_string = False
            indented = not self.indents or min(self.indents) == margin
            return indented and len(line) - 3 == margin
        if body:
            self.indents.add(len(line) - len(body))
        return '"""' not in body and "\t" not in body

    def _statement(self, line: str, body: str, level: int) -> bool:
        if body.startswith("#"):
            return self._comment(line)
        if body.startswith('"""'):
            return self._text(body, level)
        if _import.fullmatch(body) is not None:
            return fits(line) and self._placed("import", level)
        if _suite.fullmatch(body) is not None:
            return fits(line) and self._open_suite(body, level)
        if body == "else:":
            return self._else(level)
        match = _assign.fullmatch(body)
        if match is not None:
            return self._placed("assignment", level) and self._right_side(
                line, match[1]
            )
        if _call.match(body) is None or not self._placed("call", level):
            return False
        return self._right_side(line, body)

    def _comment(self, line: str) -> bool:
        """Only at the top, and of the plain kind that no tool reads."""
        first = self.last in ("start", "comment") and self.blank == 0
        self.last = "comment"
        return first and re.match(r"# (?!fmt:|isort:|type:)\S", line) is not None

    def _text(self, body: str, level: int) -> bool:
        """A string statement: opened here, and closed here or on a line of its own."""
        top = self.last in ("start", "comment") and level == 0
        in_suite = self.last == "suite" and level == self.suites * 4
        below = self.last == "assignment" and level == self.suites * 4
        if self.blank or not (top or in_suite or below):
            return False
        self.last = "docstring" if top or in_suite else "text"
        inner = body[3:]
        if inner.endswith('"""') and len(inner) > 3:
            inner = inner[:-3]
            if inner[-1] in '"\\' or not fits(" " * level + body):
                return False
        else:
            self.in_string = True
            self.indents.clear()
        return inner[:1] not in ("", " ", '"') and '"""' not in inner

    def _open_suite(self, body: str, level: int) -> bool:
        is_class = body.startswith("class ")
        kind = "class" if is_class else "if"
        if level == 0 and is_class:
            placed = self.blank == 2 and self.last not in ("start", "comment", "suite")
        else:
            placed = self._placed(kind, level)
        self.suites = level // 4 + 1
        self.opened = kind if level == 0 else "suite"
        self.in_class = is_class if level == 0 else self.in_class
        self.last = "suite"
        return placed

    def _else(self, level: int) -> bool:
        """Only of an ``if`` at the top that has just ended."""
        placed = self.opened == "if" and self.suites == 1 and self.blank == 0
        ended = self.last in ("import", "assignment")
        self.opened = self.last = "suite"
        return placed and ended and level == 0

    def _placed(self, kind: str, level: int) -> bool:
        """Whether a statement has the indentation and blank lines that black wants."""
        last, blank = self.last, self.blank
        self.last = kind
        if level % 4 or level > self.suites * 4:
            return False
        dedented = level < self.suites * 4
        self.suites = level // 4
        if last in ("start", "comment"):
            return False
        if last == "suite":
            return blank == 0 and not dedented and kind != "class"
        if dedented and level == 0 and self.in_class:
            return blank == 2
        if dedented or kind in ("class", "if") or last == "docstring":
            return blank == 1
        if last == "import" and kind != "import":
            return blank == 1
        return blank <= 1

    def _right_side(self, line: str, value: str) -> bool:
        if _open.fullmatch(value) is None:
            return fits(line) and _is_value(value)
        self.brackets.append((value[-1], line, 0))
        return fits(line) and value != "(" and "=" not in value and ": " not in value

    def _item(self, line: str, body: str, level: int) -> bool:
        base = self.suites * 4
        depth = len(self.brackets)
        bracket, opening, count = self.brackets[-1]
        if body[0] in ")]}":
            self.brackets.pop()
            end = body[0] + ("," if self.brackets else "")
            return (
                body == end
                and body[0] == _PAIRS[bracket]
                and level == base + depth * 4 - 4
                and count > 0
                and not _may_join(opening, count)
            )
        self.brackets[-1] = (bracket, opening, count + 1)
        if level != base + depth * 4:
            return False
        kind = _kind(body)
        if kind == "open":
            self.brackets.append((body[-1], line, 0))
            return fits(line)
        return kind == "atom" or (kind == "value" and fits(line))


@lru_cache(maxsize=16384)
def _kind(body: str) -> Literal["open", "atom", "value", "unknown"]:
    """What a line inside brackets is; most lines of generated code are like others.

    An atom is a literal that cannot be split, so it may be as long as it is.
    """
    if _open.fullmatch(body) is not None:
        return "open"
    if body[-1] != "," or not _is_value(body[:-1]):
        return "unknown"
    return "value" if _lone_atom.fullmatch(body[:-1]) is None else "atom"


def _is_value(text: str) -> bool:
    """Whether ``text`` is an expression on one line, spaced as black spaces it."""
    if text[:1] == ")" or _value.fullmatch(text) is None:
        return False
    bare = _string.sub("", text)
    return all(bare.count(a) == bare.count(b) for a, b in _PAIRS.items())


def _may_join(opening: str, count: int) -> bool:
    """Whether this is a tuple of one item, whose comma does not keep it apart."""
    is_tuple = opening.endswith(("=(", ": (")) or opening.strip(" ") == "("
    return is_tuple and count == 1
