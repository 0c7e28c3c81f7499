"""From PATH arguments to files and their bytes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from policyctl.source.files import (
    InputFile,
    Inputs,
    display_path,
    expand,
    is_hidden,
    read_input,
)
from policyctl.source.limits import Limits

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(folder: Path, *names: str) -> None:
    """Write small files, folders included."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n")


def shown(inputs: Inputs) -> list[str]:
    """What the files are called."""
    return [file.display for file in inputs.files]


def findings(inputs: Inputs) -> list[tuple[str, str, str]]:
    """Code, severity and message of the findings."""
    return [(d.code, d.severity.label, d.message) for d in inputs.diagnostics]


def test_folders_stand_for_their_yaml_files_sorted(here: Path) -> None:
    """Both endings count, hidden names do not, and order does not depend on the disk."""
    make(
        here, "p/b.yaml", "p/a/z.yml", "p/a.yaml", "p/x.txt", "p/.c.yaml", "p/.d/e.yaml"
    )
    make(here, "p/UPPER.YAML", "p/c.yaml.bak")
    inputs = expand(["p"])
    assert shown(inputs) == ["p/UPPER.YAML", "p/a/z.yml", "p/a.yaml", "p/b.yaml"]
    assert inputs.diagnostics == ()


def test_arguments_keep_their_order_and_files_come_once(here: Path) -> None:
    """A file named and found is read once, at its first place, whatever its ending."""
    make(here, "p/a.yaml", "p/b.yaml", "q.txt")
    inputs = expand(["q.txt", "p/b.yaml", "./p", str(here / "p" / "a.yaml"), "-", "-"])
    assert shown(inputs) == ["q.txt", "p/b.yaml", "p/a.yaml", "<stdin>"]
    assert inputs.files[-1].path is None


def test_callers_may_pass_over_more(here: Path) -> None:
    """The predicate decides within folders, not about what is named outright."""
    make(here, "p/presets/a.yaml", "p/b.yaml", "p/.c.yaml")
    inputs = expand(["p"], skip=lambda p: is_hidden(p) or p.name == "presets")
    assert shown(inputs) == ["p/b.yaml"]
    assert shown(expand(["p/presets", "p/.c.yaml"])) == [
        "p/presets/a.yaml",
        "p/.c.yaml",
    ]


def test_stdin_is_shown_as_asked() -> None:
    """An editor names the file that it pipes."""
    assert expand(["-"], stdin_name="p/a.yaml").files == (InputFile(None, "p/a.yaml"),)


@pytest.mark.parametrize("name", ["missing.yaml", "p/missing", "nul\0", ""])
def test_what_is_not_there(here: Path, name: str) -> None:
    """A path that leads nowhere is a finding, not silence."""
    ((code, severity, _message),) = findings(expand([name]))
    assert (code, severity) == ("CF201", "error")


@needs_links
def test_links(here: Path) -> None:
    """Links are followed; broken, circular and upward ones are named."""
    make(here, "p/a.yaml", "q/b.yaml")
    (here / "p/to_file.yaml").symlink_to("a.yaml")
    (here / "p/to_folder").symlink_to("../q")
    (here / "p/broken.yaml").symlink_to("nowhere.yaml")
    (here / "p/loop.yaml").symlink_to("loop.yaml")
    (here / "p/up").symlink_to(".")
    (here / "p/notes.txt").symlink_to("nowhere.txt")
    inputs = expand(["p"])
    assert shown(inputs) == ["p/a.yaml", "p/to_folder/b.yaml"]
    assert findings(inputs) == [
        (
            "CF201",
            "error",
            "p/broken.yaml is a link to nowhere.yaml, which cannot be followed",
        ),
        (
            "CF204",
            "error",
            "p/loop.yaml is a link to loop.yaml, which cannot be followed",
        ),
        ("CF204", "warning", "p/up leads back to a folder that contains it"),
    ]


@needs_links
def test_special_files_in_folders_are_not_opened(here: Path) -> None:
    """A pipe would wait for ever."""
    make(here, "p/a.yaml")
    os.mkfifo(here / "p/pipe.yaml")
    inputs = expand(["p"])
    assert shown(inputs) == ["p/a.yaml"]
    assert findings(inputs) == [("CF203", "error", "p/pipe.yaml is not a regular file")]


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="permissions do not bind root"
)
def test_unreadable_folders_and_files(here: Path) -> None:
    """What may not be read is named, and the rest goes on."""
    make(here, "p/a.yaml", "p/closed/b.yaml", "p/locked.yaml")
    (here / "p/closed").chmod(0)
    (here / "p/locked.yaml").chmod(0)
    inputs = expand(["p"])
    (here / "p/closed").chmod(0o700)
    assert findings(inputs) == [
        ("CF202", "error", "p/closed cannot be read: permission denied")
    ]
    result = read_input(inputs.files[1])
    assert [d.code for d in result.diagnostics] == ["CF202"]


def test_the_number_of_files_is_bounded(here: Path) -> None:
    """One more than the bound ends the search with one finding."""
    make(here, *(f"p/{n}.yaml" for n in range(5)))
    inputs = expand(["p"], max_files=3)
    assert len(inputs.files) == 3
    assert findings(inputs) == [("CF205", "error", "there are more than 3 YAML files")]
    assert expand(["p"], max_files=5).diagnostics == ()


def test_the_depth_of_folders_is_bounded(here: Path) -> None:
    """A chain of folders that never ends is given up."""
    make(here, "/".join(["d"] * 70) + "/a.yaml")
    ((code, _severity, message),) = findings(expand(["d"]))
    assert code == "CF206"
    assert message.endswith("lies more than 64 folders deep")


def test_reading(here: Path) -> None:
    """A file and standard input are read alike; what changed meanwhile is a finding."""
    make(here, "a.yaml")
    (file,) = expand(["a.yaml"]).files
    assert len(read_input(file).documents) == 1
    assert len(read_input(InputFile(None, "<stdin>"), stdin=b"a: 1").documents) == 1
    (here / "a.yaml").unlink()
    (found,) = read_input(file).diagnostics
    assert (found.code, found.message) == ("CF201", "a.yaml does not exist")
    (here / "a.yaml").mkdir()
    (found,) = read_input(file).diagnostics
    assert (found.code, found.message) == ("CF203", "a.yaml is a folder")


def test_a_large_file_is_not_loaded(here: Path) -> None:
    """The size is taken from the file's entry."""
    with (here / "a.yaml").open("wb") as stream:
        stream.truncate(1 << 40)
    (found,) = read_input(InputFile(here / "a.yaml", "a.yaml")).diagnostics
    assert found.code == "SY003"
    assert found.message == "the file is larger than the limit of 5,242,880 bytes"
    (here / "b.yaml").write_bytes(b"a: 1\n" * 3)
    small = Limits(max_bytes=10)
    (found,) = read_input(InputFile(here / "b.yaml", "b"), limits=small).diagnostics
    assert found.code == "SY003"


def test_display_paths(here: Path) -> None:
    """Relative below the working directory, forward slashes, always printable text."""
    assert display_path(str(here / "p" / "a.yaml")) == "p/a.yaml"
    assert display_path("./p//a.yaml") == "p/a.yaml"
    assert display_path("../a.yaml") == "../a.yaml"
    outside = str(here.parent / "other" / "a.yaml")
    assert display_path(outside) == outside.replace(os.sep, "/")
    assert display_path("caf\udce9.yaml") == "caf\\xe9.yaml"
