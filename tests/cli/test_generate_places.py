"""Where generate may write: folders that overlap, that are closed, or that are links."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from policyctl.cli.main import run

POLICY = """\
version: 1
service: {name}
operations:
  get: {{transport: local, attempt_timeout: {seconds}s}}
"""


def put(folder: str, name: str = "alpha", seconds: int = 1) -> None:
    """Write a service's policy."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    text = POLICY.format(name=name, seconds=seconds)
    Path(folder, f"{name}.yaml").write_text(text, "utf-8")


def tree(folder: str) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put("policies")


@pytest.mark.parametrize("output", ["policies/code", "policies", ".", "./policies/../"])
def test_output_and_policies_may_not_overlap(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Output inside the input, or around it: exit 2, and nothing is written."""
    before = tree(".")
    assert run(["generate", "--output", output, "--package", "acme"]) == 2
    assert "output folder" in capsys.readouterr().err
    assert tree(".") == before


def test_a_link_into_the_policies_overlaps_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Overlap is judged by where folders really are."""
    Path("code").symlink_to("policies", target_is_directory=True)
    before = tree(".")
    assert run(["generate", "--output", "code"]) == 2
    assert "lie in the output folder" in capsys.readouterr().err
    assert tree(".") == before


def test_an_output_folder_that_is_a_link_stays_one() -> None:
    """The package goes to where the link leads."""
    Path("real").mkdir()
    Path("generated").symlink_to("real", target_is_directory=True)
    assert run(["generate"]) == 0
    assert Path("generated").is_symlink()
    assert "alpha.py" in tree("real")
    assert run(["generate", "--check", "--no-cache"]) == 0


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is closed to root"
)
def test_a_folder_without_permission_stays_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A folder that is closed for writing: exit 2 with the system's reason."""
    assert run(["generate"]) == 0
    before = tree("generated")
    put("policies", seconds=2)
    Path("generated").chmod(0o555)
    try:
        assert run(["generate"]) == 2
    finally:
        Path("generated").chmod(0o755)
    assert "permission denied" in capsys.readouterr().err
    assert tree("generated") == before


@pytest.mark.parametrize(
    "code", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT]
)
def test_a_folder_that_takes_no_files_stays_as_it_is(
    code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Closed, read-only, full or over quota: one message with the system's reason."""
    assert run(["generate"]) == 0
    before = tree("generated")
    put("policies", seconds=2)
    real = os.open

    def refusing(path: str, flags: int, *more: int, **options: int) -> int:
        if flags & os.O_CREAT and ".policyctl-staging" in str(path):
            raise OSError(code, os.strerror(code))
        return real(path, flags, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        capsys.readouterr()
        assert run(["generate"]) == 2
    error = capsys.readouterr().err
    assert f"the package cannot be written: {os.strerror(code).lower()}" in error
    assert "nothing was changed" in error
    assert tree("generated") == before
    assert run(["generate"]) == 0


@pytest.mark.parametrize("name", ["con", "nul", "com1", "aux"])
def test_names_that_windows_reserves(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A service that could not be a file on every system is refused everywhere."""
    put("policies", name)
    assert run(["generate"]) == 1
    assert f"`{name}` cannot be the name of a generated file" in (
        capsys.readouterr().err
    )
    assert not Path("generated").exists()
