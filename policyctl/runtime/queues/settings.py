"""The settings of a queue, as generated code spells them.

Durations are seconds, sizes are items or bytes, ratios are 0 to 1.
"""

from __future__ import annotations

from policyctl.runtime import fields as _f
from policyctl.runtime.fields import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class Sqlite(Settings):
    """Items live in a file; a relative path starts at the working directory."""

    path: str

    _path = "store"
    _checks = _f.checks(path=_f.text)


class Redis(Settings):
    """Items live in Redis or Valkey, whose address an environment variable holds."""

    key: str
    url_env: str

    _path = "store"
    _checks = _f.checks(key=_f.text, url_env=_f.text)

    def _finish(self, given: frozenset[str]) -> None:
        if "{" in self.key or "}" in self.key:
            raise _f.refuse("key", f"{self.key!r} holds a brace", "choose another name")


def _jitter(path: str, value: Any) -> Any:
    if isinstance(value, str):
        return _f.choice("none", "full", "equal", "decorrelated")(path, value)
    return _f.ratio(path, value)


class Redelivery(Settings):
    """Delay before delivery n+1: min(max, initial x multiplier^(n-1)), then jitter."""

    initial: float = 1.0
    multiplier: float = 2.0
    max: float | None = 300.0
    jitter: Literal["none", "full", "equal", "decorrelated"] | float = "full"

    _path = "redelivery"
    _checks = _f.checks(
        initial=_f.duration,
        multiplier=_f.number,
        max=_f.optional(_f.duration),
        jitter=_jitter,
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.multiplier < 1:
            raise _f.refuse("redelivery.multiplier", f"{self.multiplier} is below 1")
        if self.max is not None and self.initial > self.max:
            raise _f.refuse(
                "redelivery.initial",
                f"{self.initial} s is over the max of {self.max} s",
            )


class DeadLetter(Settings):
    """Where items go that could not be delivered; when it is full, put refuses."""

    max_size: int = 10000

    _path = "dead_letter"
    _checks = _f.checks(max_size=_f.count(1))


class Consume(Settings):
    """A worker that hands items to an operation (``service.operation``), one by one."""

    operation: str
    concurrency: int = 1

    _path = "consume"
    _checks = _f.checks(operation=_f.text, concurrency=_f.count(1))


class Upload(Settings):
    """A worker that hands items in batches to an operation."""

    operation: str
    batch: int = 100
    interval: float = 5.0
    drain: float = 10.0

    _path = "upload"
    _checks = _f.checks(
        operation=_f.text,
        batch=_f.count(1),
        interval=_f.positive,
        drain=_f.duration,
    )


class QueueSettings(Settings):
    """One queue; ``dead_letter`` None drops and counts what cannot be delivered."""

    store: Sqlite | Redis
    max_size: int
    payload: str | type[Any] | None = None
    codec: Any = "json"
    max_bytes: int | None = None
    max_age: float | None = None
    warn_at: float = 0.8
    overflow: Literal["reject", "dead_letter", "drop_oldest"] = "reject"
    lease: float = 30.0
    max_deliveries: int | None = 5
    redelivery: Redelivery = Redelivery()
    dead_letter: DeadLetter | None = DeadLetter()
    order_by: str | None = None
    consume: Consume | None = None
    upload: Upload | None = None

    _path = "queue"
    _checks = _f.checks(
        store=_f.instance(Sqlite, Redis),
        max_size=_f.count(1),
        max_bytes=_f.optional(_f.count(1)),
        max_age=_f.optional(_f.positive),
        warn_at=_f.ratio,
        overflow=_f.choice("reject", "dead_letter", "drop_oldest"),
        lease=_f.positive,
        max_deliveries=_f.optional(_f.count(1)),
        redelivery=_f.instance(Redelivery),
        dead_letter=_f.optional(_f.instance(DeadLetter)),
        order_by=_f.optional(_f.text),
        consume=_f.optional(_f.instance(Consume)),
        upload=_f.optional(_f.instance(Upload)),
    )

    def _finish(self, given: frozenset[str]) -> None:
        if self.overflow == "dead_letter" and self.dead_letter is None:
            raise _f.refuse(
                "overflow", "overflow goes to the dead letters, but there are none"
            )
        if self.consume is not None and self.upload is not None:
            raise _f.refuse("upload", "a queue has one worker: consume or upload")
