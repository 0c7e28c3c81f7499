"""The documents: a service, an environment's overlay of it, and a preset."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.calls import Call
from policyctl.model.facts import ServiceFacts
from policyctl.model.fields import (
    Block,
    Blocks,
    Items,
    Named,
    Off,
    Settings,
    required,
    setting,
)
from policyctl.model.inbound import Inbound
from policyctl.model.kinds import CLASS, PRESET, RULE, SERVICE, Words
from policyctl.model.operation import Operation, OperationSettings
from policyctl.model.queues import Queue
from policyctl.model.scalars import Choice, Flag, IsoDate, Text, Version
from policyctl.model.telemetry import REDIS, TELEMETRY, Redis, Telemetry

_CLASSES = Choice(("online", "batch", "control_loop"))


class Ignore(Settings):
    """A finding that is not counted, with the reason."""

    rule: Annotated[str, RULE] = required("The code of the rule.", "RT001")
    at: Words = setting("The path that the finding is about.", "operations.charge")
    reason: Annotated[str, Text("why the finding does not count", off=False)] = (
        required("Why the finding does not count here.", "lease loop")
    )
    until: Annotated[str | None, IsoDate()] = setting(
        "The day after which the finding counts again.", "2026-12-31"
    )


class Shared(Settings):
    """What a service and a preset may both set."""

    owner: Words = setting("The team that answers for it.", "payments-team")
    description: Words = setting("What it is.", "Card payments.")
    service_class: Annotated[str | None, _CLASSES] = setting(
        "How it works: for users who wait, in batches, or as a control loop.",
        "online",
        "batch",
        "control_loop",
        alias="class",
        default="online",
    )
    critical: Annotated[bool | None, Flag()] = setting(
        "Whether others stop when it stops; it makes some findings worse.",
        True,
        default=False,
    )
    redis: Annotated[Redis | Off | None, REDIS] = setting(
        "Where anything with store: redis lives, unless it says otherwise.",
        {"url_env": "POLICY_REDIS_URL"},
    )
    facts: Annotated[ServiceFacts | Off | None, Block(ServiceFacts)] = setting(
        "What was measured or promised; facts unlock rules and are never guessed.",
        {"instances": 12, "workers": 40, "capacity": "300/s"},
    )
    defaults: Annotated[OperationSettings | Off | None, Block(OperationSettings)] = (
        setting("Settings for every operation below.", {"attempt_timeout": "5s"})
    )
    inbound: Annotated[Inbound | Off | None, Block(Inbound)] = setting(
        "The protection of the service as a server.", {"rate_limit": {"rate": "500/s"}}
    )
    telemetry: Annotated[Telemetry | Off | None, TELEMETRY] = setting(
        "Where counts, traces and events go.",
        {"metrics": "prometheus", "logs": "json", "heartbeat": "30s"},
    )


class Overlay(Shared):
    """What an environment changes: key by key, lists replaced."""

    target: Annotated[str | None, CLASS] = setting(
        "The class that the operations belong to.", "payment_sdk.client:PaymentClient"
    )
    operations: Annotated[
        dict[str, OperationSettings] | None, Named(OperationSettings)
    ] = setting("Settings of single operations.", {"charge": {"attempt_timeout": "5s"}})
    calls: Annotated[list[Call] | Off | None, Blocks(Call)] = setting(
        "What the service calls for each request that it handles.",
        [{"to": "ledger_api.post_entry", "per_request": 1}],
    )
    queues: Annotated[dict[str, Queue] | None, Named(Queue)] = setting(
        "Bounded queues.", {"recovery": {"max_size": 100}}
    )


class ServiceModel(Shared):
    """One service document."""

    version: Annotated[int, Version()] = required("The version of the language.", 1)
    service: Annotated[str, SERVICE] = required(
        "The name of the service.", "payment_api"
    )
    extends: Annotated[list[str] | None, Items(PRESET, off=False)] = setting(
        "Presets, applied in order; later ones win.", ["http-client"]
    )
    target: Annotated[str | None, CLASS] = setting(
        "The class that the operations belong to; it is read, never imported.",
        "payment_sdk.client:PaymentClient",
    )
    operations: Annotated[dict[str, Operation] | None, Named(Operation)] = setting(
        "The operations, by name.",
        {"charge": {"attempt_timeout": "5s", "idempotent": False}},
    )
    calls: Annotated[list[Call] | Off | None, Blocks(Call)] = setting(
        "What the service calls for each request that it handles.",
        [{"to": "ledger_api.post_entry", "per_request": 1}],
    )
    queues: Annotated[dict[str, Queue] | None, Named(Queue)] = setting(
        "Bounded queues, by name.",
        {"recovery": {"store": "sqlite", "path": "var/recovery.db", "max_size": 100}},
    )
    environments: Annotated[dict[str, Overlay] | None, Named(Overlay)] = setting(
        "What changes in each environment, by its name.",
        {"staging": {"defaults": {"attempt_timeout": "10s"}}},
    )
    ignore: Annotated[list[Ignore] | None, Blocks(Ignore, off=False)] = setting(
        "Findings that are not counted.",
        [
            {
                "rule": "RT001",
                "at": "operations.charge",
                "reason": "lease loop",
                "until": "2026-12-31",
            }
        ],
    )


class PresetModel(Shared):
    """One preset document: settings that services extend."""

    version: Annotated[int, Version()] = required("The version of the language.", 1)
    preset: Annotated[str, PRESET] = required("The name of the preset.", "http-client")
    extends: Annotated[list[str] | None, Items(PRESET, off=False)] = setting(
        "Presets that this one builds on, applied in order; later ones win.",
        ["http-client"],
    )
