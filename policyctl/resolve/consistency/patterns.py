"""Patterns that exclude each other, or that say nothing."""

from __future__ import annotations

from collections.abc import Iterator

from policyctl.diagnostics import Diagnostic
from policyctl.resolve.consistency.context import Context
from policyctl.resolve.defaults import REMOTE
from policyctl.resolve.findings import Subject

_TRIP_RULES = ("failure_threshold", "failure_ratio", "slow_call")
_CONDITIONS = ("retry_on", "retry_on_status", "retry_if", "retry_if_result")


def check(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    """Check how the patterns of an operation go together."""
    yield from _hedge(subject)
    yield from _stream(subject)
    yield from _retry_conditions(subject)
    yield from _unlimited(subject, context)
    yield from _trip_rule(subject)


def _hedge(subject: Subject) -> Iterator[Diagnostic]:
    tree = subject.tree
    if not tree.has("hedge"):
        return
    if tree.has("retry"):
        yield subject.error(
            "VA112",
            "hedge and retry cannot be combined: both start further attempts",
            ("hedge",),
            help="keep one of them and write off for the other",
            related=[subject.related(("retry",), "the retry")],
        )
    if tree.get("idempotent") is not True:
        stated = "idempotent" in tree.entries
        what = "idempotent is false" if stated else "idempotent is not stated"
        yield subject.error(
            "VA113",
            f"hedge starts a call twice, but {what}",
            ("hedge",),
            help="add idempotent: true if calling twice does no harm, else remove hedge",
            related=[subject.related(("idempotent",), what)] if stated else [],
        )


def _stream(subject: Subject) -> Iterator[Diagnostic]:
    tree = subject.tree
    if tree.get("kind") == "stream":
        for pattern in ("hedge", "idempotency"):
            if tree.has(pattern):
                yield subject.error(
                    "VA116",
                    f"a stream cannot have {pattern}",
                    (pattern,),
                    help=f"remove {pattern}, or write {pattern}: off",
                    related=[subject.related(("kind",), "kind is stream")],
                )
        return
    timeout = tree.block("attempt_timeout")
    for key in ("first_item", "idle"):
        if timeout is not None and timeout.has(key):
            stated = "kind" in tree.entries
            yield subject.error(
                "VA117",
                f"{key} bounds the waits of a stream, but this operation is unary",
                ("attempt_timeout", key),
                help=f"add kind: stream, or remove {key}",
                related=[subject.related(("kind",), "kind is unary")] if stated else [],
            )


def _retry_conditions(subject: Subject) -> Iterator[Diagnostic]:
    retry = subject.tree.block("retry")
    if retry is None or retry.get("max_attempts") == 1:
        return
    if any(retry.get(key) for key in _CONDITIONS):
        return
    transport = subject.tree.get("transport")
    why = ""
    if transport not in REMOTE:
        why = f" and transport {transport or 'is absent, which'} has no default"
    yield subject.error(
        "VA119",
        f"retry does not say what to retry{why}",
        ("retry",),
        help="add retry_on, for example [not_sent], or say which transport it is",
    )


def _unlimited(subject: Subject, context: Context) -> Iterator[Diagnostic]:
    retry = subject.tree.block("retry")
    if retry is None or retry.get("max_attempts") != "unlimited":
        return
    if context.service_class != "control_loop":
        yield subject.error(
            "VA120",
            f"max_attempts is unlimited in a service of class {context.service_class}",
            ("retry", "max_attempts"),
            help="write a number, for example 3; unlimited is for class: control_loop alone",
        )


def _trip_rule(subject: Subject) -> Iterator[Diagnostic]:
    breaker = subject.tree.block("circuit_breaker")
    if breaker is None or any(breaker.has(rule) for rule in _TRIP_RULES):
        return
    yield subject.error(
        "VA125",
        "circuit_breaker has no rule left that opens it",
        ("circuit_breaker",),
        help="set failure_threshold, failure_ratio or slow_call, or write circuit_breaker: off",
    )
