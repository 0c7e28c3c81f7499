"""Guards that guard nothing: llama_index #21346, pybreaker PR 103, failsafe #75.

A policy around a context manager function sees only its creation, and a fallback that is a
coroutine function gives a plain caller a coroutine as the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]

OPERATIONS = f"""
unary:
  circuit_breaker: {{failure_threshold: 2, record_on: [ConnectionError]}}
session:
  kind: stream
  circuit_breaker: {{failure_threshold: 2, record_on: [ConnectionError]}}
answered:
  circuit_breaker: {{failure_threshold: 9, record_on: [ConnectionError]}}
  fallback: {{call: "{__name__}:later"}}
"""


async def later(*args: Any) -> str:
    """A fallback that has to be awaited."""
    return "from the fallback"


def failing() -> Iterator[str]:
    """Fails on the way in."""
    raise ConnectionError
    yield "never"


async def failing_in_task() -> AsyncIterator[str]:
    """The same, asynchronously."""
    raise ConnectionError
    yield "never"


@pytest.mark.parametrize(
    "manager",
    [contextmanager(failing), asynccontextmanager(failing_in_task)],
    ids=["sync", "async"],
)
def test_a_context_manager_below_a_policy_is_refused(
    manager: Callable[..., Any], generated: Generated
) -> None:
    """With what to write instead."""
    with pytest.raises(PolicyConfigError, match="write @contextmanager above"):
        generated(OPERATIONS)["unary"](manager)


def test_what_the_refusal_says_to_write_works(generated: Generated) -> None:
    """Above a stream's policy, two failures on the way in open the circuit."""
    policy = generated(OPERATIONS)["session"]
    policy.circuit_breaker.reset()
    session = contextmanager(policy(failing))
    for _ in range(2):
        with pytest.raises(ConnectionError), session():
            pass
    assert policy.circuit_breaker.state == "open"


def test_a_plain_function_never_gets_a_coroutine_as_its_answer(
    generated: Generated,
) -> None:
    """It is an error that shows the failure too, and nothing was left unawaited."""

    def get() -> str:
        raise ConnectionError("real")

    with pytest.raises(PolicyConfigError, match="a coroutine to await") as caught:
        generated(OPERATIONS)["answered"](get)()
    assert str(caught.value.__context__) == "real"


async def test_functions_that_return_awaitables_may_have_such_a_fallback(
    generated: Generated,
) -> None:
    """Their callers await whatever they get."""
    policy = generated(OPERATIONS)["answered"]
    fails = [False]

    async def answer() -> str:
        return "from the function"

    def get() -> Any:
        if fails[0]:
            raise ConnectionError
        return answer()

    guarded = policy(get)
    assert await guarded() == "from the function"
    fails[0] = True
    assert await guarded() == "from the fallback"
