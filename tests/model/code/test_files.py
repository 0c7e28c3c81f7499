"""Where the types of a module are found, and which of several files it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.model.code.files import find_file, has_package

FILES = (
    "shop/__init__.py",
    "shop/client.py",
    "shop/both.py",
    "shop/both.pyi",
    "shop-stubs/client.pyi",
    "typed/__init__.py",
    "typed/py.typed",
    "typed/inner/__init__.pyi",
    "space/inner/__init__.py",
    "space/inner/deep.py",
    "single.py",
    "only-stubs/__init__.pyi",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with packages."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("module", "path", "package", "typed"),
    [
        ("shop", "shop/__init__.py", True, False),
        ("shop.client", "shop-stubs/client.pyi", False, True),
        ("shop.both", "shop/both.pyi", False, True),
        ("typed", "typed/__init__.py", True, True),
        ("typed.inner", "typed/inner/__init__.pyi", True, True),
        ("space.inner", "space/inner/__init__.py", True, False),
        ("space.inner.deep", "space/inner/deep.py", False, False),
        ("single", "single.py", False, False),
        ("only", "only-stubs/__init__.pyi", True, True),
    ],
)
def test_a_module(
    place: Path, module: str, path: str, package: bool, typed: bool
) -> None:
    """Stub packages come first, then stubs beside the source, then source."""
    found = find_file(module, [str(place)])
    assert found is not None
    assert found.path.relative_to(place).as_posix() == path
    assert (found.module, found.package, found.typed) == (module, package, typed)


@pytest.mark.parametrize(
    "module", ["shop.nothing", "absent", "space", "shop.client.more", "a-b", "../x", ""]
)
def test_no_module(place: Path, module: str) -> None:
    """Absent modules, folders without a file, and what is no name."""
    assert find_file(module, [str(place)]) is None


def test_the_first_place_wins(place: Path, tmp_path: Path) -> None:
    """Places are looked through in their order, stub packages before all others."""
    first = tmp_path / "first"
    (first / "shop").mkdir(parents=True)
    (first / "shop" / "client.py").write_text("")
    (first / "single.py").write_text("")
    places = [str(first), str(place)]
    for module, owner in (("single", first), ("shop.client", place)):
        found = find_file(module, places)
        assert found is not None
        assert found.path.is_relative_to(owner)
        assert (first in found.path.parents) is (owner is first)


def test_installed_or_not(place: Path) -> None:
    """A folder alone is no package."""
    assert has_package("shop.client", [str(place)])
    assert has_package("only.what", [str(place)])
    assert has_package("single", [str(place)])
    assert not has_package("space.inner", [str(place)])
    assert not has_package("absent", [str(place)])
