"""What the checks of one operation need to know beside its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.findings import Subject


@dataclass(frozen=True, slots=True)
class Context:
    """The service around an operation: its class, and its redis address if any."""

    service_class: str = "online"
    redis_url: str | None = None


Check = Callable[[Subject, Context], Iterator[Diagnostic]]
