"""Reads and writes the baseline file of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from policyctl.config import Config, ConfigError
from policyctl.diagnostics import Diagnostic, Severity, Span
from policyctl.lint.baseline import Baseline, BaselineError, Key, parse
from policyctl.lint.coverage import Coverage
from policyctl.source.files import display_path
from policyctl.source.regular import read_regular

if TYPE_CHECKING:
    from policyctl.cli._validation import Run

MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """The baseline of a run and its file; ``exists`` is False for one to be made."""

    path: Path
    display: str
    baseline: Baseline
    exists: bool = True


def place(loaded: Config, option: str | None) -> Path | None:
    """The file that the option names, or the configuration; None where none does."""
    if option is not None:
        return Path(option)
    return None if loaded.baseline is None else loaded.root / loaded.baseline


def read(
    loaded: Config, option: str | None, *, may_be_missing: bool = False
) -> Known | None:
    """The baseline of this run; None where neither option nor configuration names one.

    Raises:
        ConfigError: the file cannot be read or is not a baseline.
    """
    path = place(loaded, option)
    if path is None:
        return None
    display = display_path(os.path.relpath(path))
    try:
        data = read_regular(path, MOST_BYTES + 1)
    except FileNotFoundError:
        if may_be_missing:
            return Known(path, display, Baseline(), exists=False)
        raise _error(
            display,
            "does not exist",
            "policyctl baseline update --allow-growth records the present findings",
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _error(display, f"cannot be read: {reason}") from None
    if len(data) > MOST_BYTES:
        raise _error(display, f"is larger than the limit of {MOST_BYTES:,} bytes")
    try:
        return Known(path, display, parse(data.decode("utf-8-sig"), display))
    except UnicodeDecodeError:
        raise _error(display, "is not UTF-8 text") from None
    except BaselineError as error:
        raise _error(display, f"is not a baseline: {error}") from None


def _error(display: str, message: str, help: str | None = None) -> ConfigError:
    finding = Diagnostic(
        "CF106",
        "baseline-unusable",
        Severity.ERROR,
        f"the baseline {display} {message}",
        Span(display),
        help=help or "correct it, or remove it and record the findings anew",
    )
    return ConfigError((finding,))


def scope(run: Run, coverage: Coverage) -> Callable[[Key], bool]:
    """Whether a run would have found what a key of the baseline stands for.

    It looks at the services that were asked for, with the rules that were not left out;
    a service that exists no longer counts when nothing was left out.
    """
    ran = frozenset(coverage.ran)
    project = run.session.project
    broken = any(
        d.severity is Severity.ERROR and d.code[:2] in ("SY", "VA", "CF")
        for d in run.session.findings
    )

    def looked_at(key: Key) -> bool:
        code, path = key
        service = path.partition(".")[0]
        if code not in ran:
            return (
                run.looks_at_all() and not run.settings.select and _unknown(run, code)
            )
        if service in project.reported:
            return True
        return run.looks_at_all() and service not in project.services and not broken

    return looked_at


def _unknown(run: Run, code: str) -> bool:
    """Whether no rule has the code, so that its entries can never match again."""
    from policyctl.lint.registry import rule_by_code

    return rule_by_code(code, run.settings.extra) is None
