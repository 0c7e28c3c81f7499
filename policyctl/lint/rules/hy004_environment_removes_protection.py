"""HY004: environment overlays that switch a protection off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import place
from policyctl.lint.context import Context
from policyctl.lint.rule import Outcomes, Rule
from policyctl.resolve.policy import Service
from policyctl.source.nodes import MappingNode, Node, NodePath, ScalarNode

_PROTECTIONS = (
    "attempt_timeout",
    "budget",
    "circuit_breaker",
    "bulkhead",
    "rate_limit",
    "idempotency",
)


class EnvironmentRemovesProtection(Rule):
    """An environment switches a protection off.

    What:
        An overlay under `environments` sets a timeout, a budget, a circuit breaker, a
        bulkhead, a rate limit or idempotency to `off`, or its mode to `disabled` or
        `observe`. For environments whose name begins with `prod` or `live` it is a
        warning, else info.

    Why:
        What is never switched on in tests is first tried in production; and what is off
        in production protects nobody, whatever the rest of the document says.

    Bad:
        version: 1
        service: search_api
        owner: search-team
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker: {}
        environments:
          production:
            operations:
              search: {circuit_breaker: off}

    Good:
        version: 1
        service: search_api
        owner: search-team
        operations:
          search:
            transport: http
            idempotent: true
            attempt_timeout: 1s
            budget: 3s
            circuit_breaker: {}
        environments:
          staging:
            operations:
              search: {circuit_breaker: {recovery_timeout: 5s}}

    Fix:
        Change numbers between environments, not whether a protection exists.

    False positives:
        Load tests that measure the callee without protection.

    References:
        none
    """

    code: ClassVar[str] = "HY004"
    name: ClassVar[str] = "environment-removes-protection"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_service(self, service: Service, context: Context) -> Outcomes:
        spot = place.of_service(service)
        for path, how in _removed(service.document.root):
            environment = str(path[1])
            serious = environment.lower().startswith(("prod", "live"))
            yield self.finding(
                spot,
                ".".join(map(str, path)),
                f"environment {environment} {how} {_owner(path)}",
                severity=None if serious else Severity.INFO,
                help="keep the protection and change its numbers",
            )


def _removed(root: Node) -> Iterator[tuple[NodePath, str]]:
    """Node paths of overlays that take a protection away, and how they do it."""
    for environment, overlay in _entries(root, "environments"):
        at = ("environments", environment)
        for key, node in _protections(overlay, "defaults"):
            yield from _judge((*at, "defaults", key), node)
        for operation, settings in _entries(overlay, "operations"):
            if isinstance(settings, MappingNode):
                for key, entry in settings.entries.items():
                    if key in _PROTECTIONS:
                        yield from _judge(
                            (*at, "operations", operation, key), entry.value
                        )


def _entries(node: Node, key: str) -> Iterator[tuple[str, Node]]:
    inner = node.get(key) if isinstance(node, MappingNode) else None
    if isinstance(inner, MappingNode):
        for name, entry in inner.entries.items():
            yield name, entry.value


def _protections(node: Node, key: str) -> Iterator[tuple[str, Node]]:
    return (
        (name, value) for name, value in _entries(node, key) if name in _PROTECTIONS
    )


def _judge(path: NodePath, node: Node) -> Iterator[tuple[NodePath, str]]:
    if isinstance(node, ScalarNode) and (node.text == "off" or node.value is False):
        yield path, "switches off"
    mode = node.get("mode") if isinstance(node, MappingNode) else None
    if isinstance(mode, ScalarNode) and mode.text in ("disabled", "observe"):
        yield (*path, "mode"), f"sets mode {mode.text} for"


def _owner(path: NodePath) -> str:
    parts = [str(part) for part in path if part != "mode"]
    return f"{parts[-1]} of {'all operations' if parts[2] == 'defaults' else parts[3]}"
