"""``policyctl explain``: rules, resolved values with origins, worst cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.lint.registry import all_rules

Run = Callable[..., Any]
Write = Callable[[str, str], Path]

POLICY = """\
version: 1
service: shop_api
owner: shop
extends: [http-client]
operations:
  buy:
    idempotent: true
    facts: {rate: 10/s, callers: 3}
    attempt_timeout: 3s
    budget: 7s
    retry: {max_attempts: 4, retry_after: off}
    bulkhead: {max_concurrent: 5, max_wait: 500ms}
"""


def test_every_rule_explains_itself(run_cli: Run) -> None:
    """Each rule's page shows code, name, both examples and a reference, by code or name."""
    for rule in all_rules():
        page = run_cli("explain", rule.code)
        assert page.code == 0
        head = page.out.splitlines()[0]
        assert head == f"{rule.code} {rule.name} ({rule.severity.label})"
        assert "\nBad\n" in page.out
        assert "\nGood\n" in page.out
        assert run_cli("explain", rule.name).out == page.out


def test_a_rule_as_json_has_the_fields_of_the_list(run_cli: Run) -> None:
    """``explain --format json`` is one entry of ``rules --format json``."""
    listed = json.loads(run_cli("rules", "--format", "json").out)
    one = json.loads(run_cli("explain", "RT001", "--format", "json").out)
    assert one == {
        "version": 1,
        "rules": [rule for rule in listed["rules"] if rule["code"] == "RT001"],
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RT991", "error: there is no rule RT991\n"),
        ("rt01", "error: there is no rule, service or operation rt01\n"),
        (
            "no-jiter",
            "error: there is no rule no-jiter\n  help: did you mean no-jitter?\n",
        ),
        ("VA007", "error: VA007 invalid-duration is part of validation, not a rule"),
        (
            "shop_api.bye",
            "error: there is no rule, service or operation shop_api.bye\n  help: did you mean shop_api.buy?\n",
        ),
        (
            "shop_ap",
            "error: there is no rule, service or operation shop_ap\n  help: did you mean shop_api?\n",
        ),
    ],
)
def test_what_does_not_exist_gets_the_nearest(
    run_cli: Run, write: Write, name: str, message: str
) -> None:
    """Unknown names are exit 2 with a suggestion."""
    write("policies/shop.yaml", POLICY)
    outcome = run_cli("explain", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(message)


def settings(out: str) -> dict[str, tuple[str, str]]:
    """The value and origin of each setting of a page."""
    rows = (line.split("  ") for line in out.splitlines() if line.startswith("  "))
    cells = ([cell.strip() for cell in row if cell.strip()] for row in rows)
    return {row[0]: (row[1], row[2]) for row in cells if len(row) == 3}


def test_every_value_has_its_origin(run_cli: Run, write: Write) -> None:
    """The document, the preset and the built-in defaults are told apart."""
    write("policies/shop.yaml", POLICY)
    outcome = run_cli("explain", "shop_api.buy")
    assert outcome.code == 0
    found = settings(outcome.out)
    assert found["idempotent"] == ("true", "policies/shop.yaml:7:17")
    assert found["attempt_timeout.total"] == ("3s", "policies/shop.yaml:9:22")
    assert found["attempt_timeout.sync"] == ("thread", "built-in default")
    assert found["transport"] == ("http", "preset http-client")
    assert found["retry.max_attempts"] == ("4", "policies/shop.yaml:11:27")
    assert found["retry.backoff.initial"] == ("100ms", "preset http-client")
    assert found["bulkhead.max_queue"] == ("5", "built-in default")
    assert found["circuit_breaker.recovery_timeout.jitter"][0] == "20%"
    assert "retry.retry_after.max" not in found


def test_the_order_is_that_of_the_contract(run_cli: Run, write: Write) -> None:
    """C1: the patterns that are on, outermost first."""
    write("policies/shop.yaml", POLICY)
    page = run_cli("explain", "shop_api.buy").out
    order = "budget > retry > circuit_breaker > bulkhead > attempt_timeout > call"
    assert f"  order, outermost first: {order}\n" in page


def test_the_worst_case_is_worked_out(run_cli: Run, write: Write) -> None:
    """Four attempts of 3 s after 0.5 s for a slot, cut by a budget of 7 s.

    0.5 + 3 = 3.5, + 0.1 = 3.6, + 0.5 + 3 = 7.1 > 7: the second attempt has 2.9 s, and
    no third can begin.
    """
    write("policies/shop.yaml", POLICY)
    page = run_cli("explain", "shop_api.buy", "--format", "json")
    (operation,) = json.loads(page.out)["operations"]
    worst = operation["worst_case"]
    assert worst["max_attempts"] == 4
    assert worst["longest_waits"] == pytest.approx([0.1, 0.2, 0.4])
    assert (worst["reachable_attempts"], worst["complete_attempts"]) == (2, 1)
    assert worst["duration"] == 7.0
    assert [(round(s["at"], 6), s["what"]) for s in worst["time_line"]] == [
        (0.0, "waits 500ms for a slot or a token"),
        (0.5, "attempt 1 runs for 3s"),
        (3.5, "waits 100ms"),
        (3.6, "waits 500ms for a slot or a token"),
        (4.1, "attempt 2 runs for 2.9s, cut by the budget of 7s"),
        (7.0, "the call ends"),
    ]
    assert operation["traffic"] == {"rate": 10.0, "callers": 3}


def test_a_call_without_limits_says_so(run_cli: Run, write: Write) -> None:
    """Without timeout and budget nothing bounds a call."""
    bare = "version: 1\nservice: bare\noperations: {go: {transport: http}}\n"
    write("policies/bare.yaml", bare)
    page = run_cli("explain", "bare.go").out
    assert "  order, outermost first: call\n" in page
    assert "  one call at worst: nothing bounds it\n" in page


def test_a_service_shows_all_its_parts(run_cli: Run, write: Write) -> None:
    """Operations, queues and callers of a service stand on its page."""
    write("policies/shop.yaml", POLICY)
    write(
        "policies/worker.yaml",
        "version: 1\nservice: worker\ncalls: [{to: shop_api.buy, per_request: 2}]\n"
        "queues: {jobs: {store: sqlite, path: j.db, max_size: 9}}\n",
    )
    shop = run_cli("explain", "shop_api").out
    assert shop.startswith("shop_api (online service)\n  policies/shop.yaml:2:10\n")
    assert "  called by worker, 2 per request\n" in shop
    worker = run_cli("explain", "worker").out
    assert "\nworker.jobs (queue)\n" in worker
    assert settings(worker)["warn_at"] == ("80%", "built-in default")
    assert run_cli("explain", "worker.jobs").code == 0


def test_inbound_protection_and_calls_are_part_of_a_service(
    run_cli: Run, write: Write
) -> None:
    """As a server and as a caller: limits, telemetry, edges and their own settings."""
    write("policies/shop.yaml", POLICY)
    write(
        "policies/agent.yaml",
        "version: 1\nservice: agent\n"
        "inbound: {bulkhead: {max_concurrent: 20}, budget: {default: 10s}}\n"
        "telemetry: {heartbeat: 30s}\n"
        "calls: [{to: shop_api.buy, mode: detached, override: {budget: 2s}}]\n",
    )
    page = run_cli("explain", "agent").out
    found = settings(page)
    assert found["inbound.bulkhead.max_concurrent"] == (
        "20",
        "policies/agent.yaml:3:38",
    )
    assert found["inbound.budget.default"] == ("10s", "policies/agent.yaml:3:61")
    assert found["telemetry.heartbeat"] == ("30s", "policies/agent.yaml:4:24")
    call = "calls shop_api.buy, 1 per request, detached, with settings of its own:\n"
    assert call in page
    assert found["budget.total"] == ("2s", "policies/agent.yaml:5:63")
    document = json.loads(run_cli("explain", "agent", "--format", "json").out)
    (edge,) = document["calls"]
    assert (edge["to"], edge["mode"]) == ("shop_api.buy", "detached")
    values = {value["path"]: value["value"] for value in edge["override"]}
    assert values["budget.total"] == 2.0
    assert values["attempt_timeout.total"] == 3.0


def test_missing_facts_are_listed_with_the_rules_that_wait(
    run_cli: Run, write: Write
) -> None:
    """The page says which facts would let more rules look."""
    write("policies/shop.yaml", POLICY)
    page = run_cli("explain", "shop_api.buy").out
    assert "    CB007: shop_api.operations.buy.facts.latency.p50\n" in page


def test_errors_elsewhere_do_not_hide_a_policy(
    run_cli: Run, write: Write, texts: Any
) -> None:
    """What could be resolved is explained; a service with errors shows them instead."""
    write("policies/shop.yaml", POLICY)
    write("policies/quotes.yaml", texts.invalid)
    outcome = run_cli("explain", "shop_api.buy")
    assert outcome.code == 0
    assert outcome.err == "note: 1 error in other policies; run policyctl validate\n"
    broken = run_cli("explain", "quotes_api")
    assert (broken.code, broken.out) == (1, "")
    assert "--> policies/quotes.yaml:9:22" in broken.err


def test_environments_and_paths_can_be_chosen(run_cli: Run, write: Write) -> None:
    """The overlay's values and origin are shown; PATH says where to look."""
    overlay = "environments: {staging: {operations: {buy: {budget: 9s}}}}\n"
    write("other/shop.yaml", POLICY + overlay)
    arguments = ("explain", "shop_api.buy", "other")
    assert settings(run_cli(*arguments).out)["budget.total"][0] == "7s"
    value, origin = settings(run_cli(*arguments, "--environment", "staging").out)[
        "budget.total"
    ]
    assert value == "9s"
    assert "staging" in origin


LAYERS = """\
version: 1
service: web
owner: w
operations:
  view:
    transport: http
    idempotent: true
    attempt_timeout: 9s
    budget: 9s
    facts: {rate: 10/s}
    calls: [{to: api.load}]
---
version: 1
service: api
owner: a
operations:
  load:
    transport: http
    idempotent: true
    attempt_timeout: 4s
    budget: 9s
    retry: {max_attempts: 2}
    calls: [{to: store.read}]
---
version: 1
service: store
owner: s
facts: {capacity: 60/s}
operations:
  read:
    transport: sql
    idempotent: true
    attempt_timeout: 1s
    budget: 4s
    retry: {max_attempts: 3}
"""


def test_paths_of_retries_and_hidden_capacity(run_cli: Run, write: Write) -> None:
    """2 x 3 attempts arrive for one view; of 60/s, 60 / 3 = 20/s are left."""
    write("policies/layers.yaml", LAYERS)
    page = run_cli("explain", "store.read").out
    assert "    web.view 2 x api.load 3 = 6 attempts for one request\n" in page
    assert (
        "  hidden capacity of store: 60/s / 3 attempts = 20/s; the planned 10/s are "
        "below it\n"
    ) in page
    data = json.loads(run_cli("explain", "store.read", "--format", "json").out)
    (operation,) = data["operations"]
    assert operation["amplification"] == [
        {
            "caller": "api.load",
            "steps": [
                {"caller": "web.view", "attempts": 2.0},
                {"caller": "api.load", "attempts": 3.0},
            ],
            "attempts": 6.0,
            "log10_attempts": pytest.approx(0.778151),
        }
    ]
    assert operation["hidden_capacity"] == {
        "capacity": 60.0,
        "planned": 10.0,
        "attempts_for_each": 3.0,
        "hidden_capacity": 20.0,
    }


def test_a_caller_without_retries_is_one_attempt(run_cli: Run, write: Write) -> None:
    """Callers that multiply nothing are listed too, and capacity stays unsaid."""
    once = LAYERS.replace("    retry: {max_attempts: 2}\n", "")
    write("policies/layers.yaml", once)
    page = run_cli("explain", "api.load").out
    assert (
        "    web.view: 1 attempt for one request, nobody on the way retries\n" in page
    )
    assert "hidden capacity" not in page


def test_rules_that_looked_and_that_were_skipped(run_cli: Run, write: Write) -> None:
    """Each rule found something, found nothing, waits for a fact, or is left out."""
    write("policies/shop.yaml", POLICY)
    write("policyctl.toml", 'ignore = ["RT001"]\n')
    page = run_cli("explain", "shop_api.buy").out
    assert "\n  left out by the configuration:\n    RT001\n" in page
    assert "\n  skipped, since a fact is missing:\n" in page
    data = json.loads(run_cli("explain", "shop_api.buy", "--format", "json").out)
    rules = data["rules"]
    found = {entry["code"] for entry in rules["found"]}
    assert "TB004" in found
    waiting = {code for codes in rules["skipped"].values() for code in codes}
    assert "TB005" in waiting
    assert "RT004" in rules["looked"]
    assert rules["left_out"] == ["RT001"]
    every = found | waiting | {*rules["looked"], *rules["left_out"]}
    assert every >= {rule.code for rule in all_rules()}
    assert not {*rules["looked"]} & (found | waiting)


def test_the_time_line_is_drawn(run_cli: Run, write: Write) -> None:
    """Bars of 24 columns over 7 s: the second attempt lies from 4.1 s to the end."""
    write("policies/shop.yaml", POLICY)
    page = run_cli("explain", "shop_api.buy").out
    line = (
        "|"
        + " " * 14
        + "=" * 10
        + "|  attempt 2 runs for 2.9s, cut by the budget of 7s"
    )
    assert line in page
