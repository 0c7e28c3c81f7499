"""What each key of the configuration takes, and the messages for what it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from policyctl.diagnostics import Severity

TARGETS = ("3.11", "3.12", "3.13")
"""The Python versions that code can be generated for."""
_TARGETS = ", ".join(TARGETS)

Threshold = int | float | str | bool


class InvalidSetting(Exception):
    """A value that a key does not take; the text says what it takes.

    ``path`` leads from the key to the part that is wrong.
    """

    def __init__(self, message: str, help: str | None = None, *path: str) -> None:
        super().__init__(message)
        self.help = help
        self.path = path


def shown(value: object) -> str:
    """A TOML value as it would be written, shortened."""
    text = (
        {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    )
    text = text or (f'"{value}"' if isinstance(value, str) else repr(value))
    return text if len(text) <= 60 else text[:57] + "..."


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        hint = "write a text in quotes"
        raise InvalidSetting(f"{key} = {shown(value)} is not a text", hint)
    if not value.strip():
        hint = "write a value, or remove the key for its default"
        raise InvalidSetting(f"{key} is empty", hint)
    if "\0" in value:
        raise InvalidSetting(f"{key} holds a NUL character", "remove the character")
    return value


def _texts(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InvalidSetting(
            f"{key} is a text, not a list of texts", f"write {key} = [{shown(value)}]"
        )
    if not isinstance(value, list):
        hint = f'write {key} = ["...", "..."]'
        raise InvalidSetting(f"{key} = {shown(value)} is not a list of texts", hint)
    items = cast("list[object]", value)
    return tuple(_text(f"{key}[{index}]", item) for index, item in enumerate(items))


def _some_texts(key: str, value: object) -> tuple[str, ...]:
    found = _texts(key, value)
    if not found:
        raise InvalidSetting(f"{key} is empty", "name at least one folder or file")
    return found


def package_name(key: str, value: object) -> str:
    """Return ``value`` if it is the dotted name of a Python package.

    Raises:
        InvalidSetting: it is something else.
    """
    from keyword import iskeyword

    name = _text(key, value)
    for part in name.split("."):
        if not part.isidentifier() or iskeyword(part):
            raise InvalidSetting(
                f"{key} = {shown(name)} is not the name of a Python package",
                "use names of letters, digits and _ joined by dots, "
                "for example acme.resilience",
            )
    return name


def _severity(key: str, value: object) -> Severity:
    try:
        return Severity.parse(value if isinstance(value, str) else "")
    except ValueError:
        raise InvalidSetting(
            f"{key} = {shown(value)} is not one of error, warning, info",
            "write one of them in quotes",
        ) from None


def table_of(key: str, value: object) -> dict[str, Any]:
    """Return ``value`` if it is a TOML table.

    Raises:
        InvalidSetting: it is something else.
    """
    if not isinstance(value, dict):
        hint = f"write [{key}] on a line of its own, and below it NAME = VALUE"
        raise InvalidSetting(f"{key} = {shown(value)} is not a table", hint)
    return cast("dict[str, Any]", value)


def _severities(key: str, value: object) -> dict[str, Severity]:
    found: dict[str, Severity] = {}
    for rule, level in table_of(key, value).items():
        try:
            found[rule] = _severity(rule, level)
        except InvalidSetting as error:
            raise InvalidSetting(str(error), error.help, rule) from None
    return found


def _thresholds(key: str, value: object) -> dict[str, dict[str, Threshold]]:
    found: dict[str, dict[str, Threshold]] = {}
    for rule, settings in table_of(key, value).items():
        if not isinstance(settings, dict):
            raise InvalidSetting(
                f"{key}.{rule} = {shown(settings)} is not a table of thresholds",
                f"write [{key}.{rule}] and below it NAME = VALUE",
                rule,
            )
        thresholds = cast("dict[str, Any]", settings)
        for name, number in thresholds.items():
            if not isinstance(number, int | float | str):
                message = f"{name} = {shown(number)} is not a number or a text"
                hint = f"policyctl explain {rule} lists its thresholds"
                raise InvalidSetting(message, hint, rule, name)
        found[rule] = thresholds
    return found


def _runtime(key: str, value: object) -> str:
    if value not in ("library", "bundled"):
        raise InvalidSetting(
            f'{key} = {shown(value)} is not "library" or "bundled"',
            "write one of them; library is the default",
        )
    return str(value)


def _target_python(key: str, value: object) -> str:
    if value not in TARGETS:
        hint = f'write it as a text, for example {key} = "{TARGETS[0]}"'
        raise InvalidSetting(f"{key} = {shown(value)} is not one of {_TARGETS}", hint)
    return str(value)


PARSERS: dict[str, Callable[[str, object], Any]] = {
    "policies": _some_texts,
    "output": _text,
    "package": package_name,
    "environment": _text,
    "target-python": _target_python,
    "select": _texts,
    "ignore": _texts,
    "severity": _severities,
    "fail-on": _severity,
    "thresholds": _thresholds,
    "unsuppressible": _texts,
    "exclude": _texts,
    "generate-exclude": _texts,
    "baseline": _text,
    "rules": _text,
    "templates": _text,
    "runtime": _runtime,
}


def setting_names() -> tuple[str, ...]:
    """The keys that a configuration may hold, as they are written."""
    return tuple(PARSERS)


def package_of(output: str) -> str:
    """The import name that an output folder gives its package.

    Raises:
        ValueError: the folder's name is not a Python identifier.
    """
    name = Path(output).name
    try:
        return package_name("package", name)
    except InvalidSetting:
        raise ValueError(
            f"the output folder {shown(output)} does not name a Python package"
        ) from None
