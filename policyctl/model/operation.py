"""The settings of an operation, and what a service's defaults may hold."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.calls import Call
from policyctl.model.facts import OperationFacts
from policyctl.model.fields import Block, Blocks, Items, Off, setting
from policyctl.model.kinds import CALLABLE, PRESET, Words
from policyctl.model.patterns import Patterns
from policyctl.model.scalars import Choice, Flag


class OperationSettings(Patterns):
    """What an operation, the defaults of a service or a preset, and an overlay may set."""

    kind: Annotated[str | None, Choice(("unary", "stream"))] = setting(
        "One answer, or a stream of items (generators and streamed responses).",
        "unary",
        "stream",
        default="unary",
    )
    idempotent: Annotated[bool | None, Flag()] = setting(
        "Whether a repeated call has one effect; absent is unknown.",
        True,
        False,
        by_default="unknown, which counts as false where it matters",
    )
    transport: Annotated[
        str | None, Choice(("http", "grpc", "sql", "redis", "local"))
    ] = setting(
        "How the callee is reached; it decides what the portable conditions match.",
        "http",
        "grpc",
        "sql",
        "redis",
        "local",
    )
    facts: Annotated[OperationFacts | Off | None, Block(OperationFacts)] = setting(
        "What was measured; facts unlock rules and are never guessed.",
        {"rate": "40/s", "callers": 24, "latency": {"mean": "120ms", "p99": "900ms"}},
    )
    calls: Annotated[list[Call] | Off | None, Blocks(Call)] = setting(
        "What is called for each request to this operation.",
        [{"to": "ledger_api.post_entry", "per_request": 1}],
    )


class Operation(OperationSettings):
    """One operation of a service."""

    extends: Annotated[list[str] | None, Items(PRESET, off=False)] = setting(
        "Presets for this operation, applied in order; later ones win.",
        ["critical-http"],
    )
    target: Annotated[str | None, CALLABLE] = setting(
        "The function or method to wrap; it is read, never imported.",
        "payment_sdk.client:PaymentClient.charge",
    )
    description: Words = setting("What the operation does.", "Charge a card.")
