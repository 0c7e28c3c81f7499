"""What a worker does with the items that it has taken, step by step.

A plan is a generator that yields steps and is sent what became of them, so that threads
and tasks follow the same one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from policyctl.runtime.queues.blame import Blame
from policyctl.runtime.queues.item import Item

Kind = Literal["call", "ack", "nack", "release"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do with some items.

    Attributes:
        error: why they are given back.
        aside: whether released items stay away for a while and let others go first.
    """

    kind: Kind
    items: Sequence[Item[Any]]
    error: BaseException | None = None
    aside: bool = False


Plan = Generator[Step, BaseException | None, BaseException | None]


def most_calls(count: int) -> int:
    """The calls that finding a bad item among ``count`` may take."""
    return 2 * count.bit_length() + 2


def work_off(items: Sequence[Item[Any]], blame: Blame) -> Plan:
    """Send items as one batch; search a failed batch for the items that are to blame.

    Batches are halved until a single item fails, which is given back or becomes a dead
    letter. What follows it in its lane is released, so that nothing overtakes it. When
    the failure is an outage, or the search takes too long, all that is left is released.

    Returns:
        The error of an outage; None if the worker may go on at once.
    """
    waiting: list[Sequence[Item[Any]]] = [items]
    stuck: set[str] = set()
    left = most_calls(len(items))
    while waiting:
        part = waiting.pop()
        behind = [item for item in part if item.taken.lane in stuck]
        if behind:
            yield Step("release", behind)
            part = [item for item in part if item.taken.lane not in stuck]
        if not part:
            continue
        if left == 0:
            yield Step("release", part)
            continue
        left -= 1
        error = yield Step("call", part)
        if error is None:
            blame.succeeded()
            yield Step("ack", part)
            continue
        verdict = blame.judge(error, [item.id for item in part])
        if verdict != "item":
            aside = verdict == "suspect" and len(part) == 1
            yield Step("release", part, error, aside)
            rest = [item for items in reversed(waiting) for item in items]
            if rest:
                yield Step("release", rest)
            return error
        if len(part) == 1:
            yield Step("nack", part, error)
            lane = part[0].taken.lane
            if lane is not None:
                stuck.add(lane)
        else:
            middle = len(part) // 2
            waiting += [part[middle:], part[:middle]]
    return None
