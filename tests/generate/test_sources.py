"""Sources are named the same on every machine and from every folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyctl.generate.sources import source_label


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a project; nothing above it looks like one."""
    folder = tmp_path / "one" / "two"
    (folder / "policies" / "team").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_relative_to_the_configuration(project: Path) -> None:
    """The folder of the configuration counts, whatever the working directory is."""
    assert source_label("policies/team/a.yaml", project) == "policies/team/a.yaml"
    assert source_label("policies/a.yaml", project.parent) == "two/policies/a.yaml"
    assert source_label(str(project / "a.yaml"), Path("..")) == "two/a.yaml"


@pytest.mark.parametrize("marker", ["pyproject.toml", ".git", "policyctl.toml"])
def test_relative_to_the_project(
    marker: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a configuration, the nearest folder that looks like a project counts."""
    (project / marker).mkdir()
    assert source_label("policies/team/a.yaml", None) == "policies/team/a.yaml"
    monkeypatch.chdir(project / "policies" / "team")
    assert source_label("a.yaml", None) == "policies/team/a.yaml"
    assert source_label("../../x.yaml", project / "policies") == "x.yaml"


def test_without_a_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and its folder are named, and nothing of the machine."""
    assert source_label("policies/a.yaml", None) == "policies/a.yaml"
    monkeypatch.chdir("/")
    assert source_label(str(project / "policies/a.yaml"), None) == "policies/a.yaml"
    assert source_label("/a.yaml", None) == "a.yaml"


def test_standard_input() -> None:
    """What has no file says so."""
    assert source_label("<stdin>", None) == "<stdin>"
