"""Reads regular files alone: a pipe would wait for ever, a device never end."""

from __future__ import annotations

import os
import re
import stat
from errno import EINVAL

MESSAGE = "not a regular file"

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


class NotRegularError(OSError):
    """Something that is neither a file nor a folder stands at a path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(EINVAL, MESSAGE, os.fspath(path))


def read_regular(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The content of a regular file, of it at most ``most`` bytes if that is not -1.

    Raises:
        NotRegularError: it is a pipe, a socket or a device.
        OSError: it cannot be read, or is a folder.
    """
    # Without O_NONBLOCK opening a pipe would wait for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not is_regular_or_folder(os.stat(path)):
        raise NotRegularError(path)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as stream:
        if not is_regular_or_folder(os.fstat(stream.fileno())):
            raise NotRegularError(path)
        return stream.read(most)


def is_regular_or_folder(status: os.stat_result) -> bool:
    """Whether a status is that of a file or a folder, as opposed to pipe or device."""
    return stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)


def descriptor_of(path: str | os.PathLike[str]) -> int | None:
    """The number of an open file of this process that ``path`` stands for.

    ``/dev/stdout`` is 1, ``/dev/fd/63`` (how shells pass ``<(...)``) is 63; None for
    every other path.
    """
    text = os.fspath(path)
    if text in _STANDARD:
        return _STANDARD[text]
    found = _DESCRIPTOR.fullmatch(text)
    return None if found is None else int(found[1])
