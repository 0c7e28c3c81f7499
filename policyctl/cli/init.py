"""``policyctl init``: a commented starter project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from policyctl.cli._console import console
from policyctl.cli._errors import CommandError

HOOKS = ".pre-commit-config.yaml"


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder, made if it is missing.")
    ] = Path(),
) -> None:
    """Start a project: a configuration, an example policy and hooks for pre-commit.

    Nothing is overwritten. If the folder has hooks for pre-commit already, the entry to
    add is printed instead of written.
    """
    from policyctl import assets

    shipped = assets.templates() / "init"
    hooks = (shipped / "pre-commit-config.yaml").read_text("utf-8")
    texts = {
        name: (shipped / name).read_text("utf-8")
        for name in ("policyctl.toml", "policies/example_api.yaml")
    }
    own_hooks = not (folder / HOOKS).exists()
    if own_hooks:
        texts[HOOKS] = hooks
    _refuse_to_overwrite(folder, texts)
    for name, text in texts.items():
        _write_new(folder / name, text)
        console().write(f"wrote {(folder / name).as_posix()}\n")
    if not own_hooks:
        entry = hooks.split("repos:\n", 1)[1]
        console().write(f"\nadd to repos in {(folder / HOOKS).as_posix()}:\n\n{entry}")
    inside = "" if folder == Path() else f"cd {folder.as_posix()} && "
    console().write(f"\nnext: {inside}policyctl validate && policyctl generate\n")


def _refuse_to_overwrite(folder: Path, names: dict[str, str]) -> None:
    """Stop before anything is written if something is in the way."""
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder.as_posix()} is not a folder")
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise CommandError(
            f"{(folder / there[0]).as_posix()} exists already; nothing was written",
            "name another folder: policyctl init DIR",
        )
    from policyctl import config

    found = config.load(folder)
    if found.path is not None and found.root == folder.absolute():
        raise CommandError(
            f"{found.path} configures policyctl already; nothing was written",
            "name another folder: policyctl init DIR",
        )


def _write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
