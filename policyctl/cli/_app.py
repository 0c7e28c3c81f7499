"""The typer application, built with only the command that is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import typer

from policyctl.cli import __path__ as _folders
from policyctl.cli._errors import UsageError

NOT_BUILT = ("drill", "export", "import", "top")
"""Commands of the design that a later version brings."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_COMPLETION_VARIABLE = "_POLICYCTL_COMPLETE"
_ClickException: type[Exception] = typer.BadParameter.__mro__[2]


def command_names() -> tuple[str, ...]:
    """The commands, by the names of their files."""
    return tuple(
        sorted(
            module.name.replace("_", "-")
            for module in iter_modules(_folders)
            if not module.name.startswith("_") and module.name != "main"
        )
    )


def build(names: tuple[str, ...]) -> typer.Typer:
    """The application with the commands ``names``."""
    app = typer.Typer(
        name="policyctl",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=dict(_CONTEXT),
    )
    app.callback(invoke_without_command=True)(_root)
    for name in names:
        module = import_module(f"policyctl.cli.{name.replace('-', '_')}")
        group: typer.Typer | None = getattr(module, "app", None)
        if group is not None:
            app.add_typer(group, name=name, context_settings=dict(_CONTEXT))
        else:
            command: Callable[..., Any] = module.command
            app.command(name, context_settings=dict(_CONTEXT))(command)
    return app


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit.")
    ] = False,
) -> None:
    """Resilience policies in YAML: validated, linted, generated as typed Python.

    Start with: policyctl init, then policyctl validate and policyctl generate.
    """
    if version:
        from policyctl._version import __version__

        typer.echo(f"policyctl {__version__}")
        raise typer.Exit(0)
    help_unless_command(context)


def help_unless_command(context: typer.Context) -> None:
    """Print the help of a group that was called without a command, and exit 2."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def invoke(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name and return its exit code.

    Raises:
        UsageError: there is no such command or option, or a value is wrong.
    """
    names = command_names()
    asked = next((item for item in arguments if not item.startswith("-")), None)
    if _COMPLETION_VARIABLE not in os.environ and asked is not None:
        if asked not in names:
            raise _unknown_command(asked, names)
        names = (asked,)
    command = typer.main.get_command(build(names))
    try:
        code: object = command.main(
            args=arguments,
            prog_name="policyctl",
            complete_var=_COMPLETION_VARIABLE,
            standalone_mode=False,
        )
    except _ClickException as error:
        raise _usage_error(error) from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else 0


def _unknown_command(asked: str, names: tuple[str, ...]) -> UsageError:
    """The error for a command that is not there."""
    if asked in NOT_BUILT:
        return UsageError(
            f"policyctl {asked} is not built yet",
            "the commands are " + ", ".join(names),
        )
    near = get_close_matches(asked, names, 1)
    help = (
        f"did you mean {near[0]}?" if near else "the commands are " + ", ".join(names)
    )
    return UsageError(f"there is no command {asked}", help)


def _usage_error(error: Exception) -> UsageError:
    """Typer's own error in our words."""
    formatted: str = getattr(error, "format_message", lambda: str(error))()
    message = formatted.strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    context: typer.Context | None = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "policyctl"
    return UsageError(message, f"{where} --help lists what it takes")
