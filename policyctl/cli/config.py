"""``policyctl config``: the effective configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from policyctl.cli._app import help_unless_command
from policyctl.cli._console import console
from policyctl.cli._formats import TextOrJson

if TYPE_CHECKING:
    from policyctl.config import Config

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _group(context: typer.Context) -> None:
    """Show the effective configuration."""
    help_unless_command(context)


@app.command()
def show(
    format: Annotated[TextOrJson, typer.Option(help="How to print it.")] = (
        TextOrJson.text
    ),
) -> None:
    """Print every setting with its value and where that comes from.

    The configuration is the nearest policyctl.toml, or [tool.policyctl] in a
    pyproject.toml, in the working directory or above it.
    """
    from policyctl import config

    loaded = config.load(Path.cwd())
    if format is TextOrJson.json:
        console().write_utf8(_json(loaded))
    else:
        console().write(_text(loaded))


def _json(loaded: Config) -> str:
    """The settings as JSON."""
    import json

    from policyctl.config import settings_of

    settings = {
        key: {"value": value, "origin": loaded.origin(key)}
        for key, value in settings_of(loaded).items()
    }
    document = {"version": 1, "file": loaded.path, "settings": settings}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _text(loaded: Config) -> str:
    """The settings as TOML, each with its origin as a comment."""
    import json

    from policyctl.config import settings_of

    lines = [f"# {loaded.path or 'no configuration file: these are the defaults'}"]
    pairs: list[tuple[str, str]] = []
    for key, value in settings_of(loaded).items():
        origin = loaded.origin(key)
        if value is None:
            pairs.append((f"# {key} is not set", origin))
        else:
            pairs.append((f"{key} = {_toml(value, json.dumps)}", origin))
    width = min(max(len(text) for text, _ in pairs), 48)
    lines += [f"{text:<{width}}  # {origin}" for text, origin in pairs]
    return "\n".join(lines) + "\n"


def _toml(value: object, quote: Callable[[str], str]) -> str:
    """A value in TOML notation, tables inline."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item, quote) for item in cast(Any, value)) + "]"
    if isinstance(value, dict):
        table: dict[str, object] = cast(Any, value)
        pairs = (
            f"{key if key.isidentifier() else quote(key)} = {_toml(item, quote)}"
            for key, item in table.items()
        )
        return "{" + ", ".join(pairs) + "}"
    return str(value)
