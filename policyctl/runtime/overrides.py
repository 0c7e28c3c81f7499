"""Limits changed at start-up by environment variables.

``PAYMENT_API_CHARGE_BULKHEAD_MAX_CONCURRENT=20`` overrides one number of one operation.
Names and grammar are those of ``policyctl.checks.limits``, which is imported only when
a variable of the operation is set. The environment is read once per process.
"""

from __future__ import annotations

import os

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.fields import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_environment: list[tuple[str, str, str]] | None = None
"""Name in upper case, name and text of each variable."""


_OPERATION_BLOCKS = (
    "attempt_timeout",
    "budget",
    "retry",
    "circuit_breaker",
    "bulkhead",
    "rate_limit",
    "hedge",
    "idempotency",
)


class _Changes(dict[str, "Any"]):
    """New values by field name, nested as the settings are."""


def read_environment(variables: Mapping[str, str] | None = None) -> None:
    """Take the variables from a mapping; None: from the process at the next need."""
    global _environment
    _environment = None if variables is None else _listed(variables)


def _listed(variables: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(name.upper(), name, text) for name, text in variables.items()]


def variables_of(service: str, owner: str) -> dict[str, str]:
    """The variables whose names begin with the service and the owner, in any case."""
    global _environment
    if _environment is None:
        _environment = _listed(os.environ)
    prefix = f"{service}_{owner}_".upper()
    return {
        name: text for upper, name, text in _environment if upper.startswith(prefix)
    }


def apply_overrides(
    service: str, owner: str, blocks: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Change the settings of one operation (or ``inbound``) as the environment says.

    Args:
        service: the service's name.
        owner: the operation's name, or ``inbound``.
        blocks: settings objects by block name; a block that is off is None or absent.

    Returns:
        The blocks, new where something changed, and the variables that were applied.

    Raises:
        PolicyConfigError: a value has a wrong form, is out of bounds, contradicts
            another setting, or belongs to a block that the operation does not have.
    """
    found = variables_of(service, owner)
    if not service or not found:
        return dict(blocks), {}
    return _apply(service, owner, blocks, found)


def _apply(
    service: str, owner: str, blocks: Mapping[str, Any], found: dict[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    from policyctl.checks.limits import LIMITS, override_name

    paths = {
        override_name(service, owner, path): path
        for path, limit in LIMITS.items()
        if limit.override and _belongs(path, owner)
    }
    applied = {name: text for name, text in found.items() if name in paths}
    _warn_of_near_misses(found.keys() - applied.keys(), paths)
    changes = _Changes()
    for name, text in applied.items():
        path = _window_path(paths[name], text)
        _refuse_unlimited(service, owner, blocks, f"{name}={text}")
        _put(changes, path, _parse(service, owner, name, path, text))
    return _changed(service, owner, blocks, changes, applied), applied


def _refuse_unlimited(
    service: str, owner: str, blocks: Mapping[str, Any], variable: str
) -> None:
    """Attempts without limit are for control loops, which the policy has to say."""
    if not variable.replace(" ", "").endswith("_RETRY_MAX_ATTEMPTS=unlimited"):
        return
    retry = blocks.get("retry")
    if retry is not None and retry.max_attempts is not None:
        raise PolicyConfigError(
            f"{variable}: the policy sets a limit, {retry.max_attempts}, "
            "which the environment can change but not take away",
            path="retry.max_attempts",
            help="write a number, or write unlimited in the policy of a control loop",
            service=service,
            operation=owner,
        )


def _belongs(path: str, owner: str) -> bool:
    """Whether a path of the table of limits is one of an operation, or of inbound."""
    if path in ("budget.default", "budget.max"):
        return owner == "inbound"
    block = path.partition(".")[0]
    if owner == "inbound":
        return block in ("bulkhead", "rate_limit")
    return block in _OPERATION_BLOCKS


def _window_path(path: str, text: str) -> str:
    """Both kinds of window share a variable; ``100 calls`` and ``30s`` tell which."""
    if not path.startswith("circuit_breaker.window."):
        return path
    return "circuit_breaker.window." + ("calls" if "call" in text else "seconds")


def _parse(service: str, owner: str, name: str, path: str, text: str) -> object:
    from policyctl.checks.limits import UNLIMITED, parse_limit
    from policyctl.units import UnitError

    try:
        number = parse_limit(path, text)
    except UnitError as error:
        raise PolicyConfigError(
            f"{name}={text}: {error.message}",
            path=path,
            help=error.hint,
            service=service,
            operation=owner,
        ) from None
    return None if number == UNLIMITED else number


def _put(changes: _Changes, path: str, value: object) -> None:
    *outer, last = path.split(".")
    for key in outer:
        changes = changes.setdefault(key, _Changes())
    changes[last] = value


def _changed(
    service: str,
    owner: str,
    blocks: Mapping[str, Any],
    changes: _Changes,
    applied: dict[str, str],
) -> dict[str, Any]:
    result = dict(blocks)
    for block, values in changes.items():
        try:
            result[block] = _rebuild(blocks.get(block), values, block)
        except PolicyConfigError as error:
            names = " and ".join(f"{k}={v}" for k, v in sorted(applied.items()))
            raise PolicyConfigError(
                f"{error.message} (set by {names})",
                path=error.path,
                help=error.help,
                service=service,
                operation=owner,
            ) from None
    return result


def _rebuild(settings: Settings | None, values: _Changes, path: str) -> Settings:
    if settings is None:
        raise PolicyConfigError(
            "the environment sets a limit of a block that is off",
            path=path,
            help="remove the variable, or declare the block in the policy",
        )
    if path == "circuit_breaker.window":
        return type(settings)(**values)
    new = {
        key: (
            _rebuild(getattr(settings, key), value, f"{path}.{key}")
            if isinstance(value, _Changes)
            else value
        )
        for key, value in values.items()
    }
    return settings.replace(**new)


def _warn_of_near_misses(names: set[str], paths: Mapping[str, str]) -> None:
    """A variable that is almost one of ours is probably a mistake: say so once."""
    from difflib import get_close_matches

    for name in sorted(names):
        upper = name.upper()
        near = get_close_matches(upper, paths, 1, 0.9) or _with_tail(upper, paths)
        if near:
            import warnings

            warnings.warn(
                f"the environment variable {name} overrides nothing; "
                f"did you mean {near[0]}?",
                stacklevel=2,
            )


def _with_tail(name: str, paths: Mapping[str, str]) -> list[str]:
    """The shortest name that ends as ``name`` does: TIMEOUT for ATTEMPT_TIMEOUT."""
    found: list[str] = []
    for candidate in paths:
        same = 0
        while name[same : same + 1] == candidate[same : same + 1] != "":
            same += 1
        start = name.rfind("_", 0, same + 1) + 1
        if candidate.endswith(f"_{name[start:]}"):
            found.append(candidate)
    return sorted(found, key=lambda text: (len(text), text))[:1]
