"""GR005: services whose planned load is beyond the load that they recover from."""

from __future__ import annotations

import pytest

from policyctl.diagnostics import Severity
from policyctl.lint.testing import lint_yaml, operation_yaml, run_yaml


def policy(
    capacity: str = "600/s", service: str = "", facts: str = "{rate: 240/s}"
) -> str:
    """240/s with three attempts each."""
    return operation_yaml(
        f"transport: http\nidempotent: true\nfacts: {facts}\nretry: {{max_attempts: 3}}",
        f"facts: {{capacity: {capacity}, source: load test 41}}\n{service}",
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("720/s", 1), ("721/s", 0)])
def test_boundary(capacity: str, count: int) -> None:
    """240/s x 3 just reach 720/s."""
    assert len(lint_yaml(policy(capacity), "GR005")) == count


def test_message_and_advice() -> None:
    """600/s / 3 = 200/s; 0.9 x 600 / 240 = 2.25 attempts are allowed."""
    (found,) = lint_yaml(policy(), "GR005")
    assert found.message == (
        "240/s planned, but overloaded payment_api recovers only below 200/s: capacity "
        "600/s / 3 attempts (capacity from load test 41)"
    )
    assert found.help is not None
    assert "below 2.25 attempts for each first try" in found.help
    assert found.policy_path == "payment_api.facts.capacity"


def test_critical_services_are_an_error() -> None:
    """What matters most must come back by itself."""
    (found,) = lint_yaml(policy(service="critical: true"), "GR005")
    assert found.severity is Severity.ERROR


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("rate", "help"),
    [
        (
            "539/s",
            (
                "bound retries so that there are below 1.002 attempts for each first try, "
                "with a retry budget or fewer attempts: together 90% of capacity"
            ),
        ),
        ("540/s", "add capacity: first tries alone use 90% of it"),
        ("560/s", "add capacity: first tries alone use 93.33% of it"),
    ],
)
def test_no_retry_can_help_where_first_tries_fill_it(rate: str, help: str) -> None:
    """540/s are 90 % of 600/s; 0.9 x 600 / 539 = 1.0019."""
    (found,) = lint_yaml(policy(facts=f"{{rate: {rate}}}"), "GR005")
    assert found.help == help


def test_a_cache_takes_its_hits_away() -> None:
    """Of 2,400/s with 90 % hits, 240/s reach the service."""
    text = policy(facts="{rate: 2400/s}").replace(
        "source: load test 41", "cache: {hit_ratio: 90%}"
    )
    (found,) = lint_yaml(text, "GR005")
    assert found.message.startswith("240/s planned")


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("stated", "lacking"),
    [
        ("rate: 240/s", "operations.charge.facts.rate"),
        ("capacity: 600/s, ", "facts.capacity"),
    ],
)
def test_missing_facts_are_named(stated: str, lacking: str) -> None:
    """Without rates the load is unknown, without capacity what it is compared with."""
    result = run_yaml(policy().replace(stated, "", 1), "GR005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == [f"payment_api.{lacking}"]


@pytest.mark.missing_facts
@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ("transport: local\nretry: {max_attempts: 2, retry_on: [OSError]}", 0),
        ("transport: http\nretry: {max_attempts: 1}", 0),
        ("transport: http\nretry: {max_attempts: 2}", 1),
        ("transport: http\nfacts: {rate: 9/s}", 0),
        ("transport: http\nidempotent: true\nhedge: {delay: 1s}", 1),
    ],
)
def test_capacity_is_asked_for_where_it_matters(settings: str, count: int) -> None:
    """Where retries or hedges could hide some of it, and not of work in the process."""
    result = run_yaml(operation_yaml(settings), "GR005")
    assert result.diagnostics == ()
    assert [s.fact for s in result.coverage.skipped] == (
        ["payment_api.facts.capacity"] * count
    )


@pytest.mark.boundary
@pytest.mark.parametrize(("instances", "count"), [(1, 0), (2, 1), (10, 1), (11, 0)])
def test_one_instance_lost(instances: int, count: int) -> None:
    """240/s x 3 = 720/s reach 9/10 of 800/s, and not 10/11 of it."""
    text = policy("800/s").replace("source:", f"instances: {instances}, source:")
    found = lint_yaml(text, "GR005")
    assert [d.severity for d in found] == [Severity.INFO] * count
    if instances == 10:
        assert found[0].message == (
            "with one of 10 instances lost, 240/s x 3 attempts = 720/s reach what is left "
            "of the capacity, 720/s"
        )


@pytest.mark.boundary
@pytest.mark.parametrize(
    ("settings", "attempts"),
    [
        ("retry: {budget: {ratio: 10%, refill: request, floor: 0/s}}", 264),
        ("retry: {budget: {ratio: 10%, refill: success, floor: 0/s}}", 240),
        ("retry: {budget: {ratio: 10%, refill: success, floor: 12/s}}", 288),
        ("retry: {budget: {ratio: 10%, refill: request, floor: 12/s}}", 312),
        ("retry: {max_attempts: 2, budget: {ratio: 100%, refill: request}}", 480),
        ("retry: {max_attempts: 1}", 240),
        ("hedge: {delay: 100ms, budget: 5%}", 252),
    ],
)
def test_budgets_bound_what_everything_failing_makes(
    settings: str, attempts: int
) -> None:
    """240/s x 1.1; no refill while all fail; 4 x 12/s on top; at most 2 attempts; 5 %."""
    facts = "facts: {rate: 240/s, callers: 4}"
    for capacity, count in ((attempts, 1), (attempts + 1, 0)):
        text = operation_yaml(
            f"transport: http\nidempotent: true\n{facts}\n{settings}",
            f"facts: {{capacity: {capacity}/s}}",
        )
        assert len(lint_yaml(text, "GR005")) == count


