"""Which files a command reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl import config
from policyctl.cli._inputs import gather, matches
from policyctl.config import Config

Write = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("policies/next/a.yaml", "policies/next", True),
        ("policies/next/a.yaml", "policies/next/", True),
        ("policies/next/a.yaml", "./policies/next", True),
        ("policies/next/a.yaml", "next", True),
        ("policies/next/a.yaml", "nex", False),
        ("policies/next/a.yaml", "ne*", True),
        ("policies/next/a.yaml", "a.yaml", True),
        ("policies/next/a.yaml", "*.yaml", True),
        ("policies/next/a.yaml", "policies/*.yaml", True),
        ("policies/next/a.yaml", "next/a.yaml", False),
        ("policies/next/a.yaml", "*/next/*", True),
        ("policies/a.yaml", "policies/next", False),
        ("policies/nextdoor/a.yaml", "policies/next", False),
        ("../elsewhere/a.yaml", "a.yaml", False),
    ],
)
def test_patterns(tmp_path: Path, path: str, pattern: str, expected: bool) -> None:
    """With a slash from the configuration's folder, without by the name of any part."""
    root = tmp_path / "root"
    loaded = Config(root)
    target = Path(tmp_path / "elsewhere/a.yaml" if path[0] == "." else root / path)
    assert matches(loaded, target, [pattern]) is expected


@pytest.fixture
def project(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Two configured folders, and a file elsewhere."""
    write("policyctl.toml", 'policies = ["one", "two"]\n')
    for name in ("one/a.yaml", "one/sub/b.yaml", "two/c.yaml", "else/d.yaml"):
        write(name, f"# {name}\n")
    write("one/presets/p.yaml", "# preset\n")
    monkeypatch.chdir(tmp_path)
    return config.load(tmp_path)


@pytest.mark.parametrize(
    ("paths", "reported", "context"),
    [
        ([], ["one/a.yaml", "one/presets/p.yaml", "one/sub/b.yaml", "two/c.yaml"], []),
        (
            ["one", "two"],
            ["one/a.yaml", "one/presets/p.yaml", "one/sub/b.yaml", "two/c.yaml"],
            [],
        ),
        (
            ["one/a.yaml"],
            ["one/a.yaml"],
            ["one/presets/p.yaml", "one/sub/b.yaml", "two/c.yaml"],
        ),
        (
            ["one/sub"],
            ["one/sub/b.yaml"],
            ["one/a.yaml", "one/presets/p.yaml", "two/c.yaml"],
        ),
        (
            ["two"],
            ["two/c.yaml"],
            ["one/a.yaml", "one/presets/p.yaml", "one/sub/b.yaml"],
        ),
        (["else"], ["else/d.yaml"], []),
        (
            ["else/d.yaml", "two/c.yaml"],
            ["else/d.yaml", "two/c.yaml"],
            ["one/a.yaml", "one/presets/p.yaml", "one/sub/b.yaml"],
        ),
        (["one/a.yaml", "./one/a.yaml"], ["one/a.yaml"], None),
    ],
)
def test_what_was_asked_for_and_what_is_context(
    project: Config, paths: list[str], reported: list[str], context: list[str] | None
) -> None:
    """Inside configured folders the rest of them is context; elsewhere there is none."""
    found = gather(project, paths)
    assert [file.display for file in found.files if file.reported] == reported
    if context is not None:
        assert [file.display for file in found.files if not file.reported] == context
    assert found.findings == ()


def test_generation_takes_the_rest_as_asked_for_unless_files_were(
    project: Config,
) -> None:
    """``whole``: a folder reconciles everything configured, a file itself alone."""
    folder = gather(project, ["one/sub"], whole=True)
    assert len(folder.files) == 4
    assert all(file.reported for file in folder.files)
    assert not folder.partial
    single = gather(project, ["one/a.yaml"], whole=True)
    assert [file.display for file in single.files if file.reported] == ["one/a.yaml"]
    assert single.partial


def test_presets_are_looked_for_beside_files_and_below_folders(project: Config) -> None:
    """Every ``presets`` folder at hand is named once."""
    assert gather(project, ["one/a.yaml"]).preset_folders == (Path("one/presets"),)
    assert gather(project, ["else/d.yaml"]).preset_folders == (Path("one/presets"),)
