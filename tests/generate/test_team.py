"""Templates of a team's own: what they replace, what they get, how they fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import pytest

from policyctl.generate.build import Built, build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.policy import Project

LoadProject = Callable[[Mapping[str, str]], Project]
MakeOptions = Callable[..., GenerateOptions]
BuildWith = Callable[..., Built]
MODULE = PurePosixPath("quotes_api.py")
HEADER = '{% include "parts/header.jinja" %}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The team's folder."""
    made = tmp_path / "templates"
    made.mkdir()
    return made


@pytest.fixture
def build_with(
    folder: Path, load: LoadProject, quotes: str, options: MakeOptions
) -> BuildWith:
    """A function that builds with templates given by name."""

    def make(templates: Mapping[str, str]) -> Built:
        for name, text in templates.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return build(load({"quotes.yaml": quotes}), options(templates=folder))

    return make


def test_one_part_is_replaced(build_with: BuildWith) -> None:
    """The shipped module prints the team's part; everything else is as shipped."""
    shipped = build_with({})
    built = build_with(
        {
            "parts/policy.jinja": "# {{ policy.name }}\n{% include 'shipped/parts/policy.jinja' %}"
        }
    )
    assert built.diagnostics == ()
    text = built.tree[MODULE].decode()
    assert "\n# get_quote\nget_quote: _typing.Final = _policy.Policy(\n" in text
    same = PurePosixPath("registry.py")
    assert built.tree[same].split(b"\n", 4)[4] == shipped.tree[same].split(b"\n", 4)[4]


def test_a_shipped_template_is_extended_with_helpers(build_with: BuildWith) -> None:
    """Helpers lie in own/; a template may include what it replaces; black has its say."""
    built = build_with(
        {
            "module.py.jinja": (
                '{% include "shipped/module.py.jinja" %}\n{% include "own/team.jinja" %}'
            ),
            "own/team.jinja": "TEAM = [ 'quotes' ]\n",
        }
    )
    assert built.diagnostics == ()
    assert built.tree[MODULE].endswith(b'\nTEAM = ["quotes"]\n')


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        (
            "module.py.jinja",
            HEADER + "{% if %}",
            2,
            "the template fails: expected an expression, got 'end of statement block'",
        ),
        (
            "module.py.jinja",
            HEADER + "\n{{ polices }}",
            3,
            "the template fails: 'polices' is undefined",
        ),
        (
            "parts/policy.jinja",
            "{{ policy.name }}\n{{ policy.nam }}",
            2,
            "the template fails: 'policyctl.generate.contexts.PolicyContext object' has no attribute 'nam'",
        ),
        (
            "registry.py.jinja",
            HEADER + "{{ 1 / 0 }}",
            2,
            "the template fails: division by zero",
        ),
        (
            "module.py.jinja",
            HEADER + "{{ ().__class__.__mro__ }}",
            2,
            "the template fails: access to attribute '__class__' of 'tuple' object is unsafe.",
        ),
        (
            "module.py.jinja",
            HEADER + "{{ header | shout }}",
            2,
            "the template fails: no filter named 'shout'.",
        ),
        (
            "module.py.jinja",
            HEADER + "{% include 'other.jinja' %}",
            2,
            "the template fails: there is no template other.jinja",
        ),
        (
            "module.py.jinja",
            HEADER + "{% for x in range(999999999) %}{% endfor %}",
            2,
            "the template fails: range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).",
        ),
        (
            "module.py.jinja",
            "x = 1\n",
            1,
            "module.py.jinja does not begin with the header",
        ),
        ("modul.py.jinja", "x = 1\n", 1, "modul.py.jinja replaces no template"),
    ],
)
def test_one_clear_line_for_an_error(
    build_with: BuildWith, folder: Path, name: str, text: str, line: int, message: str
) -> None:
    """The template and its line are told, and nothing is built."""
    built = build_with({name: text})
    assert built.tree == {}
    [found] = built.diagnostics
    assert (found.code, found.message) == ("GN011", message)
    assert found.span.line == line
    assert (Path.cwd() / found.span.path).resolve() == (folder / name).resolve()


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        (
            "parts/policy.jinja",
            "{% if policy.name != 'get_quote' %}{{ policy.name }} = 1{% endif %}\n",
            "parts/policy.jinja leaves out get_quote",
            'print it: {% include "shipped/parts/policy.jinja" %}',
        ),
        (
            "module.py.jinja",
            HEADER + "__all__ = ['get_quote']\n",
            "module.py.jinja leaves out {names}",
            'print it: {% include "shipped/parts/policy.jinja" %}',
        ),
        (
            "module.py.jinja",
            HEADER
            + "{% for policy in policies %}{{ policy.name }}: int = 1\n{% endfor %}"
            "{% if inbound %}inbound = 1\n{% endif %}{% if callees %}to = 1\n{% endif %}"
            "__all__ = ['get_quote', 'extra']\nfor key in (): pass\nextra: int\n",
            "__all__ has 'extra', and module.py.jinja binds no such name",
            "print what it stands for, or leave it out of __all__",
        ),
    ],
)
def test_names_that_nothing_binds(
    build_with: BuildWith, folder: Path, name: str, text: str, message: str, hint: str
) -> None:
    """A module that would fail when imported is refused, with template and name."""
    built = build_with({name: text})
    assert built.tree == {}
    [found] = built.diagnostics
    names = "get_quote" if "{names}" in message else ""
    assert (found.code, found.help) == ("GN011", hint)
    assert found.message.startswith(message.replace("{names}", names))
    assert (Path.cwd() / found.span.path).resolve() == (folder / name).resolve()


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import *\n__all__ = ['a']\n",
        "def __getattr__(name: str) -> int: ...\n",
        """{% include "shipped/module.py.jinja" %}
try:
    import x
except E:
    x = 1
with a as y: pass
for z in b: pass
__all__ = ["x", "y", "z"]
""",
        """{% include "shipped/module.py.jinja" %}
match key:
    case {"a": p, **q} | [p, *q]: r = 1
    case s: pass
type t = int
def f[T](x: T) -> str: return f"{x["a"]}"
__all__ = ["f", "p", "q", "r", "s", "t"]
""",
    ],
)
def test_names_that_are_bound_in_other_ways(build_with: BuildWith, text: str) -> None:
    """What is bound under a condition, or cannot be told, is the team's business."""
    start = "" if "shipped" in text else HEADER
    assert build_with({"module.py.jinja": start + text}).diagnostics == ()


