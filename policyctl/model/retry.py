"""``retry``: how often a failed attempt is repeated, and when."""

from __future__ import annotations

from typing import Annotated, Literal

from policyctl.model.backoff import Backoff
from policyctl.model.fields import Block, Off, Settings, setting
from policyctl.model.kinds import Callable, Exceptions, Statuses
from policyctl.model.scalars import Choice, Number


class RetryAfter(Settings):
    """The server's own hint when to come back."""

    max: Annotated[float | Off | None, Number("retry.retry_after.max")] = setting(
        "The longest hint that is waited for; a longer one ends the call.", "10s"
    )


class RetryBudget(Settings):
    """Retries as a share of first tries, for all callers in a process together."""

    ratio: Annotated[float | Off | None, Number("retry.budget.ratio")] = setting(
        "Retries for each first try (or success) in the long run.", "10%", default="10%"
    )
    refill: Annotated[str | None, Choice(("success", "request"))] = setting(
        "What earns new retries: each success, or each first try.",
        "success",
        "request",
        default="success",
    )
    floor: Annotated[float | Off | None, Number("retry.budget.floor")] = setting(
        "Retries that are always allowed, per time.", "6/m", default="6/m"
    )
    burst: Annotated[int | Off | None, Number("retry.budget.burst")] = setting(
        "The most retries that can be saved up.", 10, default=10
    )


class Retry(Settings):
    """Repeating of failed attempts."""

    max_attempts: Annotated[
        int | Literal["unlimited", "off"] | None, Number("retry.max_attempts")
    ] = setting(
        "Attempts in all, the first included: 1 is no retry; unlimited is for control "
        "loops alone.",
        3,
        "unlimited",
        default=3,
    )
    backoff: Annotated[Backoff | Off | None, Block(Backoff)] = setting(
        "The delays between attempts.",
        {"initial": "100ms", "multiplier": 2, "max": "5s", "jitter": "full"},
    )
    retry_on: Exceptions = setting(
        "Exceptions and portable conditions that are worth another attempt.",
        ["not_sent", "connection_lost", "timeout"],
        by_default="the three conditions where idempotent, otherwise not_sent alone; to be given where transport is local or absent",
    )
    never_retry_on: Exceptions = setting(
        "Exceptions that end the call at once; they win over retry_on.", ["ValueError"]
    )
    retry_on_status: Statuses = setting(
        "Statuses that are worth another attempt: HTTP codes and ranges, gRPC names, "
        "SQLSTATE codes and classes.",
        [429, "502-504"],
        ["UNAVAILABLE"],
        ["40001", "08*"],
        by_default="429 and 502-504 where transport is http and the operation idempotent, otherwise none",
    )
    never_retry_on_status: Statuses = setting(
        "Statuses that end the call at once; they win.", [402]
    )
    retry_if: Callable = setting(
        "A predicate over the exception: true means another attempt.",
        "my_app.rules:transient",
    )
    retry_if_result: Callable = setting(
        "A predicate over the result: true means another attempt.",
        "my_app.rules:looks_wrong",
    )
    retry_after: Annotated[RetryAfter | Off | None, Block(RetryAfter)] = setting(
        "Honour the server's hint when to come back; off ignores it.",
        {"max": "10s"},
        by_default="on for http and grpc, with max the smaller of 10s and half the budget",
    )
    budget: Annotated[RetryBudget | Off | None, Block(RetryBudget)] = setting(
        "Bound retries to a share of first tries, so that an outage is not multiplied.",
        {"ratio": "10%", "refill": "success", "floor": "6/m", "burst": 10},
    )


RETRY = Block(Retry)
