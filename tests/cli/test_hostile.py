"""Arguments, files and folders that nobody means well with: a message, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl import assets

Run = Callable[..., Any]
Write = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("", "'' is not a path"),
        ("a\nb\x1b[31m", "a\\x0ab\\x1b[31m does not exist"),
        ("x" * 5000, "ile name too long"),
        ("--", "there is no .yaml or .yml file in policies"),
        ("link.yaml", "link.yaml is a link to nowhere, which cannot be followed"),
        ("empty.yaml", "there is no policy in empty.yaml"),
    ],
)
def test_paths_that_lead_nowhere(
    run_cli: Run, write: Write, tmp_path: Path, argument: str, message: str
) -> None:
    """Each is exit 2 with the path made visible."""
    (tmp_path / "link.yaml").symlink_to("nowhere")
    (tmp_path / "policies").mkdir()
    write("empty.yaml", "# nothing\n")
    outcome = run_cli("validate", argument)
    assert outcome.code == 2
    assert message in outcome.out + outcome.err
    assert "\x1b" not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "command", [["validate"], ["generate"], ["init"], ["config", "show"]]
)
def test_a_working_directory_that_is_gone(
    run_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """A deleted folder is said to be gone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    outcome = run_cli(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error: the working directory does not exist any more\n"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe\x00s", "SY001"),
        (b"service: \x00", "SY002"),
        (b"[" * 100_000, "SY014"),
        (b"a: &a [1]\nb: *c\n", "SY012"),
        (b"x: !!python/object/apply:os.system ['echo']\n", "SY011"),
        (b"a: 1\n" * 1_200_000, "SY003"),
        (b"\tservice: x\n", "SY005"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "generate"])
def test_files_that_are_not_policies(
    run_cli: Run, tmp_path: Path, content: bytes, code: str, command: str
) -> None:
    """Whatever a file holds, it is exit 1 and one error in front."""
    (tmp_path / "bad.yaml").write_bytes(content)
    outcome = run_cli(command, "bad.yaml")
    assert outcome.code == 1
    said = outcome.out if command == "validate" else outcome.err
    assert said.startswith(f"error[{code}] ")
    assert len(said) < 5_000


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (
            "version: " + "9" * 100_000 + "\nservice: x\noperations: {get: {}}\n",
            "SY018",
        ),
        ("version: 1\nservice: x\noperations:\n  1: {idempotent: true}\n", "SY010"),
    ],
)
def test_a_value_that_yaml_forbids_is_told_once(
    run_cli: Run, write: Write, content: str, code: str
) -> None:
    """Validation is silent about the very place where the text is wrong."""
    write("bad.yaml", content)
    outcome = run_cli("validate", "bad.yaml", "--format", "concise")
    assert outcome.code == 1
    first, last = outcome.out.splitlines()
    assert f"error[{code}]" in first
    assert last == "1 error in 1 file"


def test_names_that_are_not_text(run_cli: Run, texts: Any, tmp_path: Path) -> None:
    """A file name of bytes that are no UTF-8 is shown with escapes, in JSON too."""
    folder = os.fsencode(tmp_path / "policies")
    os.mkdir(folder)
    try:
        with open(folder + b"/\xff\xfe.yaml", "w", encoding="utf-8") as stream:
            stream.write(texts.invalid)
    except OSError:
        pytest.skip("this file system takes names of text only")
    assert "--> policies/\\xff\\xfe.yaml:9:22" in run_cli("validate").out
    assert (
        '"policies/\\\\xff\\\\xfe.yaml"' in run_cli("validate", "--format", "json").out
    )


@pytest.mark.parametrize("output", ["policies", "file", "."])
def test_output_folders_that_are_taken(
    run_cli: Run, write: Write, texts: Any, output: str
) -> None:
    """The output is neither a file nor a folder of policies, nor around one."""
    write("policies/quotes.yaml", texts.clean)
    write("file", "x")
    outcome = run_cli("generate", "--output", output, "--package", "made")
    assert (outcome.code, outcome.out) == (2, "")
    assert Path("file").read_text("utf-8") == "x"


def test_a_loop_of_links_ends(run_cli: Run, write: Write, texts: Any) -> None:
    """A link to a folder above is told of and not followed."""
    path = write("policies/quotes.yaml", texts.clean)
    (path.parent / "again").symlink_to(path.parent)
    outcome = run_cli("validate", "--select", "RT001")
    assert outcome.code == 0
    assert "warning[CF204]" in outcome.out


def test_an_installation_that_lacks_a_part_says_which(
    run_cli: Run, write: Write, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing folder of presets is not taken for a missing working directory."""
    write("policies/quotes.yaml", texts.clean)
    monkeypatch.setattr(assets, "files", lambda _package: Path("nowhere/policyctl"))
    outcome = run_cli("validate", "--no-cache")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error: the policies/presets folder is missing from this installation\n"
        "  help: install policyctl anew\n"
    )
