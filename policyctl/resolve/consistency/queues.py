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
    yield from _check_redis_keys(subject)
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


def _check_redis_keys(subject: Subject) -> Iterator[Diagnostic]:
    """A redis queue needs a key; key and url_env mean nothing to other stores."""
    tree = subject.tree
    store = tree.get("store")
    if store == "redis" and not tree.has("key"):
        yield subject.error(
            "VA127",
            "a queue in redis has no key",
            ("store",),
            help='add key, for example key: "recovery:queue"',
        )
    for name in ("key", "url_env"):
        if store == "sqlite" and tree.has(name):
            yield subject.error(
                "VA133",
                f"{name} is for store: redis, but the store is sqlite",
                (name,),
                help=f"write store: redis, or remove {name}",
                related=[subject.related(("store",), "store is sqlite")],
            )


def check_inbound(subject: Subject, redis_url: str | None) -> Iterator[Diagnostic]:
    """Check a filled ``inbound`` block."""
    yield from required.check_inbound(subject)
    yield from stores.check_store(subject, redis_url, ("rate_limit",))
    yield from times.at_most(subject, "VA114", ("budget",), "default", "max")
