"""Callables and classes by name, imported when they are first needed.

Generated code names functions of the application that it guards; importing them at
once would make every policy import the whole application, in circles.
"""

from __future__ import annotations

import sys

from policyctl.runtime.errors import PolicyConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def load(name: str, path: str = "") -> Any:
    """Import ``package.module:name`` (or ``package.module:Class.method``).

    Args:
        name: module and attribute path with a colon between them.
        path: the setting that holds it, for the error.

    Raises:
        PolicyConfigError: there is no such module or attribute, or importing it fails;
            the original exception is the cause.
    """
    module_name, _, attribute = name.partition(":")
    try:
        found: Any = __import__(module_name, fromlist=["*"])
    except Exception as error:
        kind = type(error).__name__
        raise PolicyConfigError(
            f"{name!r} cannot be imported: {kind}: {error}",
            path=path,
            help="write package.module:name of something importable here",
        ) from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise PolicyConfigError(
                f"{name!r} does not exist: {module_name} has no {attribute!r}",
                path=path,
                help=_nearest(found, part),
            ) from error
    return found


def loaded(name: str) -> Any:
    """What ``package.module:name`` is if its module has been imported, else None.

    Nothing is imported. None also while the module is still being executed and has not
    come to the name yet.
    """
    module_name, _, attribute = name.partition(":")
    found: Any = sys.modules.get(module_name)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return found


def load_callable(target: str | Callable[..., Any], path: str = "") -> Any:
    """The callable itself, or the one that a name stands for.

    Raises:
        PolicyConfigError: as ``load``, or it is not callable.
    """
    if not isinstance(target, str):
        return target
    found = load(target, path)
    if not callable(found):
        raise PolicyConfigError(f"{target!r} is not callable: {found!r}", path=path)
    return found


class LazyCallable:
    """Calls what a name stands for, importing it on the first call.

    Raises:
        PolicyConfigError: from the first call on, as ``load_callable``.
    """

    __slots__ = ("_path", "_target", "_wanted")

    def __init__(self, wanted: str | Callable[..., Any], path: str = "") -> None:
        self._wanted = wanted
        self._path = path
        self._target: Callable[..., Any] | None = None

    @property
    def target(self) -> Callable[..., Any]:
        """The callable, imported if it was not yet."""
        target = self._target
        if target is None:
            target = self._target = load_callable(self._wanted, self._path)
        return target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"LazyCallable({self._wanted!r})"


def _nearest(holder: object, name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, dir(holder), 1)
    return f"did you mean {near[0]!r}?" if near else ""
