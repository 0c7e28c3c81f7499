"""TB008: waits for slots, tokens and connections that break the budget."""

from __future__ import annotations

import pytest

from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml

HEAD = "transport: http\nidempotent: true\n"


@pytest.mark.boundary
@pytest.mark.parametrize(("wait", "count"), [("499ms", 0), ("500ms", 1), ("2s", 1)])
def test_wait_against_the_attempt(wait: str, count: int) -> None:
    """A wait as long as the attempt is too long."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 500ms\nbudget: 30s\n"
        f"bulkhead: {{max_concurrent: 2, max_wait: {wait}}}"
    )
    assert len(lint_yaml(text, "TB008")) == count


def test_message_and_place() -> None:
    """The wait is the place; the advice is a tenth of the attempt."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 500ms\nbudget: 5s\n"
        "bulkhead: {max_concurrent: 2, max_wait: 2s}"
    )
    (found,) = lint_yaml(text, "TB008")
    assert found.message == "each attempt may wait 2s before its 500ms begin"
    assert found.help == "keep the waits to 50ms in all"
    assert (found.span.line, found.span.column) == (10, 45)


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "count"),
    [("2099ms", 0), ("2100ms", 1), ("3899ms", 1), ("3900ms", 0)],
)
def test_waits_alone_break_the_budget(budget: str, count: int) -> None:
    """2 x 1 s + 0.1 s fit from 2.1 s on; with 2 x 0.9 s of waits from 3.9 s on."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: {budget}\nretry: {{max_attempts: 2}}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 500ms}\n"
        "rate_limit: {rate: 5/s, max_wait: 400ms}"
    )
    assert len(lint_yaml(text, "TB008")) == count


def test_sum_of_all_waits() -> None:
    """2 attempts take 2.1 s, and 3.9 s with waits of 0.9 s each."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: 3s\nretry: {{max_attempts: 2}}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 500ms}\n"
        "rate_limit: {rate: 5/s, max_wait: 400ms}"
    )
    (found,) = lint_yaml(text, "TB008")
    assert found.message == (
        "2 attempts without waits: 2.1s of 3s, but 3.9s with waits of up to 900ms each"
    )
    assert found.policy_path.endswith("bulkhead.max_wait")


SHOP = (
    "---\nversion: 1\nservice: shop\nowner: s\ncalls: [{to: payment_api.charge}]\n"
    "facts: {pool: {max: 10%s}}\n"
)


@pytest.mark.boundary
@pytest.mark.parametrize(("acquire", "count"), [("999ms", 0), ("1s", 1)])
def test_wait_for_a_connection_of_the_caller(acquire: str, count: int) -> None:
    """The caller's pool counts: 1 s for a connection before an attempt of 1 s."""
    text = operation_yaml(f"{HEAD}attempt_timeout: 1s\nbudget: 5s")
    found = lint_yaml(text + SHOP % f", acquire_timeout: {acquire}", "TB008")
    assert [d.message for d in found] == [
        "each attempt may wait 1s before its 1s begin"
    ] * count
    assert lint_yaml(text, "TB008") == []


@pytest.mark.missing_facts
def test_missing_acquire_timeout_is_named() -> None:
    """A caller with a pool waits for a connection, for nobody knows how long."""
    text = operation_yaml(f"{HEAD}attempt_timeout: 1s\nbudget: 5s")
    result = run_yaml(text + SHOP % "", "TB008")
    assert result.diagnostics == ()
    assert [skip.fact for skip in result.coverage.skipped] == [
        "shop.facts.pool.acquire_timeout"
    ]
    assert run_yaml(text, "TB008").coverage.skipped == ()


