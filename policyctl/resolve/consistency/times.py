"""Durations and counts that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.findings import Subject
from policyctl.resolve.tree import Block
from policyctl.source.nodes import NodePath
from policyctl.units import format_duration


def check(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check the times of an operation."""
    yield from growth(subject, ("retry", "backoff"))
    yield from growth(subject, ("circuit_breaker", "recovery_timeout"))
    for part in ("minimum", "reserve"):
        yield from at_most(subject, "VA114", ("budget",), part, "total", equal=False)
    for part in ("connect", "first_item", "idle"):
        yield from at_most(subject, "VA115", ("attempt_timeout",), part, "total")
    yield from _window(subject)


def growth(subject: Subject, block: NodePath) -> Iterator[Diagnostic]:
    """A back-off that starts above its maximum."""
    return at_most(subject, "VA110", block, "initial", "max")


def at_most(
    subject: Subject,
    code: str,
    path: NodePath,
    part: str,
    whole: str,
    *,
    equal: bool = True,
) -> Iterator[Diagnostic]:
    """The duration ``part`` of the block at ``path`` may not be over ``whole``.

    Without ``equal`` it has to be below: all of a budget kept back leaves nothing.
    """
    block = subject.tree.find(path)
    if not isinstance(block, Block):
        return
    small, large = block.get(part), block.get(whole)
    if small is None or large is None or small < large or (equal and small == large):
        return
    at, other = (*path, part), (*path, whole)
    limit = f"{whole} {format_duration(large)}{subject.builtin(other)}"
    what = "is over" if small > large else "leaves nothing of"
    bound = "at most" if equal else "less than"
    yield subject.error(
        code,
        f"{part} {format_duration(small)} {what} {limit}",
        at,
        help=f"lower {part} to {bound} {format_duration(large)}, or raise {whole}",
        related=[subject.related(other, f"{whole} is {format_duration(large)}")],
    )


def _window(subject: Subject) -> Iterator[Diagnostic]:
    breaker = subject.tree.block("circuit_breaker")
    window = None if breaker is None else breaker.block("window")
    if breaker is None or window is None:
        return
    calls, minimum = window.get("calls"), breaker.get("minimum_calls")
    if calls is None or minimum is None or minimum <= calls:
        return
    yield subject.error(
        "VA111",
        f"minimum_calls {minimum} is over the window of {calls} calls, "
        "so the ratio can never be judged",
        ("circuit_breaker", "minimum_calls"),
        help=f"lower minimum_calls to at most {calls}, or widen the window",
        related=[
            subject.related(
                ("circuit_breaker", "window", "calls"),
                f"the window holds {calls} calls",
            )
        ],
    )
