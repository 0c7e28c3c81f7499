"""Lint settings from the configuration and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policyctl.cli._errors import UsageError
from policyctl.config import Config
from policyctl.lint.engine import LintSettings, SettingError, prepare
from policyctl.lint.registry import unknown_patterns


def settings(
    config: Config, select: Sequence[str], ignore: Sequence[str]
) -> LintSettings:
    """What to run: ``select`` replaces the configured one, ``ignore`` adds to it.

    Raises:
        UsageError: an option names a rule that does not exist.
        ConfigError: the configuration does, or sets what a rule does not take.
    """
    chosen = tuple(split(select))
    left_out = tuple(split(ignore))
    for option, patterns in (("--select", chosen), ("--ignore", left_out)):
        for pattern, near in unknown_patterns(patterns):
            raise UsageError(f"{option} {pattern}: there is no such rule", _hint(near))
    _check_names(config)
    found = LintSettings(
        select=chosen or config.select,
        ignore=config.ignore + left_out,
        severity=config.severity,
        thresholds=config.thresholds,
        unsuppressible=config.unsuppressible,
    )
    try:
        prepare(found)
    except SettingError as error:
        raise _threshold_error(config, found, error) from None
    return found


def split(values: Iterable[str]) -> Iterator[str]:
    """The items of repeated options, each of which may be a list with commas."""
    for value in values:
        yield from (item.strip() for item in value.split(",") if item.strip())


def _hint(near: str | None) -> str:
    return f"did you mean {near}?" if near else "policyctl rules lists them"


def _check_names(config: Config) -> None:
    """Refuse rules in the configuration that do not exist."""
    for key, names in (
        ("select", config.select),
        ("ignore", config.ignore),
        ("severity", tuple(config.severity)),
        ("thresholds", tuple(config.thresholds)),
        ("unsuppressible", config.unsuppressible),
    ):
        for name, near in unknown_patterns(names):
            raise config.error(
                (key, name), f"{key} names {name}, which is not a rule", _hint(near)
            )


def _threshold_error(
    config: Config, found: LintSettings, error: SettingError
) -> Exception:
    """The error of a threshold at the place of its key."""
    for rule, values in found.thresholds.items():
        for key, value in values.items():
            alone = LintSettings(thresholds={rule: {key: value}})
            try:
                prepare(alone)
            except SettingError as one:
                return config.error(("thresholds", rule, key), str(one))
    return config.error(("thresholds",), str(error))
