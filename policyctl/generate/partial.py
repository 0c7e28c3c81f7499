"""A run for some services alone: what the package holds besides them."""

from __future__ import annotations

from dataclasses import replace

from policyctl.generate.digest import FORMAT_VERSION
from policyctl.generate.header import generated_modules
from policyctl.generate.lock import LOCK_NAME, Lock, LockError
from policyctl.generate.options import GenerateOptions
from policyctl.source.regular import read_regular

_OTHERS = ("__init__.py", "registry.py")


class PartialError(Exception):
    """The rest of the package is not known, or was generated in another way."""


def read_kept(options: GenerateOptions, services: frozenset[str]) -> Lock:
    """The lock file in the output folder, without ``services`` and package files.

    Raises:
        PartialError: it cannot be read, is gone although there are other modules, or
            belongs to a package that was generated with other options.
    """
    path = options.output / LOCK_NAME
    try:
        old = Lock.parse(read_regular(path))
    except FileNotFoundError:
        _check_alone(options, services)
        return Lock("", options.plain(), {})
    except (OSError, LockError) as error:
        raise PartialError(f"{path.as_posix()} cannot be read: {error}") from None
    for name, value in options.plain().items():
        if old.options.get(name) != value or old.format != FORMAT_VERSION:
            raise PartialError(
                "the rest of the package was generated with other options"
            )
    kept = {name: s for name, s in old.services.items() if name not in services}
    files = {f"{name}.py" for name in kept}
    return replace(
        old,
        services=kept,
        files={name: d for name, d in old.files.items() if name in files},
    )


def _check_alone(options: GenerateOptions, services: frozenset[str]) -> None:
    known = {*_OTHERS, *(f"{name}.py" for name in services)}
    for path, _ in generated_modules(options.output):
        if path.name not in known:
            raise PartialError(f"{LOCK_NAME} is missing, and {path} is in the package")
