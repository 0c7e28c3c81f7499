"""The proof of format knows what black would change, case by case."""

from __future__ import annotations

import pytest

from policyctl.generate.format import run_black
from policyctl.generate.stable import is_stable

TOP = '# made\n"""A module."""\n\n'
LONG = "x" * 80

STABLE = {
    "nothing but a docstring": '"""A module."""\n',
    "a docstring on lines": '"""A module.\n\n    indented\nflush\n"""\n',
    "imports": TOP + "import typing as _typing\n\nfrom a.b import c as _c\n",
    "an assignment": TOP + "x = 1\n",
    "an annotation": TOP + "x: _typing.Final = _p.P(a=1, b=2.5, c=1e-05, d=-1)\n",
    "an empty list": TOP + "__all__: list[str] = []\n",
    "exploded": TOP + 'x = f(\n    a=1,\n    b=("x",),\n    c={"k": [1, 2]},\n)\n',
    "nested": TOP + "x = f(\n    a=g(\n        b=1,\n    ),\n)\n",
    "text below": TOP + 'x = 1\n"""Doc of x."""\n\ny = 2\n',
    "a long literal": TOP + f'x = f(\n    a="{LONG}",\n)\n',
    "single quotes": TOP + "x = 'say \"hi\"'\n",
    "escapes": TOP + 'x = "\\x00\\u2028\\n"\n',
    "classes": TOP
    + "import typing as _t\n\n\nclass to:\n"
    + '    """Calls."""\n\n    class a:\n        x = 1\n\n    class b:\n        y = 2\n',
    "a typed call": TOP
    + "x: _t.Final = _q.Queue[_p](a=1)\n\ny = _q.Queue[_p](\n    a=1,\n)\n",
    "a call": TOP + 'x = 1\n\n_t.enable("a", b="c", d=30.0)\n\ny = 2\n',
    "a call on lines": TOP + f'x = 1\n\n_t.enable(\n    "{LONG}",\n    b=1,\n)\n',
    "an if with an else": TOP
    + "import a as _a\n\nif _a.T:\n    import b as b\n\n    x: _a.A = b.c\nelse:\n    x = _a.Any\n\ny = 1\n",
    "type checking": TOP
    + "import typing as _t\n\nif _t.TYPE_CHECKING:\n    from . import a as a\n\nx = 1\n",
}
CHANGED = {
    "single quotes for nothing": TOP + "x = 'a'\n",
    "escaped quotes": TOP + 'x = "say \\"hi\\""\n',
    "capital escapes": TOP + 'x = "\\xAB"\n',
    "no space after a comma": TOP + "x = [1,2]\n",
    "a call with spaces": TOP + "x = 1\n\nf( 1)\n",
    "two calls on a line": TOP + "x = 1\n\nf(1)(2);g(3)\n",
    "a call after an import": TOP + "import a as _a\n_a.f(1)\n",
    "a call without its comma": TOP + f'x = 1\n\nf(\n    "{LONG}",\n    1\n)\n',
    "no blank line after an import inside": TOP
    + "if _a.T:\n    import b as b\n    x = b.c\nelse:\n    x = 2\n",
    "two spaces": TOP + "x = [1,  2]\n",
    "a space in brackets": TOP + "x = [ 1]\n",
    "side by side": TOP + 'x = ["a""b"]\n',
    "a comma that splits": TOP + "x = f(1, 2,)\n",
    "a line too long": TOP + f"x = f({LONG}, b)\n",
    "a wide line too long": TOP + f'x = f("{"中" * 40}", 1)\n',
    "one item that fits": TOP + "x = f(\n    a=(\n        1,\n    ),\n)\n",
    "no trailing comma": TOP + "x = f(\n    a=1,\n    b=2\n)\n",
    "wrong indentation": TOP + "x = f(\n  a=1,\n)\n",
    "spaces around a keyword": TOP + "x = f(a = 1)\n",
    "a plus in a float": TOP + "x = 1e+16\n",
    "a capital exponent": TOP + "x = 1E5\n",
    "no line after imports": TOP + "import a\nx = 1\n",
    "no line after the docstring": '"""A module."""\nx = 1\n',
    "two lines after the docstring": '"""A module."""\n\n\nimport a\n',
    "one line before a class": TOP + "import a\n\nclass b:\n    x = 1\n",
    "one line after a class": TOP + "x = 1\n\n\nclass b:\n    x = 1\n\ny = 2\n",
    "a trailing space": TOP + "x = 1 \n",
    "an indented docstring": '"""A module.\n\n    all of it\n"""\n',
    "a space in a docstring": '""" A module."""\n',
    "a tab in a docstring": '"""A module.\n\n\tx\ny\n"""\n',
    "redundant brackets": TOP + "x = (1)\n",
    "a comment at the side": TOP + "x = 1 # why\n",
    "a blank line at the end": TOP + "x = 1\n\n",
    "no newline at the end": TOP + "x = 1",
    "three blank lines": TOP + "x = 1\n\n\n\ny = 2\n",
}
UNKNOWN = {
    "black is switched off": "# fmt: off\n" + TOP + "x = 1\n",
    "functions": TOP + "def f() -> None:\n    return None\n",
    "operators": TOP + "x = 1 + 2\n",
    "comments below the top": TOP + "x = 1\n# why\ny = 2\n",
    "open brackets": TOP + "x = f(\n    a=1,\n",
    "an open docstring": '"""A module.\n',
}


@pytest.mark.parametrize("text", STABLE.values(), ids=STABLE)
def test_what_black_leaves_alone_is_proved(text: str) -> None:
    """The proof holds, and black agrees."""
    assert is_stable(text)
    assert run_black(text, "3.11") == text


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_what_black_changes_is_not_proved(text: str) -> None:
    """Black changes the text, and the proof fails."""
    assert run_black(text, "3.11") != text
    assert not is_stable(text)


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_not_proved(text: str) -> None:
    """Anything outside of the small part of Python is left to black."""
    assert not is_stable(text)
