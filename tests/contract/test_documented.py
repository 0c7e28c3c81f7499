"""The command line and its documentation agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from policyctl.cli import _app
from policyctl.config_values import setting_names
from policyctl.reports import format_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
SECTIONS = {
    part.partition("\n")[0].strip(): part
    for part in re.split(r"^## ", PAGE, flags=re.M)
}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its click object, subcommands by their full name."""
    group: Any = typer.main.get_command(_app.build(_app.command_names()))
    for name, command in group.commands.items():
        yield name, command
        for inner, subcommand in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", subcommand


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_a_section(name: str) -> None:
    """Each command says what it does, and stands on the page of commands."""
    assert COMMANDS[name].help
    assert f"policyctl {name.split()[0]}" in SECTIONS
    assert f"policyctl {name}" in PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented_and_has_help(name: str) -> None:
    """Each option and argument of a command stands in its section."""
    section = SECTIONS[f"policyctl {name.split()[0]}"]
    for parameter in COMMANDS[name].params:
        assert parameter.help, parameter.name
        for option in parameter.opts:
            if option.startswith("--"):
                assert f"`{option}" in section, option


def test_every_documented_option_exists() -> None:
    """No section shows an option that the command does not have."""
    for title, section in SECTIONS.items():
        if not title.startswith("policyctl "):
            continue
        top = title.split()[1]
        known = {
            option
            for name, command in COMMANDS.items()
            if name.split()[0] == top
            for parameter in command.params
            for option in parameter.opts
        }
        assert set(re.findall(r"`(--[a-z-]+)", section)) <= known


def test_every_setting_is_documented() -> None:
    """The table of the configuration has the keys that the code reads."""
    table = SECTIONS["Configuration"]
    assert (
        tuple(re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.M)) == setting_names()
    )


def test_every_format_is_documented() -> None:
    """The formats of validate stand in its section."""
    assert all(f"`{name}`" in SECTIONS["policyctl validate"] for name in format_names())


def test_commands_to_come_are_named() -> None:
    """The page says which commands of the design are not there yet."""
    assert all(f"`{name}`" in PAGE for name in _app.NOT_BUILT)
