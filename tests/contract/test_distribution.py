"""What the wheel and the source distribution hold, built as an installer would."""

from __future__ import annotations

import email.message
import email.parser
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from this checkout without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(
        directory=str(folder), versions=["standard"]
    )
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> tarfile.TarFile:
    """The source distribution, built from this checkout without a network."""
    folder = tmp_path_factory.mktemp("sdist")
    (built,) = SdistBuilder(str(ROOT)).build(
        directory=str(folder), versions=["standard"]
    )
    return tarfile.open(built)


def files(folder: str, pattern: str = "*") -> set[str]:
    """The files of a folder of the checkout, relative to it, without compiled ones."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob(pattern)
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.name != ".gitkeep"
    }


def below(names: list[str], prefix: str) -> set[str]:
    """The names below ``prefix``, relative to it."""
    return {name[len(prefix) :] for name in names if name.startswith(prefix)}


def test_the_wheel_holds_the_package_templates_and_presets(
    wheel: zipfile.ZipFile,
) -> None:
    """Every module, template and preset of the checkout is in the wheel, nothing else."""
    names = wheel.namelist()
    assert below(names, "policyctl/templates/") == files("templates")
    assert below(names, "policyctl/policies/presets/") == files("policies/presets")
    assert files("templates")
    assert files("policies/presets", "*.yaml")
    code = {
        name
        for name in below(names, "policyctl/")
        if not name.startswith(("templates/", "policies/"))
    }
    assert code == files("policyctl")
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"policyctl"}


def test_the_wheel_is_marked_typed(wheel: zipfile.ZipFile) -> None:
    """Type checkers of users see our annotations."""
    assert "policyctl/py.typed" in wheel.namelist()


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    """The wheel's metadata."""
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def test_the_base_installs_tenacity_alone(wheel: zipfile.ZipFile) -> None:
    """Without extras nothing of the command line is installed."""
    required: list[str] = metadata(wheel).get_all("Requires-Dist", [])
    base = [line for line in required if "extra ==" not in line]
    assert [line.split(">")[0].split("<")[0] for line in base] == ["tenacity"]


def test_the_command_is_installed(wheel: zipfile.ZipFile) -> None:
    """The wheel declares the ``policyctl`` command."""
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "policyctl = policyctl.cli.main:main" in wheel.read(name).decode()


def test_the_license_travels_along(wheel: zipfile.ZipFile) -> None:
    """The wheel carries the license text."""
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_a_wheel_can_be_built_from_the_source_distribution(
    sdist: tarfile.TarFile, wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    """The source distribution holds all that the wheel is made of."""
    sdist.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    before = Path.cwd()
    try:
        builder = WheelBuilder(str(folder))
        (built,) = builder.build(directory=str(tmp_path), versions=["standard"])
    finally:
        os.chdir(before)
    with zipfile.ZipFile(built) as again:
        assert sorted(again.namelist()) == sorted(wheel.namelist())


def test_the_source_distribution_can_be_tested(sdist: tarfile.TarFile) -> None:
    """Tests, Makefile, documents and examples come along; machine folders do not."""
    names = [name.split("/", 1)[-1] for name in sdist.getnames()]
    assert {"Makefile", "README.md", "CHANGELOG.md", "requirements-dev.txt"} <= set(
        names
    )
    assert below(names, "tests/") == files("tests")
    tops = {name.split("/")[0] for name in names}
    assert not {top for top in tops if top.startswith((".venv", ".git/", "build"))}
