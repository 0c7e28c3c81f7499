"""``policyctl init``: the starter works, and nothing is overwritten."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyctl import config

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

FILES = [".pre-commit-config.yaml", "policies", "policyctl.toml"]


def test_the_three_commands_of_the_readme_work_in_an_empty_folder(
    run_cli: Run, tmp_path: Path
) -> None:
    """init, then validate without any finding, then generate.

    HY003 only says which facts further rules would like to know.
    """
    started = run_cli("init")
    assert (started.code, started.err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    assert run_cli("validate").code == 0
    checked = run_cli("validate", "--fail-on", "info", "--ignore", "HY003")
    assert checked.out.startswith("clean: no findings in 1 file, 1 service")
    assert checked.code == 0
    assert run_cli("generate").code == 0
    assert (tmp_path / "generated" / "example_api.py").exists()
    assert run_cli("generate", "--check").code == 0


def test_the_starter_shows_the_defaults(run_cli: Run, tmp_path: Path) -> None:
    """Every line of the configuration is a comment; uncommented, it changes nothing."""
    run_cli("init")
    path = tmp_path / "policyctl.toml"
    text = path.read_text("utf-8")
    assert tomllib.loads(text) == {}
    lines = (line.removeprefix("# ") for line in text.splitlines())
    active = "\n".join(line for line in lines if " = " in line)
    path.write_text(active, "utf-8")
    expected = config.Config(tmp_path, "policyctl.toml", origins={})
    loaded = config.load(tmp_path)
    assert config.settings_of(loaded) == config.settings_of(expected)


def test_the_hooks_are_those_of_the_repository(run_cli: Run, tmp_path: Path) -> None:
    """The entry for pre-commit does what the hooks that we ship do."""
    run_cli("init")
    written = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text("utf-8"))
    root = Path(__file__).parents[2]
    shipped = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text("utf-8"))
    (repo,) = written["repos"]
    keys = ("id", "entry", "language", "pass_filenames", "require_serial", "always_run")
    assert repo["repo"] == "local"
    assert [[hook[key] for key in keys] for hook in repo["hooks"]] == [
        [hook[key] for key in keys] for hook in shipped
    ]


def test_a_folder_is_made(run_cli: Run, tmp_path: Path) -> None:
    """DIR may be missing; the next step names it."""
    outcome = run_cli("init", "new/project")
    assert sorted(path.name for path in (tmp_path / "new/project").iterdir()) == FILES
    assert outcome.out.endswith(
        "next: cd new/project && policyctl validate && policyctl generate\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("policyctl.toml", "", "policyctl.toml exists already; nothing was written"),
        (
            "policies/example_api.yaml",
            "",
            "policies/example_api.yaml exists already; nothing was written",
        ),
        (
            "pyproject.toml",
            "[tool.policyctl]\n",
            "pyproject.toml configures policyctl already; nothing was written",
        ),
    ],
)
def test_nothing_is_overwritten(
    run_cli: Run, write: Write, tmp_path: Path, name: str, text: str, message: str
) -> None:
    """What is there stops the command before it writes anything."""
    write(name, text)
    before = sorted(tmp_path.rglob("*"))
    outcome = run_cli("init")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {message}\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_existing_hooks_are_kept_and_the_entry_is_printed(
    run_cli: Run, write: Write
) -> None:
    """A repository with hooks gets the lines to add."""
    hooks = write(".pre-commit-config.yaml", "repos: []\n")
    outcome = run_cli("init")
    assert outcome.code == 0
    assert hooks.read_text("utf-8") == "repos: []\n"
    entry = outcome.out.partition("add to repos in .pre-commit-config.yaml:\n\n")[2]
    entry = entry.partition("\nnext:")[0]
    assert [repo["repo"] for repo in yaml.safe_load(entry)] == ["local"]


def test_a_file_is_not_a_folder(run_cli: Run, write: Write) -> None:
    """DIR that is a file is refused."""
    write("here", "")
    outcome = run_cli("init", "here")
    assert (outcome.code, outcome.err) == (2, "error: here is not a folder\n")