@pytest.mark.boundary
@pytest.mark.parametrize(("capacity", "count"), [("1440/s", 1), ("1441/s", 0)])
def test_layers_in_front_multiply(capacity: str, count: int) -> None:
    """240/s x 3 x 2 attempts of a mesh are 1,440/s."""
    mesh = "layers: [{name: mesh, max_attempts: 2}]"
    text = policy(capacity).replace("source: load test 41", mesh)
    assert len(lint_yaml(text, "GR005")) == count


def chain(
    rate: str = "100/s",
    capacity: str = "capacity: 300/s",
    retry_on: str = "[timeout]",
    inner: str = "",
) -> str:
    """web calls api with three attempts, api calls store once, or with ``inner``."""
    return f"""\
version: 1
service: web
operations: {{page: {{transport: local, facts: {{rate: {rate}}}, calls: [{{to: api.load}}]}}}}
---
version: 1
service: api
operations:
  load:
    transport: http
    idempotent: true
    retry: {{max_attempts: 3, retry_on: {retry_on}, retry_on_status: []}}
    calls: [{{to: store.read}}]
---
version: 1
service: store
facts: {{{capacity}}}
operations: {{read: {{transport: http, idempotent: true{inner}}}}}
"""


@pytest.mark.boundary
@pytest.mark.parametrize(("rate", "count"), [("100/s", 1), ("99/s", 0)])
def test_retries_further_up_arrive_too(rate: str, count: int) -> None:
    """The calls of the store are not retried, but web repeats what leads to them."""
    assert len(lint_yaml(chain(rate), "GR005")) == count


def test_message_of_a_path() -> None:
    """3 attempts of web and 2 of api make 6 at the store: 300/s / 6 = 50/s."""
    (one,) = lint_yaml(chain(), "GR005")
    assert one.message == (
        "100/s planned, but overloaded store recovers only below 100/s: capacity 300/s / "
        "3 attempts, with web.page 3 on one path"
    )
    (two,) = lint_yaml(chain(inner=", retry: {max_attempts: 2}"), "GR005")
    assert two.message == (
        "100/s planned, but overloaded store recovers only below 50/s: capacity 300/s / "
        "6 attempts, with web.page 3 x api.load 2 on one path"
    )


def test_long_paths_are_told_by_their_end() -> None:
    """Of eight hops that try twice, those of clients outside included, five are named."""
    (found,) = lint_yaml(line(8, "1280/s"), "GR005")
    assert found.message == (
        "10/s planned, but overloaded s7 recovers only below 5/s: capacity 1280/s / 256 "
        "attempts, with ... x s2.go 2 x s3.go 2 x s4.go 2 x s5.go 2 x s6.go 2 on one path"
    )


def line(length: int, capacity: str) -> str:
    """So many services in a row, each with two attempts; the last has the capacity."""
    texts = [
        f"version: 1\nservice: s{n}\noperations:\n  go:\n    transport: http\n"
        "    idempotent: true\n    retry: {max_attempts: 2}\n"
        + (f"    calls: [{{to: s{n + 1}.go}}]\n" if n < length - 1 else "")
        + ("    facts: {rate: 10/s}\n" if n == 0 else "")
        for n in range(length)
    ]
    texts[-1] += f"facts: {{capacity: {capacity}}}\n"
    return "---\n".join(texts)


def test_paths_beyond_all_numbers() -> None:
    """2^1199 attempts are about 10^361, which no float holds: nothing recovers."""
    (found,) = lint_yaml(line(1199, "1280/s"), "GR005")
    assert found.message == (
        "10/s planned, but overloaded s1198 does not recover by itself: capacity 1280/s "
        "/ about 10^361 attempts, with ... x s1193.go 2 x s1194.go 2 x s1195.go 2 x "
        "s1196.go 2 x s1197.go 2 on one path"
    )


def test_retries_that_repeat_nothing_do_not_count() -> None:
    """Who tries again only what was not sent sends the store nothing twice."""
    assert lint_yaml(chain(retry_on="[not_sent]"), "GR005") == []


@pytest.mark.missing_facts
def test_capacity_below_retrying_callers_is_missing() -> None:
    """The store's capacity would let the rule look at what arrives along the path."""
    result = run_yaml(chain(capacity=""), "GR005")
    facts = [s.fact for s in result.coverage.skipped]
    assert "store.facts.capacity" in facts
    quiet = run_yaml(chain(capacity="", retry_on="[not_sent]"), "GR005")
    assert "store.facts.capacity" not in [s.fact for s in quiet.coverage.skipped]
