"""Imports between the folders run only backwards along the steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "policyctl"

BASE = {"units", "checks"}
EARLIER: dict[str, set[str]] = {
    "": set(),
    "__init__": set(),
    "__main__": {"cli"},
    "_version": set(),
    "assets": set(),
    "units": set(),
    "checks": {"units"},
    "diagnostics": set(),
    "toml_places": set(),
    "config_values": {"diagnostics"},
    "config": {"config_values", "diagnostics", "source", "toml_places"},
    "source": BASE | {"diagnostics"},
    "reports": BASE | {"_version", "diagnostics", "source"},
    "model": BASE | {"diagnostics", "source"},
    "resolve": BASE | {"assets", "diagnostics", "model", "source"},
    "lint": BASE | {"assets", "diagnostics", "model", "resolve", "source"},
    "generate": BASE
    | {"_version", "assets", "diagnostics", "model", "resolve", "runtime", "source"},
    "runtime": BASE,
    "testing": BASE | {"runtime"},
}
"""What each part may import besides itself; ``cli`` may import all but the runtime."""

STANDARD_ONLY = (
    "units",
    "checks",
    "diagnostics",
    "source/nodes.py",
    "assets",
    "config",
)
RUNTIME_PACKAGES = {"tenacity"}
OPTIONAL_RUNTIME_PACKAGES = {"redis", "prometheus_client", "opentelemetry", "httpx"}


def modules(part: str = "") -> list[Path]:
    """The Python files of the package, or of one part of it."""
    target = PACKAGE / part
    if target.suffix == ".py":
        return [target]
    if target.is_dir():
        return sorted(target.rglob("*.py"))
    return [target.with_suffix(".py")]


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, wherever in the file it does."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join((*base, *([node.module] if node.module else [])))
            if prefix == "policyctl":
                yield from (f"{prefix}.{alias.name}" for alias in node.names)
            else:
                yield prefix


def part_of(path: Path) -> str:
    """The folder or module of the package that a file belongs to."""
    return Path(path.relative_to(PACKAGE).parts[0]).stem


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_backwards(path: Path) -> None:
    """A part imports earlier steps only, as the architecture page says."""
    part = part_of(path)
    own = {
        name.split(".")[1] for name in imported(path) if name.startswith("policyctl.")
    }
    if part == "cli":
        # What looks after queues uses what keeps them.
        assert "runtime" not in own or path.stem in ("queue", "_queues")
        return
    assert part in EARLIER, f"say in EARLIER what {part} may import"
    assert own - {part} <= EARLIER[part]


def third_party(path: Path) -> set[str]:
    """Top-level packages that a file imports and that are neither ours nor Python's."""
    import sys

    tops = {name.partition(".")[0] for name in imported(path)}
    return tops - set(sys.stdlib_module_names) - {"policyctl"}


@pytest.mark.parametrize("part", STANDARD_ONLY)
def test_the_base_needs_the_standard_library_alone(part: str) -> None:
    """What the runtime shares with the tool imports no third-party package."""
    assert {name for path in modules(part) for name in third_party(path)} == set()


@pytest.mark.parametrize("path", modules("runtime"), ids=lambda p: p.stem)
def test_the_runtime_imports_what_a_plain_install_brings(path: Path) -> None:
    """Beyond tenacity the runtime imports optional packages only inside functions.

    A module of ``edges`` that is named after a client library is for its users alone.
    """
    if path.parent.name == "edges" and path.stem in ("aiohttp", "httpx", "requests"):
        assert third_party(path) == {path.stem}
        return
    tree = ast.parse(path.read_text("utf-8"))
    at_import = {
        (
            alias.name.partition(".")[0]
            if isinstance(node, ast.Import)
            else node.module or ""
        )
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    tops = {name.partition(".")[0] for name in at_import}
    assert not tops & OPTIONAL_RUNTIME_PACKAGES
    assert third_party(path) <= RUNTIME_PACKAGES | OPTIONAL_RUNTIME_PACKAGES


def test_the_package_itself_imports_nothing() -> None:
    """``import policyctl`` costs nothing, since generated code passes through it."""
    assert list(imported(PACKAGE / "__init__.py")) == []
