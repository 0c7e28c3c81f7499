"""Measurements that no one distribution of times can have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.findings import Subject
from policyctl.resolve.tree import Block
from policyctl.source.nodes import NodePath
from policyctl.units import format_duration

_LATENCY: Final[NodePath] = ("facts", "latency")
_SERVICE_TIME: Final[NodePath] = ("facts", "service_time")

# The share of calls that take as long as a quantile or longer, and its words.
_TAILS: Final = {
    "p50": (0.5, "half of all calls"),
    "p99": (0.01, "1 % of all calls"),
    "p999": (0.001, "0.1 % of all calls"),
}
_ROUNDING: Final = 1e-9


def check_operation(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check the measured latency of an operation."""
    return _check(subject, _LATENCY)


def check_service(subject: Subject) -> Iterator[Diagnostic]:
    """Check the measured service time of a service."""
    return _check(subject, _SERVICE_TIME)


def _check(subject: Subject, path: NodePath) -> Iterator[Diagnostic]:
    block = subject.tree.find(path)
    if not isinstance(block, Block):
        return
    known: list[tuple[str, float]] = []
    for name in _TAILS:
        value = block.get(name)
        if value is not None:
            known.append((name, value))
    yield from _order(subject, path, known)
    mean = block.get("mean")
    if mean is not None:
        yield from _mean(subject, path, mean, known)


def _order(
    subject: Subject, path: NodePath, known: list[tuple[str, float]]
) -> Iterator[Diagnostic]:
    """A quantile may not be over one of a larger share."""
    for (low, small), (high, large) in pairwise(known):
        if small <= large:
            continue
        yield subject.error(
            "VA138",
            f"{low} {format_duration(small)} is over {high} {format_duration(large)}",
            (*path, low),
            help="correct one of the two: no measurement has both",
            related=[
                subject.related((*path, high), f"{high} is {format_duration(large)}")
            ],
        )


def _mean(
    subject: Subject, path: NodePath, mean: float, known: list[tuple[str, float]]
) -> Iterator[Diagnostic]:
    """Markov's inequality: the tail from a quantile on alone gives the mean that much.

    The quantile that asks for the most is the one that is shown.
    """
    least, name, value = max(
        ((_TAILS[name][0] * value, name, value) for name, value in known),
        default=(0.0, "", 0.0),
    )
    if mean >= least * (1 - _ROUNDING):
        return
    text, who = format_duration(value), _TAILS[name][1]
    yield subject.error(
        "VA138",
        f"mean {format_duration(mean)} is too short for {name} {text}",
        (*path, "mean"),
        help=f"correct one of the two: {who} take {text} or longer, which makes the mean "
        f"at least {format_duration(round(least, 9))}",
        related=[subject.related((*path, name), f"{name} is {text}")],
    )
