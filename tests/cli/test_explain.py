"""``policyctl explain``: rules, resolved values with origins, worst cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from policyctl.cli import _explain_rules
from policyctl.cli._explain_time import WorstCase, of_operation
from policyctl.cli._policy_page import Page, as_text
from policyctl.lint.context import Context
from policyctl.lint.engine import lint
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules
from policyctl.lint.testing import load_yaml

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
        (
            "VA007",
            (
                "error: VA007 invalid-duration is an error, not a lint rule\n  help: it cannot "
                "be switched off; where it is reported, its help line says what to change\n"
            ),
        ),
        (
            "unknown-argument",
            (
                "error: VA118 unknown-argument is an error, not a lint rule: the target has no "
                "such parameter\n"
            ),
        ),
        (
            "GN010",
            (
                "error: GN010 target-mismatch is an error, not a lint rule: a target is nothing "
                "that can be guarded\n"
            ),
        ),
        (
            "VA139",
            (
                "error: VA139 queue-of-two-settings is an error or a warning, not a lint rule: "
                "two queues are one in their store, but differ in what it decides\n"
            ),
        ),
        (
            "SY019",
            "error: SY019 empty-file is a warning, not a lint rule\n",
        ),
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
        "  with the retries of callers further up: 60/s / 6 attempts = 10/s; the planned "
        "10/s are not below it\n"
    ) in page
    data = json.loads(run_cli("explain", "store.read", "--format", "json").out)
    (operation,) = data["operations"]
    assert operation["amplification"] == [
        {
            "caller": "api.load",
            "calls": 1.0,
            "mode": "sequential",
            "cycle": False,
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
        "along_paths": {"attempts_for_each": 6.0, "hidden_capacity": 10.0},
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


def test_calls_for_one_request_are_counted_beside_attempts(
    run_cli: Run, write: Write
) -> None:
    """3 attempts of each of 4 calls are 12; a fifth of a call is said as well."""
    layers = LAYERS.replace("api.load}", "api.load, per_request: 2}").replace(
        "store.read}", "store.read, per_request: 4, mode: parallel}"
    )
    write("policies/layers.yaml", layers.replace("    retry: {max_attempts: 2}\n", ""))
    page = run_cli("explain", "store.read").out
    assert "  called by api.load, 4 per request, parallel\n" in page
    assert "    api.load: 3 attempts for each of 4 calls, 12 for one request\n" in page
    # 10/s x 8 calls = 80/s, and x 3 attempts = 240/s
    assert "  traffic: 80/s first tries, up to 240/s when every attempt fails\n" in page
    write("policies/layers.yaml", LAYERS.replace("load}", "load, per_request: 0.2}"))
    page = run_cli("explain", "store.read").out
    assert (
        "    web.view 2 x api.load 3 = 6 attempts for each call, 1.2 for one request\n"
        in page
    )


def test_what_an_operation_calls_comes_after_its_own_settings(
    run_cli: Run, write: Write
) -> None:
    """The page begins with what was asked for, and ends with what lint says."""
    write("policies/layers.yaml", LAYERS)
    page = run_cli("explain", "api.load").out
    places = [page.index(f"\n{text}") for text in ("api.load", "calls store", "Lint")]
    assert places == sorted(places)
    service = run_cli("explain", "api").out
    assert service.index("\ncalls store.read") < service.index("\napi.load\n")


def test_callers_in_a_cycle_say_so(run_cli: Run, write: Write) -> None:
    """A product has no bound where the callee calls back."""
    again = "    retry: {max_attempts: 3}\n    calls: [{to: api.load}]\n"
    write(
        "policies/layers.yaml",
        LAYERS.replace("    retry: {max_attempts: 3}\n", again),
    )
    page = run_cli("explain", "store.read").out
    line = "    web.view 2 x api.load 3 = 6 attempts for one request; "
    assert f"{line}more with each round of the cycle\n" in page
    data = json.loads(run_cli("explain", "store.read", "--format", "json").out)
    assert [p["cycle"] for p in data["operations"][0]["amplification"]] == [True]


def test_many_callers_and_calls_are_cut_short(run_cli: Run, write: Write) -> None:
    """The worst eight callers are shown, and twenty calls; JSON has all of them."""
    caller = (
        "version: 1\nservice: s{n}\noperations:\n  go:\n    transport: http\n"
        "    calls: [{{to: leaf.read{own}}}]\n"
    )
    for n in range(30):
        own = ", override: {retry: {max_attempts: 5}}" if n == 29 else ""
        write(f"policies/s{n:02}.yaml", caller.format(n=n, own=own))
    calls = ", ".join(f"{{to: s{n}.go}}" for n in range(30))
    write("policies/top.yaml", f"version: 1\nservice: top\ncalls: [{calls}]\n")
    leaf = "operations: {read: {transport: http, idempotent: true}}"
    write("policies/leaf.yaml", f"version: 1\nservice: leaf\n{leaf}\n")
    page = run_cli("explain", "leaf.read").out
    called = [line for line in page.splitlines() if line.startswith("  called by ")]
    assert called[0] == "  called by s29.go, 1 per request with settings of its own"
    assert called[1] == "  called by s0.go, 1 per request"
    assert len(called) == 8
    assert "\n  and by 22 more; --format json lists all\n" in page
    assert "    s29.go: 5 attempts for one request\n" in page
    assert "\n    and 22 more callers, none with more attempts\n" in page
    data = json.loads(run_cli("explain", "leaf.read", "--format", "json").out)
    assert len(data["operations"][0]["called_by"]) == 30
    assert len(data["operations"][0]["amplification"]) == 30
    top = run_cli("explain", "top").out
    assert top.count("\ncalls s") == 20
    assert "\nand 10 more calls; --format json lists all\n" in top
    every = json.loads(run_cli("explain", "top", "--format", "json").out)
    assert len(every["calls"]) == 30


def test_many_findings_are_cut_short(run_cli: Run, write: Write) -> None:
    """The page shows the worst twenty findings of a service and counts the others."""
    slow = "{transport: http, attempt_timeout: 9s, budget: 3s}"
    operations = "".join(f"  o{n}: {slow}\n" for n in range(25))
    operations += "  bare: {transport: http}\n"
    write("policies/a.yaml", f"version: 1\nservice: a\noperations:\n{operations}")
    page = run_cli("explain", "a").out
    lint = page.partition("\nLint\n")[2].splitlines()
    shown = [line for line in lint if "[" in line]
    assert shown[0].startswith("  error[")
    assert len(shown) == 20
    data = json.loads(run_cli("explain", "a", "--format", "json").out)
    more = len(data["rules"]["found"]) - 20
    assert lint[20] == f"  and {more} more findings; policyctl validate shows all"


def test_hedges_are_attempts_beside_the_first(run_cli: Run, write: Write) -> None:
    """Three attempts 100 ms apart, of 500 ms each: 2 x 100 + 500 = 700 ms."""
    write(
        "policies/h.yaml",
        "version: 1\nservice: h\noperations:\n  get:\n    transport: http\n"
        "    idempotent: true\n    attempt_timeout: 500ms\n    budget: 2s\n"
        "    hedge: {delay: 100ms, max_hedges: 2}\n",
    )
    page = run_cli("explain", "h.get").out
    assert "  attempts: 3 at most, 2 of them hedges\n" in page
    assert "  one call at worst: 700ms\n" in page
    bars = {
        "     0s": "=" * 17 + " " * 7,
        "  100ms": " " * 3 + "=" * 18 + " " * 3,
        "  200ms": " " * 6 + "=" * 18,
        "  700ms": " " * 24,
    }
    lines = [line for line in page.splitlines() if line.count("|") == 2]
    assert [line[2 + 2 : 9 + 2].strip() for line in lines] == [
        moment.strip() for moment in bars
    ]
    assert [line.split("|")[1] for line in lines] == list(bars.values())
    assert lines[2].endswith("|  attempt 3, a hedge, runs for 500ms")
    tight = (Path("policies/h.yaml")).read_text().replace("budget: 2s", "budget: 450ms")
    write("policies/h.yaml", tight)
    page = run_cli("explain", "h.get").out
    assert "attempt 3, a hedge, runs for 250ms, cut by the budget of 450ms\n" in page


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


def test_every_example_has_a_page() -> None:
    """Whatever the rules' examples hold, the time line is in order and ends the call."""
    for rule in all_rules():
        for text in (docs(rule).bad, docs(rule).good):
            project = load_yaml(text)
            context = Context(project)
            looked = _explain_rules.build(lint(project), "", ())
            for service in project.services.values():
                parts = tuple(service.operations.values())
                queues = tuple(service.queues.values())
                page = Page(service, parts, queues, context, whole=True)
                assert json.loads(json.dumps(page.as_json(), allow_nan=False))
                assert as_text(page, looked, color=True).endswith("\n")
                for operation in parts:
                    check_time_line(of_operation(operation))


def check_time_line(worst: WorstCase) -> None:
    """Steps follow each other and lie within the call."""
    moments = [step.at for step in worst.steps]
    assert moments == sorted(moments)
    if worst.steps and worst.duration is not None:
        assert worst.steps[-1].text == "the call ends"
        ends = [step.at + step.lasts for step in worst.steps]
        assert max(ends) <= worst.duration * (1 + 1e-9)
        assert max(ends) == pytest.approx(worst.steps[-1].at)
