"""The time line of a worst case, drawn: attempts as ``=``, waits as dots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policyctl.cli._explain_time import Step
from policyctl.lint import show

WIDTH = 24


def lines(steps: Sequence[Step]) -> Iterator[str]:
    """One line for each step: when it begins, where it lies, and what it is."""
    if not steps:
        return
    end = steps[-1].at
    moments = [show.duration(step.at) for step in steps]
    width = max(map(len, moments))
    for step, moment in zip(steps, moments, strict=True):
        yield f"    {moment:>{width}}  {_bar(step, end)}  {step.text}"


def _bar(step: Step, end: float) -> str:
    """The step's share of the whole; what lasts any time at all has one column."""
    until = step.at + step.lasts
    if end <= 0:
        return "|" + " " * WIDTH + "|"
    first = min(WIDTH - 1, int(step.at / end * WIDTH))
    if until <= step.at:
        return "|" + " " * WIDTH + "|"
    last = max(first + 1, round(until / end * WIDTH))
    mark = "=" if step.text.startswith("attempt") else "."
    return "|" + (" " * first + mark * (last - first)).ljust(WIDTH) + "|"
