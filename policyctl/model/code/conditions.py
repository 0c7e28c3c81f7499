"""Conditions that type checkers decide: Python's version, the platform, checking."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is assumed: a Python version such as ``(3, 11)``, on Linux, checking."""

    version: tuple[int, ...] = (3, 11)

    def holds(self, test: ast.expr) -> bool | None:
        """Whether ``test`` holds; None where that depends on something else."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.holds(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            return self._combined(test)
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if _name(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING"):
            return True
        if isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING":
            return True
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test.left, test.ops[0], test.comparators[0])
        if isinstance(test, ast.Call) and _name(test.func) == "sys.platform.startswith":
            prefix = test.args[0] if test.args else None
            if isinstance(prefix, ast.Constant) and isinstance(prefix.value, str):
                return "linux".startswith(prefix.value)
        return None

    def _combined(self, test: ast.BoolOp) -> bool | None:
        values = [self.holds(value) for value in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def _compared(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr
    ) -> bool | None:
        compare = _COMPARE.get(type(sign))
        try:
            value: Any = ast.literal_eval(right)
        except (ValueError, TypeError):
            return None
        if compare is None:
            return None
        if _name(left) == "sys.platform" and isinstance(value, str):
            return compare("linux", value)
        if isinstance(left, ast.Subscript) and _name(left.value) == "sys.version_info":
            if isinstance(left.slice, ast.Constant) and left.slice.value == 0:
                return isinstance(value, int) and compare(3, value)
            return None
        if _name(left) == "sys.version_info" and isinstance(value, tuple):
            return compare((*self.version, 0), value)
        return None


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return ""
