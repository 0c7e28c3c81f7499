"""What a document would change in this process, and whether all of that is possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policyctl.runtime import inbound as inbounds
from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.fields import Settings
from policyctl.runtime.inbound import Inbound
from policyctl.runtime.overrides import apply_overrides
from policyctl.runtime.policy import Policy
from policyctl.runtime.registry import registry
from policyctl.runtime.reload.change import change_inbound, change_policy
from policyctl.runtime.reload.document import PolicyDocument, RefusedError

_FIXED: dict[str, frozenset[str]] = {
    "circuit_breaker": frozenset({"scope", "store", "url_env", "max_keys"}),
    "bulkhead": frozenset({"scope", "max_keys"}),
    "rate_limit": frozenset({"store", "url_env"}),
    "idempotency": frozenset(
        {"key", "key_call", "forward", "store", "path", "url_env", "codec"}
    ),
    "hedge": frozenset(),
}
"""Blocks that cannot come or go while calls run, and what is fixed inside them."""
_FIXED_VALUES = ("kind", "idempotent", "transport")
_missing = object()


@dataclass(frozen=True, slots=True)
class Change:
    """One value that is different.

    Attributes:
        target: ``service.operation``, or ``service.inbound``.
        path: the dotted path inside it.
        old: what is in force, None where there is nothing.
        new: what the document says.
    """

    target: str
    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.target} {self.path}: {_shown(self.old)} -> {_shown(self.new)}"


def _shown(value: Any) -> str:
    return "absent" if value is None else repr(value)


@dataclass(slots=True)
class Plan:
    """The steps from what is in force to a document.

    Attributes:
        changes: all values that differ, by target and path.
        unknown: operations of this process that the document does not have; they stay
            as they are.
    """

    changes: list[Change] = field(default_factory=list[Change])
    unknown: list[str] = field(default_factory=list[str])
    _policies: list[tuple[Policy, dict[str, Any]]] = field(
        default_factory=list[tuple[Policy, dict[str, Any]]]
    )
    _inbounds: list[tuple[Inbound, dict[str, Any]]] = field(
        default_factory=list[tuple[Inbound, dict[str, Any]]]
    )

    def apply(self) -> None:
        """Put the document's settings into force."""
        done: set[int] = set()
        for policy, settings in self._policies:
            change_policy(policy, settings, done)
        for inbound, settings in self._inbounds:
            change_inbound(inbound, settings)


def plan_changes(document: PolicyDocument) -> Plan:
    """Compare a document with the policies that are live.

    Environment variables go on to override what a document says.

    Raises:
        RefusedError: some of it cannot change while the process runs.
    """
    plan, reasons = Plan(), list[str]()
    for name in registry:
        policy = registry[name]
        declared = document.operations.get(name)
        if declared is None:
            plan.unknown.append(name)
            continue
        wanted = _overridden(policy.service, policy.operation, declared, reasons)
        if "kind" not in policy.settings and wanted.get("kind") == "unary":
            del wanted["kind"]  # the usual kind may go without saying
        found = list(_differences(name, policy.settings, wanted))
        if found:
            reasons += _impossible(found)
            plan.changes += found
            plan._policies.append((policy, wanted))
    for inbound in list(inbounds._all):
        _plan_inbound(inbound, document, plan, reasons)
    if reasons:
        raise RefusedError(reasons)
    return plan


def _plan_inbound(
    inbound: Inbound, document: PolicyDocument, plan: Plan, reasons: list[str]
) -> None:
    declared = document.inbound.get(inbound.service)
    if declared is None:
        return
    blank = dict.fromkeys(("bulkhead", "rate_limit", "budget"))
    wanted = _overridden(inbound.service, "inbound", {**blank, **declared}, reasons)
    found = list(_differences(f"{inbound.service}.inbound", inbound.settings, wanted))
    if found:
        reasons += _impossible(found)
        plan.changes += found
        plan._inbounds.append((inbound, wanted))


def _overridden(
    service: str, owner: str, blocks: Mapping[str, Any], reasons: list[str]
) -> dict[str, Any]:
    try:
        return apply_overrides(service, owner, blocks)[0]
    except PolicyConfigError as error:
        reasons.append(f"{service}.{owner}.{error.path}: {error.message}")
        return dict(blocks)


def _differences(
    target: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        yield from _inside(target, name, old.get(name), new.get(name))


def _inside(target: str, path: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if isinstance(old, Settings) and type(old) is type(new):
        for name in type(old)._fields:
            before, after = getattr(old, name), getattr(new, name)
            yield from _inside(target, f"{path}.{name}", before, after)
    else:
        yield Change(target, path, old, new)


def _impossible(changes: list[Change]) -> Iterator[str]:
    for change in changes:
        block, _, field_name = change.path.partition(".")
        fixed = _FIXED.get(block)
        at = f"{change.target}.{change.path}"
        if block in _FIXED_VALUES:
            yield f"{at}: it cannot change while the process runs"
        elif fixed is None:
            continue
        elif not field_name:
            verb = "come" if change.old is None else "go"
            yield f"{at}: this block cannot {verb} while the process runs"
        elif field_name.partition(".")[0] in fixed:
            yield f"{at}: it cannot change while the process runs"
