"""Doing what a help line says ends the finding and leads to no other of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyctl.diagnostics import Diagnostic
from policyctl.lint.testing import lint_yaml, operation_yaml

TIMES = ("TB003", "TB004", "TB005")
_SETTING = re.compile(
    r"(attempt_timeout|budget|max_attempts): ([0-9.]+[a-z]*(?:[0-9.]+[a-z]+)*)"
)


def policy(values: dict[str, str]) -> str:
    """An operation with these numbers."""
    wait = values["wait"]
    bulkhead = f"bulkhead: {{max_concurrent: 5, max_wait: {wait}}}\n" if wait else ""
    return operation_yaml(
        "transport: http\nidempotent: true\n"
        f"facts: {{latency: {{p99: {values['p99']}}}}}\n"
        f"attempt_timeout: {values['attempt_timeout']}\nbudget: {values['budget']}\n"
        f"{bulkhead}"
        f"retry: {{max_attempts: {values['max_attempts']}, "
        f"backoff: {{initial: {values['initial']}, multiplier: 2, max: 5s}}}}"
    )


def found(values: dict[str, str]) -> list[Diagnostic]:
    """The findings about times."""
    text = policy(values)
    return [d for code in TIMES for d in lint_yaml(text, code)]


def remedies(help_line: str) -> Iterator[dict[str, str]]:
    """The alternatives of a help line, each with the settings that it names."""
    for way in help_line.split(", or "):
        settings_ = dict(_SETTING.findall(way))
        if settings_:
            yield settings_


@pytest.mark.parametrize(
    ("attempt", "budget", "p99", "code", "help_line"),
    [
        ("3s", "10s", "4s", "TB005", "set attempt_timeout: 4.9s"),
        ("3s", "100s", "4s", "TB005", "set attempt_timeout: 12s"),
        (
            "3s",
            "8s",
            "4s",
            "TB005",
            "set attempt_timeout: 12s and budget: 25s, which 2 such attempts need",
        ),
        (
            "9s",
            "8s",
            "1s",
            "TB003",
            "set attempt_timeout: 3.9s or less, or budget: 19s",
        ),
        (
            "9s",
            "8s",
            "5s",
            "TB003",
            (
                "set budget: 19s, or lower max_attempts: with attempts of 3.9s, which "
                "fit, healthy calls would time out"
            ),
        ),
    ],
)
def test_advice_looks_at_the_other_numbers(
    attempt: str, budget: str, p99: str, code: str, help_line: str
) -> None:
    """Worked out by hand: 2 t + 100 ms of back-off fit into the budget."""
    values = {
        "attempt_timeout": attempt,
        "budget": budget,
        "p99": p99,
        "max_attempts": "2",
        "initial": "100ms",
        "wait": "",
    }
    texts = {d.code: d.help for d in found(values)}
    assert texts[code] == help_line


def test_advice_for_one_attempt_looks_at_the_tail() -> None:
    """A budget below the p99 is raised; the timeout is not cut below it."""
    values = {
        "attempt_timeout": "200ms",
        "budget": "100ms",
        "p99": "200ms",
        "max_attempts": "1",
        "initial": "100ms",
        "wait": "",
    }
    assert [d.help for d in found(values)] == [
        "set budget: 200ms: healthy calls may last longer than 100ms"
    ]
    assert found({**values, "budget": "200ms"}) == []
    assert [d.help for d in found({**values, "p99": "100ms"})] == [
        "set attempt_timeout: 100ms or less"
    ]


@settings(max_examples=15, deadline=None)
@given(
    attempt=st.integers(1, 400),
    budget=st.integers(1, 400),
    p99=st.integers(1, 400),
    attempts=st.integers(1, 5),
    initial=st.integers(0, 30),
    wait=st.sampled_from(["", "100ms", "2s"]),
)
def test_every_remedy_holds(
    attempt: int, budget: int, p99: int, attempts: int, initial: int, wait: str
) -> None:
    """What a rule about times proposes, in any of its ways, is clean for all three."""
    values = {
        "attempt_timeout": f"{attempt}00ms",
        "budget": f"{budget}00ms",
        "p99": f"{p99}00ms",
        "max_attempts": str(attempts),
        "initial": f"{initial}00ms",
        "wait": wait,
    }
    findings = found(values)
    before = {d.code for d in findings}
    for finding in findings:
        for remedy in remedies(finding.help or ""):
            after = {d.code for d in found({**values, **remedy})}
            assert finding.code not in after, (values, finding.help, remedy)
            assert after <= before, (values, finding.help, remedy)


LIMITED = """\
version: 1
service: svc
owner: o
facts: {capacity: 100/s}
redis: {url_env: REDIS_URL}
operations:
  a:
    transport: http
    idempotent: true
    attempt_timeout: 1s
    budget: 60s
    rate_limit: {rate: 25/s%s}
    retry: {max_attempts: 10}
    facts: {rate: 20/s, callers: %d}
"""


@pytest.mark.parametrize("code", ["RT006", "GR005"])
@pytest.mark.parametrize(
    ("limit", "callers", "count"),
    [
        ("", 1, 0),
        ("", 3, 0),
        ("", 4, 1),
        (", mode: observe", 1, 1),
        (", store: redis", 4, 0),
    ],
)
def test_a_rate_limit_bounds_retries(
    code: str, limit: str, callers: int, count: int
) -> None:
    """25 attempts/s of each process, or of all where they share it, against 100/s."""
    assert len(lint_yaml(LIMITED % (limit, callers), code)) == count
