"""The package is a pure function of its input: same bytes on every machine."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
SDK = Path(__file__).parent / "clients" / "sdk"
CLIENTS = """\
version: 1
service: typed_case
target: payment_sdk.generic:Store
operations: {add: {transport: local}, get: {transport: local, attempt_timeout: 1s}}
"""
PYTHONS = [
    python
    for python in (
        ROOT / name / "bin" / "python" for name in (".venv-3.12", ".venv-3.13")
    )
    if python.exists()
]
SCRIPT = """
import sys
from pathlib import Path
from policyctl.generate.build import build
from policyctl.generate.compare import compare
from policyctl.generate.options import GenerateOptions
from policyctl.generate.write import write
from policyctl.resolve.project import InputFile, Inputs, load_project

policies, output = Path(sys.argv[1]), Path(sys.argv[2])
files = [InputFile(str(p), p.read_bytes()) for p in policies.iterdir()]
project = load_project(Inputs(tuple(files[:: int(sys.argv[3])]))).project
options = GenerateOptions(output, "acme")
built = build(project, options)
assert not built.diagnostics, built.diagnostics
write(built, compare(built, options), options)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with the policies of all cases."""
    folder = tmp_path_factory.mktemp("determinism") / "one" / "project"
    (folder / "policies").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    for path in CASES.glob("*/policies/*.yaml"):
        shutil.copy(path, folder / "policies")
    (folder / "policies" / "typed_case.yaml").write_text(CLIENTS, "utf-8")
    return folder


def generate(
    home: Path,
    output: str = "generated",
    *,
    python: str = sys.executable,
    cwd: Path | None = None,
    order: int = 1,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One digest of all bytes that a process of its own generates."""
    cwd = home if cwd is None else cwd
    arguments = [os.path.relpath(home / name, cwd) for name in ("policies", output)]
    subprocess.run(
        [python, "-c", SCRIPT, *arguments, str(order)],
        cwd=cwd,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}{os.pathsep}{SDK}",
            **environment,
        },
        check=True,
        timeout=180,
    )
    digest = hashlib.sha256()
    for path in sorted((home / output).iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def expected(home: Path) -> str:
    """What an ordinary run gives."""
    return generate(home, environment={"PYTHONHASHSEED": "0"})


@pytest.mark.parametrize("python", [str(python) for python in PYTHONS])
def test_same_bytes_on_every_python(home: Path, expected: str, python: str) -> None:
    """Another version of Python makes no difference."""
    name = Path(python).parts[-3]
    assert generate(home, name, python=python) == expected


def test_same_bytes_everywhere(home: Path, expected: str, tmp_path: Path) -> None:
    """Hash seed, locale, time zone, folders, order of files and output do not matter."""
    other = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    assert (
        generate(home, "third", cwd=tmp_path, order=-1, environment=other) == expected
    )
    moved = shutil.copytree(home / "policies", tmp_path / "elsewhere" / "policies")
    (moved.parent / "policyctl.toml").touch()
    assert generate(moved.parent, "fourth") == expected
