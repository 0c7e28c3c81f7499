"""The line of a generated module that switches its telemetry on."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.generate import literals
from policyctl.generate.layout import Expr, Group, lay_out
from policyctl.resolve.policy import Service
from policyctl.runtime import capabilities

FIELDS = ("metrics", "traces", "logs", "heartbeat")


def telemetry_lines(service: Service) -> tuple[str, ...]:
    """The call, laid out on lines; nothing where the service declares no sink."""
    arguments: list[tuple[str, Expr]] = [("", literals.string(service.name))]
    for field in FIELDS:
        value = getattr(service.telemetry, field)
        if isinstance(value, str):
            arguments.append((f"{field}=", literals.string(value)))
        elif value is not None:
            arguments.append((f"{field}=", repr(value)))
    if len(arguments) == 1:
        return ()
    enable = Group("_telemetry.enable", "()", tuple(arguments))
    return tuple(lay_out("", enable).splitlines())


def unserved_telemetry(service: Service) -> Iterator[tuple[str, str]]:
    """Settings that have no effect in this version, each with what to call it."""
    for field in FIELDS:
        value = getattr(service.telemetry, field)
        if value is None:
            continue
        name = f"telemetry.{field}"
        if isinstance(value, str):
            if f"{name}.{value}" not in capabilities.CAPABILITIES:
                yield field, f"{name}: {value}"
        elif name not in capabilities.CAPABILITIES:
            yield field, name
        elif service.telemetry.metrics is None and service.telemetry.logs is None:
            yield field, f"{name} without telemetry.metrics or telemetry.logs"