def test_an_error_in_the_first_line_has_its_number(build_with: BuildWith) -> None:
    """It has offsets, as a place in a text; a finding for a whole file has none."""
    [found] = build_with({"module.py.jinja": "{{ nope }}\n"}).diagnostics
    place = found.span
    assert (place.line, place.column, place.end_column) == (1, 1, 11)
    assert (place.start, place.end) == (0, 10)
    [found] = build_with({"module.py.jinja": "x = 1\n"}).diagnostics
    assert (found.span.line, found.span.end) == (1, 0)


def test_a_text_that_is_not_python(build_with: BuildWith) -> None:
    """What black cannot read is the template's error."""
    built = build_with({"module.py.jinja": f"{HEADER}def f(:\n"})
    [found] = built.diagnostics
    assert found.code == "GN011"
    assert found.message.startswith("the rendered text is not Python: ")
    assert found.message.endswith(": def f(:")


def test_what_black_takes_for_python(build_with: BuildWith) -> None:
    """A text that black formats and no Python reads is the template's error too."""
    [found] = build_with({"module.py.jinja": f"{HEADER}f(a=1, 2)\n"}).diagnostics
    assert (found.code, found.help) == ("GN011", "correct module.py.jinja")
    assert found.message.startswith("positional argument follows keyword argument")


@pytest.mark.parametrize(
    ("templates", "culprit"),
    [
        (
            {"parts/policy.jinja": "{{ policy.name }} = (\n", "own/x.jinja": ""},
            "parts/policy.jinja",
        ),
        (
            {
                "module.py.jinja": '{% include "shipped/module.py.jinja" %}\nx = 1\n',
                "parts/policy.jinja": "{{ policy.name }} = (\n",
            },
            "parts/policy.jinja",
        ),
        (
            {"registry.py.jinja": HEADER + "x = = 1\n", "parts/queue.jinja": "("},
            "registry.py.jinja",
        ),
    ],
)
def test_the_part_that_is_not_python(
    build_with: BuildWith, folder: Path, templates: dict[str, str], culprit: str
) -> None:
    """The place is the template without which the text would be Python."""
    [found] = build_with(templates).diagnostics
    assert (found.code, found.help) == ("GN011", f"correct {culprit}")
    assert (Path.cwd() / found.span.path).resolve() == (folder / culprit).resolve()


def test_other_names_are_told_the_nearest(build_with: BuildWith) -> None:
    """A typing mistake in a file's name would replace nothing, silently."""
    [found] = build_with({"modul.py.jinja": "x = 1\n"}).diagnostics
    assert found.help == "did you mean module.py.jinja?"
    [other] = build_with({"modul.py.jinja": "", "zzz.jinja": ""}).diagnostics[1:]
    assert other.help is not None
    assert other.help.startswith("the templates are module.py.jinja, package.py.jinja")


def test_a_folder_that_is_not_there(
    load: LoadProject, quotes: str, options: MakeOptions, tmp_path: Path
) -> None:
    """It is an error, not a folder without templates."""
    chosen = options(templates=tmp_path / "nowhere")
    [found] = build(load({"a.yaml": quotes}), chosen).diagnostics
    assert found.code == "GN011"
    assert found.message.startswith("there is no folder ")


def test_stale_when_a_template_changed(
    build_with: BuildWith, folder: Path, options: MakeOptions
) -> None:
    """An edited template makes every file stale, and the reason is told."""
    chosen = options(templates=folder)
    built = build_with({"parts/docstring.jinja": '"""Short."""\n'})
    write(built, compare(built, chosen), chosen)
    assert compare(built, chosen).fresh
    again = build_with({"parts/docstring.jinja": '"""Shorter."""\n'})
    changes = {str(c.path): c.message for c in compare(again, chosen).stale}
    assert changes["quotes_api.py"] == (
        "quotes_api.py is out of date: the templates changed"
    )
