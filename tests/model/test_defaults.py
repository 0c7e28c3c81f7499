"""The defaults that are told to readers are those that resolution fills in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from policyctl.model.backoff import Backoff, Redelivery
from policyctl.model.budget import Budget
from policyctl.model.bulkhead import Bulkhead
from policyctl.model.circuit_breaker import CircuitBreaker, RecoveryTimeout
from policyctl.model.hedge import Hedge
from policyctl.model.idempotency import Idempotency
from policyctl.model.queues import Consume, DeadLetter, Queue, Upload
from policyctl.model.rate_limit import RateLimit
from policyctl.model.retry import Retry, RetryBudget
from policyctl.model.schema import by_default, default_of, describe
from policyctl.resolve import defaults
from policyctl.resolve.tree import Leaf, Node

_TABLES: list[tuple[type[BaseModel], Mapping[str, Node]]] = [
    (Backoff, defaults.BACKOFF),
    (Redelivery, defaults.REDELIVERY),
    (Retry, defaults.RETRY),
    (RetryBudget, defaults.RETRY_BUDGET),
    (RecoveryTimeout, defaults.RECOVERY),
    (CircuitBreaker, defaults.BREAKER),
    (Bulkhead, defaults.BULKHEAD),
    (RateLimit, defaults.RATE_LIMIT),
    (Budget, defaults.BUDGET),
    (Hedge, defaults.HEDGE),
    (Idempotency, defaults.IDEMPOTENCY),
    (Queue, defaults.QUEUE),
    (DeadLetter, defaults.DEAD_LETTER),
    (Consume, defaults.CONSUME),
    (Upload, defaults.UPLOAD),
]


@pytest.mark.parametrize(
    ("model", "table"), _TABLES, ids=[model.__name__ for model, _ in _TABLES]
)
def test_told_defaults_are_the_ones_filled_in(
    model: type[BaseModel], table: Mapping[str, Node]
) -> None:
    """Key by key, the text of a default parses to the number that is used."""
    told = {
        name: default_of(info)
        for name, info in model.model_fields.items()
        if default_of(info) is not None
    }
    parsed = model.model_validate(told).model_dump(exclude_unset=True)
    used = {name: node.value for name, node in table.items() if isinstance(node, Leaf)}
    assert parsed == used


def test_a_default_is_part_of_the_description() -> None:
    """Editors show it with the key, in words where it depends on other keys."""
    retry = Retry.model_fields
    assert describe(retry["max_attempts"]).endswith(" Default: 3.")
    assert by_default(Bulkhead.model_fields["max_queue"]) == "max_concurrent"
    assert describe(retry["retry_if"]).endswith("means another attempt.")
