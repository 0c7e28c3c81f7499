"""What names stand for: across imports, conditions, re-exports and base classes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from policyctl.model.code.callables import read_class
from policyctl.model.code.conditions import Conditions
from policyctl.model.code.library import Library

FILES = {
    "lib/__init__.py": (
        "from lib._core import Thing, Other as Other\nfrom lib._more import *\n"
        "import lib._core as core\n__all__ = ['Thing']\n__all__ += ['Extra']\n"
    ),
    "lib/_core.py": (
        "import sys\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from ._more import Extra\n"
        "else:\n    Extra = None\n"
        "if sys.version_info >= (3, 12):\n    class Thing: new = 1\n"
        "else:\n    class Thing: old = 1\n"
        "try:\n    from missing_lib import Fast as Other\n"
        "except ImportError:\n    class Other: ...\n"
        "class Outer:\n    class Inner: ...\n"
        "Alias = Outer\n"
    ),
    "lib/_more.py": "from ._core import Thing as Looped\nclass Extra: ...\n",
    "lib/loop.py": "from lib.loop import itself\n",
}


def library(folder: Path, files: Mapping[str, str], *version: int) -> Library:
    """A library of files in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Library([str(folder)], Conditions(version or (3, 11)))


@pytest.mark.parametrize(
    ("module", "path", "expected"),
    [
        ("lib", "Thing", ("lib._core", "Thing", "class")),
        ("lib", "Extra", ("lib._more", "Extra", "class")),
        ("lib._core", "Extra", ("lib._more", "Extra", "class")),
        ("lib", "Looped", ("lib._core", "Thing", "class")),
        ("lib", "core", ("lib._core", "", "module")),
        ("lib", "core.Outer.Inner", ("lib._core", "Outer.Inner", "class")),
        ("lib", "Other", ("missing_lib", "Fast", "opaque")),
        ("lib", "_more", ("lib._more", "", "module")),
        ("lib._core", "Alias", ("lib._core", "Alias", "value")),
        ("lib", "nothing", None),
        ("lib.loop", "itself", ("lib.loop", "itself", "opaque")),
    ],
)
def test_a_name(
    tmp_path: Path, module: str, path: str, expected: tuple[str, str, str] | None
) -> None:
    """Imports are followed to the definition, or to the last module that is readable."""
    found = library(tmp_path, FILES).find(module, path)
    assert (found and (found.module, found.name, found.kind)) == expected


@pytest.mark.parametrize(("version", "member"), [((3, 11), "old"), ((3, 12), "new")])
def test_the_version_decides(
    tmp_path: Path, version: tuple[int, int], member: str
) -> None:
    """A class is the one that the target Python has."""
    target = read_class(library(tmp_path, FILES, *version), "lib", "Thing")
    assert target is not None
    node = target.symbol.class_node
    assert node is not None
    assert ast.unparse(node.body[0]) == f"{member} = 1"


def test_the_public_place_of_a_name(tmp_path: Path) -> None:
    """It is the outermost public package that exports the name, if there is one."""
    found = library(tmp_path, FILES)
    places = {
        name: found.public_path(symbol)
        for name in ("Thing", "Extra", "Outer.Inner")
        if (symbol := found.find("lib._core", name)) is not None
    }
    assert places == {
        "Thing": ("lib", "Thing"),
        "Extra": ("lib", "Extra"),
        "Outer.Inner": ("lib._core", "Outer.Inner"),
    }


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("TYPE_CHECKING", True),
        ("not typing.TYPE_CHECKING", False),
        ("sys.version_info >= (3, 11)", True),
        ("sys.version_info < (3, 11)", False),
        ("sys.version_info[0] == 2", False),
        ("sys.version_info >= (3, 11) and TYPE_CHECKING", True),
        ("sys.version_info < (3, 8) or unknown", None),
        ("sys.platform == 'win32'", False),
        ("sys.platform != 'win32'", True),
        ("sys.platform.startswith('linux')", True),
        ("unknown and False", False),
        ("True", True),
        ("unknown()", None),
    ],
)
def test_a_condition(test: str, expected: bool | None) -> None:
    """What type checkers decide is decided, for Python 3.11 on Linux."""
    node = ast.parse(test, mode="eval").body
    assert Conditions((3, 11)).holds(node) is expected


def test_members_come_in_the_order_of_python(tmp_path: Path) -> None:
    """A diamond of bases is looked through as Python does it."""
    text = (
        "class A:\n    def f(self): ...\n    def g(self): ...\n"
        "class B(A):\n    def f(self): ...\n"
        "class C(A):\n    def g(self): ...\n"
        "class D(B, C): ...\nclass E(D, Unknown): ...\n"
    )
    found = library(tmp_path, {"diamond.py": text})
    target = read_class(found, "diamond", "D")
    assert target is not None
    order = [a.symbol.name for a in target.lineage.ancestors]
    assert order == ["D", "B", "C", "A"]
    assert target.lineage.complete
    owners = {
        name: member.context.owner.name
        for name in ("f", "g")
        if (member := target.lineage.member(found, name)) is not None
        and member.context.owner is not None
    }
    assert owners == {"f": "B", "g": "C"}
    unsure = read_class(found, "diamond", "E")
    assert unsure is not None
    assert not unsure.lineage.complete


@pytest.mark.parametrize(
    "text", ["class Client(", "\x00", "class Client(Client): ...\n", "\xff\xfe"]
)
def test_code_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    """Broken files and classes that derive from themselves raise nothing."""
    (tmp_path / "broken.py").write_bytes(text.encode("latin-1"))
    target = read_class(Library([str(tmp_path)]), "broken", "Client")
    assert target is None or not target.lineage.complete
