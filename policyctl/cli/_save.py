"""Writes a file whole or not at all, keeping what it is to others."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from policyctl.cli._errors import CommandError
from policyctl.source.regular import NotRegularError, descriptor_of


def save(path: Path, data: bytes) -> None:
    """Replace the content of ``path``; its mode stays, and a link stays a link.

    Raises:
        CommandError: the file cannot be written, or is no regular file.
    """
    try:
        _replace(path, data)
    except OSError as error:
        raise _refusal(path, error) from None


def deliver(path: Path, data: bytes) -> None:
    """Write a report to ``path``: like ``save``, but pipes and devices are written to.

    ``/dev/stdout`` and ``/dev/fd/3`` are the process's own open files, whatever is
    behind them; what was written there before stays.

    Raises:
        CommandError: it cannot be written, or is a folder or a socket.
    """
    number = descriptor_of(path)
    try:
        if number is not None:
            _write_all(os.dup(number), data)
        elif _is_special(path):
            _write_all(os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), data)
        else:
            _replace(path, data)
    except OSError as error:
        raise _refusal(path, error) from None


def _refusal(path: Path, error: OSError) -> CommandError:
    reason = (error.strerror or type(error).__name__).lower()
    return CommandError(f"{path.as_posix()} cannot be written: {reason}")


def _is_special(path: Path) -> bool:
    """Whether something is there that one writes to, but which holds nothing."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write and close; what this process printed before comes before."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "permission denied")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o666 & ~_umask() if mode is None else mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int | None:
    """The permissions of a regular file; None where there is nothing yet.

    Raises:
        OSError: a folder, pipe, socket or device is there, which nothing may replace.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "is a folder")
    if not stat.S_ISREG(mode):
        raise NotRegularError(path)
    return stat.S_IMODE(mode)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
