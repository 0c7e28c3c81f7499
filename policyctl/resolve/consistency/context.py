"""What the checks of one operation need to know beside its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from policyctl.diagnostics import Diagnostic
from policyctl.model.static import Lookup
from policyctl.resolve.findings import Subject


@dataclass(frozen=True, slots=True)
class Context:
    """The service around an operation: its class, its target, its redis address.

    ``lookup`` reads targets; one is shared by a run, since it keeps what it parsed.
    """

    service_class: str = "online"
    redis_url: str | None = None
    target: str | None = None
    lookup: Lookup = field(default_factory=Lookup)


Check = Callable[[Subject, Context], Iterator[Diagnostic]]
