"""``queues``: bounded queues, their workers and their dead letters."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.backoff import Redelivery
from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import CLASS, FIELD, OPERATION, Codec, Variable, Words
from policyctl.model.scalars import Choice, Number


class DeadLetter(Settings):
    """Where items go that could not be delivered."""

    max_size: Annotated[int | Off | None, Number("dead_letter.max_size")] = setting(
        "The most items kept; when it is full too, put refuses.", 10000, default=10000
    )


class Consume(Settings):
    """A worker that hands items to an operation."""

    operation: Annotated[str | None, OPERATION] = setting(
        "The operation whose policy the worker runs under.", "worker.handle"
    )
    concurrency: Annotated[int | Off | None, Number("consume.concurrency")] = setting(
        "Items worked on at once, in each process.", 3, default=1
    )


class Upload(Settings):
    """A worker that sends items in batches."""

    operation: Annotated[str | None, OPERATION] = setting(
        "The operation that takes a batch.", "report_api.send_batch"
    )
    batch: Annotated[int | Off | None, Number("upload.batch")] = setting(
        "The most items in a batch.", 100, default=100
    )
    interval: Annotated[float | Off | None, Number("upload.interval")] = setting(
        "How often what is there is sent.", "5s", default="5s"
    )
    drain: Annotated[float | Off | None, Number("upload.drain")] = setting(
        "How long a stopping worker may go on sending.", "10s", default="10s"
    )


class Queue(Settings):
    """One bounded queue."""

    store: Annotated[str | None, Choice(("sqlite", "redis", "external"), off=False)] = (
        setting(
            "Where items live: an embedded SQLite file, Redis or Valkey, or elsewhere (facts "
            "for lint alone).",
            "sqlite",
            "redis",
            "external",
        )
    )
    path: Words = setting(
        "The SQLite file, relative to the working directory of the process.",
        "var/recovery.db",
    )
    key: Words = setting("The Redis key.", "recovery:queue")
    url_env: Variable = setting(
        "The environment variable that holds the address of its Redis.",
        "POLICY_REDIS_URL",
    )
    payload: Annotated[str | None, CLASS] = setting(
        "The dataclass, TypedDict or pydantic model of an item.", "my_app.jobs:Job"
    )
    codec: Codec = setting(
        "How items are turned into bytes: json, or a codec of your own.",
        "json",
        "my_app.codecs:Codec",
        default="json",
    )
    max_size: Annotated[int | Off | None, Number("max_size")] = setting(
        "The most items that wait.", 100
    )
    max_bytes: Annotated[int | Off | None, Number("max_bytes")] = setting(
        "The most bytes that waiting items take.", "50MiB"
    )
    max_age: Annotated[float | Off | None, Number("max_age")] = setting(
        "Older items go to the dead letters.", "1h"
    )
    warn_at: Annotated[float | Off | None, Number("warn_at")] = setting(
        "The share of max_size at which a warning is given.", "70%", default="80%"
    )
    overflow: Annotated[
        str | None, Choice(("reject", "dead_letter", "drop_oldest"))
    ] = setting(
        "What happens to an item that finds the queue full.",
        "reject",
        "dead_letter",
        "drop_oldest",
        default="reject",
    )
    lease: Annotated[float | Off | None, Number("lease")] = setting(
        "A worker keeps an item this long before another may have it.",
        "30s",
        by_default="twice the longest that its consumer can take, or 30s",
    )
    max_deliveries: Annotated[int | Off | None, Number("max_deliveries")] = setting(
        "Deliveries before an item goes to the dead letters.", 5, default=5
    )
    redelivery: Annotated[Redelivery | Off | None, Block(Redelivery)] = setting(
        "The delays between deliveries of one item.",
        {"initial": "5s", "multiplier": 2, "max": "5m", "jitter": "full"},
    )
    dead_letter: Annotated[DeadLetter | Off | None, Block(DeadLetter)] = setting(
        "Where items go that could not be delivered.", {"max_size": 10000}
    )
    order_by: Annotated[str | None, FIELD] = setting(
        "First in, first out for each value of this field of the payload.", "agent_id"
    )
    consume: Annotated[Consume | Off | None, Block(Consume)] = setting(
        "Hand items to an operation, one by one.",
        {"operation": "worker.handle", "concurrency": 3},
    )
    upload: Annotated[Upload | Off | None, Block(Upload)] = setting(
        "Store and forward in batches.",
        {"operation": "report_api.send_batch", "batch": 100, "interval": "5s"},
    )
