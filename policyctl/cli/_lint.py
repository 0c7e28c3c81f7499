"""Lint settings from the configuration and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from policyctl import config
from policyctl.cli._errors import UsageError
from policyctl.config import Config
from policyctl.lint.engine import LintSettings, SettingError, prepare
from policyctl.lint.house import HouseRuleError, load
from policyctl.lint.registry import unknown_patterns
from policyctl.lint.rule import Rule


def settings(
    loaded: Config, select: Sequence[str], ignore: Sequence[str]
) -> LintSettings:
    """What to run: ``select`` replaces the configured one, ``ignore`` adds to it.

    Raises:
        UsageError: an option names a rule that does not exist.
        ConfigError: the configuration does, or sets what a rule does not take.
    """
    chosen = tuple(split(select))
    left_out = tuple(split(ignore))
    extra = house_rules(loaded)
    for option, patterns in (("--select", chosen), ("--ignore", left_out)):
        for pattern, near in unknown_patterns(patterns, extra):
            raise UsageError(f"{option} {pattern}: there is no such rule", _hint(near))
    _check_names(loaded, extra)
    found = LintSettings(
        select=chosen or loaded.select,
        ignore=loaded.ignore + left_out,
        severity=loaded.severity,
        thresholds=loaded.thresholds,
        unsuppressible=loaded.unsuppressible,
        extra=extra,
    )
    try:
        prepare(found)
    except SettingError as error:
        raise _threshold_error(loaded, found, error) from None
    return found


def house_rules(loaded: Config) -> tuple[type[Rule], ...]:
    """The rules of the configured folder and of installed packages.

    Raises:
        ConfigError: one of them cannot be used.
    """
    folder = None if loaded.rules is None else loaded.root / loaded.rules
    try:
        return load(folder, loaded.rules or "")
    except HouseRuleError as error:
        raise loaded.error(("rules",), str(error), error.help) from None


def configured_rules() -> tuple[type[Rule], ...]:
    """The house rules of the configuration that holds in the working directory.

    Raises:
        ConfigError: see :func:`house_rules`.
    """
    return house_rules(config.load(Path.cwd()))


def split(values: Iterable[str]) -> Iterator[str]:
    """The items of repeated options, each of which may be a list with commas."""
    for value in values:
        yield from (item.strip() for item in value.split(",") if item.strip())


def _hint(near: str | None) -> str:
    return f"did you mean {near}?" if near else "policyctl rules lists them"


def _check_names(loaded: Config, extra: tuple[type[Rule], ...]) -> None:
    """Refuse rules in the configuration that do not exist."""
    for key, names in (
        ("select", loaded.select),
        ("ignore", loaded.ignore),
        ("severity", tuple(loaded.severity)),
        ("thresholds", tuple(loaded.thresholds)),
        ("unsuppressible", loaded.unsuppressible),
    ):
        for name, near in unknown_patterns(names, extra):
            raise loaded.error(
                (key, name), f"{key} names {name}, which is not a rule", _hint(near)
            )


def _threshold_error(
    loaded: Config, found: LintSettings, error: SettingError
) -> Exception:
    """The error of a threshold at the place of its key."""
    for rule, values in found.thresholds.items():
        for key, value in values.items():
            alone = LintSettings(thresholds={rule: {key: value}}, extra=found.extra)
            try:
                prepare(alone)
            except SettingError as one:
                return loaded.error(("thresholds", rule, key), str(one))
    return loaded.error(("thresholds",), str(error))
