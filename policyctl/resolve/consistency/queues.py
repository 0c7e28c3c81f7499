"""Queues and inbound limits whose keys contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency import required, stores, times
from policyctl.resolve.findings import Subject


def check_queue(subject: Subject, redis_url: str | None) -> Iterator[Diagnostic]:
    """Check one filled queue."""
    tree = subject.tree
    yield from required.check_queue(subject)
    yield from stores.check_store(subject, tree.get("url_env") or redis_url, ())
    yield from stores.check_path(subject, ())
    yield from times.growth(subject, ("redelivery",))
    if tree.get("overflow") == "dead_letter" and not tree.has("dead_letter"):
        yield subject.error(
            "VA130",
            "overflow goes to the dead letters, but dead_letter is off",
            ("overflow",),
            help="remove dead_letter: off, or write overflow: reject",
            related=[subject.related(("dead_letter",), "switched off here")],
        )
    if tree.has("consume") and tree.has("upload"):
        yield subject.error(
            "VA131",
            "a queue has one worker, but both consume and upload are given",
            ("upload",),
            help="keep one of them, or use two queues",
            related=[subject.related(("consume",), "the other worker")],
        )


def check_inbound(subject: Subject, redis_url: str | None) -> Iterator[Diagnostic]:
    """Check a filled ``inbound`` block."""
    yield from required.check_inbound(subject)
    yield from stores.check_store(subject, redis_url, ("rate_limit",))
    yield from times.at_most(subject, "VA114", ("budget",), "default", "max")
