"""Where files may go: below the output folder, through no link that leaves it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from policyctl.generate.options import GenerateOptions


class PlaceError(Exception):
    """A place that must not be written to: what is wrong, and what to do about it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


def check_roots(options: GenerateOptions) -> Iterator[PlaceError]:
    """What is wrong with the output folder as a whole: its kind, and overlaps."""
    output = options.output
    shown = output.as_posix()
    if os.path.lexists(output) and not output.is_dir():
        yield PlaceError(
            f"the output {shown} is not a folder", "choose another output folder"
        )
        return
    root = Path(os.path.realpath(output))
    for given in options.inputs:
        place = Path(os.path.realpath(given))
        if place.is_relative_to(root):
            yield PlaceError(
                f"the policies {given.as_posix()} lie in the output folder {shown}",
                "keep policies and generated code in folders beside each other",
            )
        elif given.is_dir() and root.is_relative_to(place):
            yield PlaceError(
                f"the output folder {shown} lies in the policies {given.as_posix()}",
                "keep policies and generated code in folders beside each other",
            )


def find_target(output: Path, path: PurePosixPath) -> Path:
    """The real file behind ``path`` below ``output``, whether it exists or not.

    A link to a file inside the output folder is followed, so the link stays.

    Raises:
        PlaceError: the path leaves the output folder, by its parts or by a link, or
            something other than a file is there.
    """
    if path.is_absolute() or ".." in path.parts or "\0" in str(path):
        raise PlaceError(
            f"{str(path)!r} leaves the output folder", "rename the service"
        )
    root = os.path.realpath(output)
    place = output / path
    real = os.path.realpath(place)
    if not Path(real).is_relative_to(root) or real == root:
        raise PlaceError(
            f"{path} in the output folder is a link out of it, to {real}",
            "remove the link",
        )
    try:
        mode = os.lstat(real).st_mode
    except FileNotFoundError:
        if os.path.islink(place):
            raise PlaceError(
                f"{path} is a link to nothing", "remove the link"
            ) from None
        return Path(real)
    if not stat.S_ISREG(mode):
        raise PlaceError(f"{path} is not a plain file", "move it away")
    return Path(real)
