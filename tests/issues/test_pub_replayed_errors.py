"""Errors that cannot be replayed: powertools-lambda-python #1038 and #3781's kind.

An error of a class that a function defines was stored by a name that leads nowhere; every
repetition then failed with something else instead of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from policyctl.runtime.policy import Policy

Generated = Callable[[str], Mapping[str, Policy]]
Settle = Callable[[Awaitable[Any]], Awaitable[Any]]

OPERATION = """
charge:
  idempotent: true
  retry: {max_attempts: 2, retry_on: [ConnectionError], never_retry_on: [ValueError]}
  idempotency: {key: [order], ttl: 1h}
"""


class Declined(ValueError):
    """An error with arguments and attributes of its own."""

    def __init__(self, code: int, *, hint: str = "none") -> None:
        super().__init__(f"declined with {code}")
        self.code = code
        self.hint = hint


async def test_an_error_with_its_own_arguments_comes_back(
    generated: Generated, form: Any, script: Any, settle: Settle
) -> None:
    """The same class, text and attributes; a fresh instance; one entry."""
    fn = script(Declined(51, hint="call the bank"))
    guarded = form.guard(generated(OPERATION)["charge"], lambda order: fn())
    first = await settle(guarded(order="declined"))
    again = await settle(guarded(order="declined"))
    assert fn.entries == 1
    assert again is not first
    assert type(again) is Declined
    assert (str(again), again.code, again.hint) == (
        "declined with 51",
        51,
        "call the bank",
    )


async def test_a_class_that_cannot_be_found_comes_back_as_its_base(
    generated: Generated, form: Any, script: Any, settle: Settle
) -> None:
    """``except ValueError`` works for the repetition too, and nothing runs twice."""

    class Local(ValueError):
        """Known inside this function alone."""

    fn = script(Local("no such account"))
    guarded = form.guard(generated(OPERATION)["charge"], lambda order: fn())
    assert type(await settle(guarded(order="local"))) is Local
    again = await settle(guarded(order="local"))
    assert (type(again), str(again)) == (ValueError, "no such account")
    assert fn.entries == 1
