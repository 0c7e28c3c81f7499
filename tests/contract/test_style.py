"""House rules that a machine can check: sizes, docstrings, no strangers in the tree."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "policyctl").rglob("*.py"))
NAMES = [str(path.relative_to(ROOT)) for path in MODULES]


def test_modules_are_small() -> None:
    """No module is over 500 lines, and half of them are at most 150."""
    sizes = {
        name: len(path.read_text("utf-8").splitlines())
        for name, path in zip(NAMES, MODULES, strict=True)
    }
    assert {name: size for name, size in sizes.items() if size > 500} == {}
    assert statistics.median(sizes.values()) <= 150


def public_objects(
    body: list[ast.stmt], prefix: str = ""
) -> Iterator[tuple[str, bool]]:
    """Each public class and function with whether it has a docstring."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        marks = [ast.unparse(item) for item in node.decorator_list]
        overload = any(mark.endswith(("overload", ".setter")) for mark in marks)
        yield prefix + node.name, overload or ast.get_docstring(node) is not None
        if isinstance(node, ast.ClassDef):
            yield from public_objects(node.body, f"{prefix}{node.name}.")


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_public_objects_have_docstrings(path: Path) -> None:
    """Every module, public class, function and method says what it is.

    A rule's file is documented by its class, and the hooks by the base class.
    """
    tree = ast.parse(path.read_text("utf-8"))
    if path.parent.name == "rules":
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for rule in classes:
            rule.body = rule.body[:1]
        tree.body = [*classes]
    elif tree.body:
        assert ast.get_docstring(tree), "the module has no docstring"
    bare = [name for name, documented in public_objects(tree.body) if not documented]
    assert bare == []


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=str)
def test_tests_say_what_they_hold(path: Path) -> None:
    """Every test has a docstring of one sentence on the behaviour."""
    tree = ast.parse(path.read_text("utf-8"))
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    ]
    assert [node.name for node in tests if not ast.get_docstring(node)] == []


def tracked_text() -> Iterator[tuple[str, str]]:
    """Every tracked text file of the repository, by name."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so there is no list of tracked files")
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            yield name, data.decode("utf-8", "replace")


HOSTS = "|".join(
    name + r"\." + ending
    for name, ending in {
        "pypi": "org",
        "pythonhosted": "org",
        "npmjs": "(?:org|com)",
        "deb.debian": "org",
    }.items()
)
ABSOLUTE = r"(?<![A-Za-z0-9_.$})~*-])/(?:home|root|Users|private)/\w"


def test_no_registry_host_and_no_path_of_a_machine_is_committed() -> None:
    """Files name neither package registries nor folders of somebody's machine."""
    pattern = re.compile(f"{HOSTS}|{ABSOLUTE}")
    found = [
        f"{name}: {match.group()}"
        for name, text in tracked_text()
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_nothing_is_left_to_be_done() -> None:
    """Shipped code holds no placeholder for work to come."""
    pattern = re.compile(r"\b(?:TODO|FIXME|XXX|raise NotImplementedError)\b")
    found = [
        f"{name}: {match.group()}"
        for name, text in tracked_text()
        if name.startswith(("policyctl/", "templates/"))
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_news_fragments_have_a_kind() -> None:
    """Every file of docs/changes is named TOPIC.KIND.md and says something."""
    kinds = {"added", "changed", "fixed", "removed"}
    for path in (ROOT / "docs" / "changes").iterdir():
        if path.name == "README.md":
            continue
        _topic, kind, suffix = path.name.split(".")
        assert (kind in kinds, suffix) == (True, "md"), path.name
        assert path.read_text("utf-8").strip().endswith("."), path.name
