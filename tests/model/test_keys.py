"""Unknown keys: misspelt, misplaced, or the words of another system."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from policyctl.model.foreign import FOREIGN, fold_key, foreign
from policyctl.model.service import PresetModel, ServiceModel
from policyctl.model.shape import Shape, shape_of
from policyctl.model.validate import Parsed

Found = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("settings", "finding"),
    [
        ("retri: {}", "1:1 unknown-key: unknown key `retri` in operation charge; did you mean retry?"),
        ("Retry: {}", "1:1 unknown-key: unknown key `Retry` in operation charge; did you mean retry?"),
        ("circuitBreaker: {}", "1:1 unknown-key: unknown key `circuitBreaker` in operation charge; did you mean circuit_breaker?"),
        ("circuit-breaker: {}", "1:1 unknown-key: unknown key `circuit-breaker` in operation charge; did you mean circuit_breaker?"),
        ("attemptTimeout: 5s", "1:1 unknown-key: unknown key `attemptTimeout` in operation charge; did you mean attempt_timeout?"),
        ("retry: {max_atempts: 3}", "1:9 unknown-key: unknown key `max_atempts` in retry; did you mean max_attempts?"),
        ("retry: {maxAttempts: 3}", "1:9 unknown-key: unknown key `maxAttempts` in retry; did you mean max_attempts?"),
        ("retry: {maxAttempts: 3, max_attempts: 3}", "1:9 unknown-key: unknown key `maxAttempts` in retry; remove it: max_attempts is there already"),
        ("bulkhead: {max_concurent: 3}", "1:12 unknown-key: unknown key `max_concurent` in bulkhead; did you mean max_concurrent?"),
        ("hedge: {qqq: 3}", "1:9 unknown-key: unknown key `qqq` in hedge; known keys are budget, delay, max_hedges"),
        ("circuit_breaker: {qqq: 3}", "1:19 unknown-key: unknown key `qqq` in circuit_breaker; remove it, or write x- before it to keep it as a note"),
    ],
)  # fmt: skip
def test_a_misspelt_key_is_told_the_nearest(
    settings: str, finding: str, found_in: Found
) -> None:
    """The nearest key of the same block is named, or what there is."""
    assert found_in(settings) == [finding]


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ("max_attempts: 3", "max_attempts belongs under retry"),
        ("retry: {attempt_timeout: 3s}", "attempt_timeout belongs under defaults, or in an operation"),
        ("retry: {failure_threshold: 3}", "failure_threshold belongs under circuit_breaker"),
        ("retry: {initial: 1s}", "initial belongs under retry.backoff, or under circuit_breaker.recovery_timeout, or under redelivery"),
        ("retry: {maxConcurrent: 3}", "max_concurrent belongs under bulkhead, or under inbound.bulkhead"),
        ("queues: {}", "queues belongs at the top of a service document"),
        ("max_size: 3", "max_size belongs in a queue, or under dead_letter"),
    ],
)  # fmt: skip
def test_a_misplaced_key_is_told_its_place(
    settings: str, hint: str, parse: Callable[[str], Parsed]
) -> None:
    """A key that exists elsewhere is told where."""
    text = f"version: 1\nservice: pay\noperations:\n  charge:\n    {settings}\n"
    (finding,) = parse(text).diagnostics
    assert (finding.name, finding.help) == ("misplaced-key", hint)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ("timeout: 3s", "say attempt_timeout (one attempt) or budget (the whole call)"),
        ("deadline: 3s", "say budget"),
        ("retries: 3", "say retry.max_attempts, which counts the first attempt too: retries + 1"),
        ("breaker: {}", "say circuit_breaker"),
        ("bulkheads: {}", "say bulkhead"),
        ("retry: {maxRetries: 3}", "say retry.max_attempts, which counts the first attempt too: retries + 1"),
        ("retry: {max_retries: 3}", "say retry.max_attempts, which counts the first attempt too: retries + 1"),
        ("retry: {num_retries: 3}", "say retry.max_attempts, which counts the first attempt too: retries + 1"),
        ("retry: {perTryTimeout: 3s}", "say attempt_timeout, beside retry"),
        ("retry: {waitDuration: 3s}", "say retry.backoff.initial"),
        ("retry: {on: [timeout]}", "say retry_on (exceptions and conditions) or retry_on_status (statuses)"),
        ("retry: {backoff: {factor: 2}}", "say multiplier"),
        ("retry: {backoff: {base: 1s}}", "say initial"),
        ("circuit_breaker: {waitDuration: 3s}", "say circuit_breaker.recovery_timeout"),
        ("circuit_breaker: {timeout: 3s}", "say circuit_breaker.recovery_timeout"),
        ("circuit_breaker: {failureRateThreshold: 50}", "say circuit_breaker.failure_ratio, for example 50%"),
        ("circuit_breaker: {interval: 3s}", "say circuit_breaker.window, for example 30s or 100 calls"),
        ("bulkhead: {maxConcurrentCalls: 3}", "say bulkhead.max_concurrent"),
        ("bulkhead: {timeout: 3s}", "say bulkhead.max_wait"),
        ("facts: {rps: 3}", "say rate, for example 40/s"),
    ],
)  # fmt: skip
def test_the_words_of_other_systems_are_translated(
    settings: str, hint: str, parse: Callable[[str], Parsed]
) -> None:
    """A name that another system uses is told what it is called here."""
    text = f"version: 1\nservice: pay\noperations:\n  charge:\n    {settings}\n"
    (finding,) = parse(text).diagnostics
    assert (finding.name, finding.help) == ("foreign-key", hint)


def shapes(shape: Shape) -> Iterator[Shape]:
    """A shape and all below it."""
    yield shape
    for child in shape.keys.values():
        yield from shapes(child)
    if shape.item is not None:
        yield from shapes(shape.item)


def test_the_table_of_foreign_names_is_in_order() -> None:
    """Names are folded, there are more than sixty, and no hint is without a remedy."""
    assert len(FOREIGN) > 60
    assert all(fold_key(name) == name for name in FOREIGN)
    verbs = ("say ", "there is no", "write one service")
    hints = [hint for hints in FOREIGN.values() for hint in hints.values()]
    assert [hint for hint in hints if not hint.startswith(verbs)] == []


def test_hints_name_keys_that_exist() -> None:
    """Dotted paths in hints lead to keys of the language."""
    operation = shape_of(ServiceModel).keys["operations"].item
    assert operation is not None
    facts = {"facts": shape_of(ServiceModel).keys["facts"]}
    keys = {**operation.keys, **facts}
    for hints in FOREIGN.values():
        for hint in hints.values():
            for word in hint.replace(":", " ").replace(",", " ").split():
                first, _, rest = word.rstrip("?").partition(".")
                if rest and first in keys and rest[0].isalpha():
                    shape = keys[first]
                    for part in rest.split("."):
                        assert part in shape.keys, hint
                        shape = shape.keys[part]


def test_own_keys_are_never_called_foreign_in_their_own_block() -> None:
    """A key of a block is not translated into something else."""
    for model in (ServiceModel, PresetModel):
        for shape in shapes(shape_of(model)):
            for name in shape.keys:
                hint = foreign(name, "")
                assert hint is None or name in hint or FOREIGN[fold_key(name)].get("")


def test_a_misspelt_key_can_be_renamed(parse: Callable[[str], Parsed]) -> None:
    """The fix edits the key alone and is a suggestion, not a safe fix."""
    text = "version: 1\nservice: pay\noperations: {charge: {'retri': {}}}\n"
    (finding,) = parse(text).diagnostics
    assert finding.fix is not None
    assert not finding.fix.safe
    (edit,) = finding.fix.edits
    mended = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert parse(mended).diagnostics == ()


@pytest.mark.parametrize("name", ["a" * 5000, "\\e[31m", "a.b", "a b", "3", "é", ""])
def test_strange_keys_are_shown_safely(
    name: str, parse: Callable[[str], Parsed]
) -> None:
    """Long, coloured, dotted, spaced, numeric and empty keys have one short finding."""
    text = f'version: 1\nservice: pay\noperations: {{charge: {{? "{name}" : 1}}}}\n'
    (finding,) = parse(text).diagnostics
    assert finding.name == "unknown-key"
    assert len(finding.message) < 120
    assert "\x1b" not in finding.message