def test_sums_of_decimals_that_are_equal() -> None:
    """0.7 s and 0.1 s are as long as 0.8 s, though their floats add up to less."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 800ms\nbudget: 30s\n"
        "bulkhead: {max_concurrent: 2, max_wait: 700ms}\n"
        "rate_limit: {rate: 5/s, max_wait: 100ms}"
    )
    assert len(lint_yaml(text, "TB008")) == 1


def test_wait_of_a_preset_is_shown_there() -> None:
    """An inherited wait is a related place."""
    preset = (
        "version: 1\npreset: patient\ndefaults:\n"
        "  bulkhead: {max_concurrent: 2, max_wait: 2s}\n"
    )
    text = operation_yaml(f"{HEAD}attempt_timeout: 1s", service="extends: [patient]")
    (found,) = lint_yaml(text, "TB008", files={"patient.yaml": preset})
    assert str(found.related[0].span) == "patient.yaml:4:43"


@pytest.mark.boundary
@pytest.mark.parametrize(("budget", "count"), [("1500ms", 0), ("1499ms", 1)])
def test_the_wait_of_a_single_attempt(budget: str, count: int) -> None:
    """1 s after a wait of 0.5 s are 1.5 s; 0.1 s of waiting would be left over."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: {budget}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 500ms}"
    )
    found = lint_yaml(text, "TB008")
    assert [(d.message, d.help) for d in found] == [
        (
            (
                "1 attempt without waits: 1s of 1.499s, but 1.5s with waits of up to 500ms "
                "each"
            ),
            "keep the waits to 100ms in all",
        )
    ] * count


@pytest.mark.parametrize(
    ("attempt", "budget", "retry"),
    [("500ms", "500ms", "off"), ("1100ms", "2300ms", "{max_attempts: 2}")],
)
def test_no_wait_fits_where_attempts_take_all(
    attempt: str, budget: str, retry: str
) -> None:
    """500 ms of 500 ms; 2 x 1.1 s + 0.1 s of 2.3 s, whatever their floats leave over."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: {attempt}\nbudget: {budget}\nretry: {retry}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 400ms}"
    )
    (found,) = lint_yaml(text, "TB008")
    assert found.help == "no wait fits: shorten attempt_timeout, or raise the budget"
    assert found.fix is None


@pytest.mark.parametrize(
    ("settings", "help"),
    [
        ("budget: 520ms", "keep the waits to 20ms in all"),
        ("budget: 5s", "keep the waits to 50ms in all"),
        ("idempotent: true", "keep the waits to 50ms in all"),
        ("budget: {inherit: true}", "keep the waits to 50ms in all"),
        ("budget: 499ms", "keep the waits to 50ms in all"),
    ],
)
def test_advice_for_a_single_attempt(settings: str, help: str) -> None:
    """A tenth of 500 ms, or the 20 ms that a budget of 520 ms leaves."""
    text = operation_yaml(
        f"transport: http\nattempt_timeout: 500ms\n{settings}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 2s}"
    )
    (found,) = lint_yaml(text, "TB008")
    assert found.help == help
    assert found.fix is not None
    assert [edit.text for edit in found.fix.edits] == [help.split()[4]]


@pytest.mark.parametrize(
    ("settings", "service"),
    [
        ("attempt_timeout: 1s", ""),
        ("attempt_timeout: 1s\nbudget: {inherit: true}", ""),
        ("attempt_timeout: {connect: 1s}\nbudget: 2s", ""),
        ("budget: 2s", ""),
        (
            "attempt_timeout: 1s\nbudget: 2s\nretry: {max_attempts: unlimited}",
            "class: control_loop",
        ),
    ],
)
def test_nothing_to_break(settings: str, service: str) -> None:
    """Without a timeout, a budget or a last attempt half a second breaks nothing."""
    text = operation_yaml(
        f"{HEAD}bulkhead: {{max_concurrent: 2, max_wait: 500ms}}\n{settings}", service
    )
    assert lint_yaml(text, "TB008") == []


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("budget", "help"),
    [
        ("2101ms", "no wait fits: shorten attempt_timeout, or raise the budget"),
        ("2102ms", "keep the waits to 1ms in all"),
        ("2100ms", "no wait fits: shorten attempt_timeout, or raise the budget"),
        ("2150ms", "keep the waits to 25ms in all"),
        ("2298ms", "keep the waits to 99ms in all"),
        ("2300ms", "keep the waits to 100ms in all"),
        ("3s", "keep the waits to 100ms in all"),
    ],
)
def test_advice_fits_the_budget(budget: str, help: str) -> None:
    """Two attempts leave (D - 2.1 s) / 2 for each wait, a tenth of 1 s at most."""
    text = operation_yaml(
        f"{HEAD}attempt_timeout: 1s\nbudget: {budget}\nretry: {{max_attempts: 2}}\n"
        "bulkhead: {max_concurrent: 2, max_wait: 500ms}"
    )
    (found,) = lint_yaml(text, "TB008")
    assert found.help == help
    assert (found.fix is None) == help.startswith("no wait")
