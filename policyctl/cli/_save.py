"""Writes a file whole or not at all, keeping what it is to others."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from policyctl.cli._errors import CommandError


def save(path: Path, data: bytes) -> None:
    """Replace the content of ``path``; its mode stays, and a link stays a link.

    Raises:
        CommandError: the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
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
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise CommandError(f"{path.as_posix()} cannot be written: {reason}") from None


def _mode(path: Path) -> int | None:
    """The permissions of a file; None where there is none yet."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
