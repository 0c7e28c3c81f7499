"""The entry point: usage errors, internal errors, interruptions."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from policyctl._version import __version__
from policyctl.cli import _app, rules


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_printed(run_cli: Callable[..., Any], option: str) -> None:
    """Both spellings print name and number, alone or beside other options."""
    assert run_cli(option).out == f"policyctl {__version__}\n"
    outcome = run_cli(option, "--version")
    assert (outcome.code, outcome.out) == (0, f"policyctl {__version__}\n")


@pytest.mark.parametrize("arguments", [["--version"], ["rules"]])
def test_a_standard_output_that_is_closed_is_no_error(arguments: list[str]) -> None:
    """What nobody can read is not written, and nothing is said about it."""
    command = [sys.executable, "-m", "policyctl", *arguments]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_help_lists_every_command(run_cli: Callable[..., Any]) -> None:
    """Every command stands in the help with its first line."""
    outcome = run_cli("--help")
    assert outcome.code == 0
    listed = outcome.out.partition("Commands:\n")[2].splitlines()
    assert sorted(line.split()[0] for line in listed) == list(_app.command_names())
    assert all(len(line.split()) > 3 for line in listed)


def test_no_command_is_a_usage_error_with_help(run_cli: Callable[..., Any]) -> None:
    """Without a command the help is shown and the code is 2."""
    outcome = run_cli()
    assert outcome.code == 2
    assert outcome.out.startswith("Usage: policyctl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["valdate"],
            "error: there is no command valdate\n  help: did you mean validate?",
        ),
        (["--frmat"], "error: no such option: --frmat\n  help: policyctl --help"),
        (
            ["validate", "--formt", "json"],
            "error: no such option: --formt",
        ),
        (["validate", "--fail-on", "x"], "error: invalid value for '--fail-on'"),
        (["validate", "--select"], "error: option '--select' requires an argument"),
        (["explain"], "error: missing argument"),
        (["config", "shwo"], "error: no such command 'shwo'"),
        (["rules", "extra"], "error: got unexpected extra argument"),
    ],
)
def test_usage_errors_are_one_message_and_code_2(
    run_cli: Callable[..., Any], arguments: list[str], message: str
) -> None:
    """What is wrong on the command line is said on standard error, without a traceback."""
    outcome = run_cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(message)
    assert outcome.err.count("\n") == 2


@pytest.mark.parametrize("name", _app.NOT_BUILT)
def test_commands_to_come_are_refused(run_cli: Callable[..., Any], name: str) -> None:
    """A command of the design that is not there yet says so."""
    outcome = run_cli(name, "--whatever")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: policyctl {name} is not built yet\n")
    assert name not in _app.command_names()


def test_an_internal_error_shows_neither_traceback_nor_values(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect of ours is one line with its place, and never what was worked on."""

    def fail(*_: object, **__: object) -> None:
        secret = "hunter2"
        raise ValueError(secret)

    monkeypatch.setattr("policyctl.lint.registry.all_rules", fail)
    outcome = run_cli("rules")
    assert outcome.code == 2
    assert outcome.err.startswith(
        "error: internal error: ValueError in policyctl.cli.rules"
    )
    assert "hunter2" not in outcome.out + outcome.err
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("POLICYCTL_DEBUG", "1")
    assert "Traceback" in run_cli("rules").err


def test_an_interruption_is_quiet(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with the code that shells use, and no more words."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("policyctl.lint.registry.all_rules", interrupt)
    outcome = run_cli("rules")
    assert (outcome.code, outcome.err) == (130, "")


@pytest.mark.parametrize(
    ("module", "package"),
    [("typer", "typer"), ("yaml", "PyYAML"), ("pydantic", "pydantic")],
)
def test_a_missing_package_says_what_to_install(
    run_cli: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    package: str,
) -> None:
    """Without the cli extra the command answers with the line that installs it."""
    real = builtins.__import__

    def limited(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == module or name == "policyctl.lint.explain":
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", limited)
    outcome = run_cli("rules")
    assert outcome.code == 2
    assert outcome.err == (
        f"error: the policyctl command needs {package}, which is not installed\n"
        "  help: pip install 'policyctl[cli]'\n"
    )
    assert rules.command.__doc__
