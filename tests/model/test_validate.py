"""Documents with errors: one clear finding for each cause, at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policyctl.checks.limits import LIMITS
from policyctl.model.codes import CHECKS, CODES, NAMES
from policyctl.model.validate import MOST_FINDINGS, Parsed

Found = Callable[[str], list[str]]

ROOT = Path(__file__).parents[2]
KINDS = {limit.kind for limit in LIMITS.values()}
_OK = "version: 1\nservice: pay\noperations: {charge: {}}\n"


def test_a_valid_document_has_a_model_and_no_findings(
    parse: Callable[[str], Parsed],
) -> None:
    """Nothing is found where nothing is wrong."""
    parsed = parse(_OK)
    assert parsed.diagnostics == ()
    assert parsed.model is not None


def test_a_document_with_errors_has_no_model(parse: Callable[[str], Parsed]) -> None:
    """Later steps never see a half-valid model."""
    parsed = parse(_OK + "owner: 3\n")
    assert parsed.model is None
    assert [d.policy_path for d in parsed.diagnostics] == ["pay.owner"]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "service: pay\noperations: {}\n",
            "1:1 missing-key: `version` is missing; add version: 1",
        ),
        (
            "version: 1\noperations: {}\n",
            (
                "1:1 missing-key: `service` is missing; "
                "add service: NAME, or preset: NAME for a preset"
            ),
        ),
        (
            "version: 2\nservice: pay\noperations: {}\n",
            (
                "1:10 invalid-version: `2` is not a version that this policyctl reads; "
                "write version: 1"
            ),
        ),
        (
            "version: '1'\nservice: pay\noperations: {}\n",
            "1:10 invalid-version: `1` is not a version; write version: 1, a number",
        ),
        (
            "version: true\nservice: pay\noperations: {}\n",
            (
                "1:10 invalid-version: `true` is not a version that this policyctl reads; "
                "write version: 1"
            ),
        ),
        (
            "version: 1\nservice: pay\n",
            (
                "2:1 nothing-to-protect: the service has nothing to protect; "
                "add one of operations, calls, inbound, queues"
            ),
        ),
        (
            "version: 1\nservice: pay\npreset: base\noperations: {}\n",
            (
                "3:1 conflicting-keys: a document is a service or a preset, not both; "
                "move the preset into a document of its own"
            ),
        ),
        (
            "- a\n",
            (
                "1:1 not-a-policy: this document is a list, not a policy; "
                "begin with version: 1 and service: NAME"
            ),
        ),
        (
            "just text\n",
            (
                "1:1 not-a-policy: this document is text, not a policy; "
                "begin with version: 1 and service: NAME"
            ),
        ),
        (
            "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\n",
            (
                "1:1 not-a-policy: this document is not a policy: "
                "its keys are apiVersion, kind; begin with version: 1 and service: NAME"
            ),
        ),
        (
            "version: 1\nservice: Pay\noperations: {}\n",
            "2:10 invalid-name: the name `Pay` is not a snake_case identifier; write pay",
        ),
        (
            "version: 1\nservice: 12\noperations: {}\n",
            "2:10 invalid-name: `12` is a number, not text; write the service's name",
        ),
        (
            "version: 1\nservice:\noperations: {}\n",
            "2:1 null-value: `service` has no value; write a value, or remove the key",
        ),
        (
            "version: 1\npreset: Base!\ndefaults: {}\n",
            (
                "2:9 invalid-name: `Base!` is not a preset's name; "
                "write lower-case words joined by dashes, for example http-client"
            ),
        ),
        (
            "version: 1\npreset: base\noperations: {}\n",
            (
                "3:1 misplaced-key: unknown key `operations` in a preset; "
                "operations belongs at the top of a service document"
            ),
        ),
        (
            "version: 1\nservice: pay\noperations: [a]\n",
            (
                "3:13 wrong-type: a list is not a mapping; "
                "write each name as a key with a mapping below it"
            ),
        ),
        (
            "version: 1\nservice: pay\noperations: {charge: 5s}\n",
            (
                "3:22 wrong-type: `5s` is not a mapping; "
                "write for example {attempt_timeout: 5s}"
            ),
        ),
        (
            "version: 1\nservice: pay\noperations:\n  charge:\n",
            (
                "4:3 null-value: `charge` has no value; "
                "write {} where it has no settings of its own, or remove the key"
            ),
        ),
        (
            "version: 1\nservice: pay\ncalls: [{per_request: 1}]\n",
            (
                "3:9 missing-key: `to` is missing in entry 1 of calls; "
                "add to: service.operation"
            ),
        ),
        (
            "version: 1\nservice: pay\ncalls: [{to: post}]\n",
            (
                "3:14 invalid-operation: `post` does not name an operation; "
                "write service.operation, for example ledger_api.post_entry"
            ),
        ),
        (
            _OK + "ignore: [{rule: RT001}]\n",
            (
                "4:10 missing-key: `reason` is missing in entry 1 of ignore; "
                "add reason: and say why the finding does not count here"
            ),
        ),
        (
            _OK + "ignore: [{rule: rt1, reason: x}]\n",
            "4:17 invalid-text: `rt1` is not a rule's code; write for example RT001",
        ),
        (
            _OK + "ignore: [{rule: RT001, reason: x, until: 2026-02-30}]\n",
            (
                "4:42 invalid-date: `2026-02-30` is not in the calendar; "
                "write year-month-day, for example 2026-12-31"
            ),
        ),
        (
            _OK + "redis: {url_env: 'redis://:secret@host'}\n",
            (
                "4:18 invalid-text: this is an address, not the name of an environment "
                "variable; put the address into a variable and write its name, for example "
                "POLICY_REDIS_URL"
            ),
        ),
        (
            _OK + "extends: http-client\n",
            "4:10 wrong-type: `http-client` is not a list; write [http-client]",
        ),
        (
            _OK + "critical: yes\n",
            "4:11 invalid-boolean: `yes` is not a boolean; write true",
        ),
        (
            _OK + "critical: off\n",
            "4:11 invalid-boolean: `off` is not a boolean; write false",
        ),
        (
            _OK + "class: daemon\n",
            (
                "4:8 invalid-choice: `daemon` is not one of online, batch, control_loop; "
                "write one of them"
            ),
        ),
        (
            _OK + "environments: {staging: {extends: [a]}}\n",
            (
                "4:26 misplaced-key: unknown key `extends` in environment staging; "
                "extends belongs at the top of a service document, or in an operation"
            ),
        ),
        (
            _OK + "environments: {'a b': {}}\n",
            (
                "4:16 invalid-name: the name `a b` is not possible for an environment; "
                "write letters, digits and dashes, for example staging"
            ),
        ),
        (
            _OK + 'owner: "a\\0b"\n',
            "4:8 invalid-text: the text has a null character in it; remove it",
        ),
        (
            _OK + "ignore: off\n",
            (
                "4:9 wrong-type: `off` is not a list; "
                "write each entry as a list item, with a dash before it"
            ),
        ),
        (
            "version: 1\nservice: aux\noperations: {}\n",
            (
                "2:10 invalid-name: the name `aux` cannot be the name of a generated file; "
                "write for example aux_api"
            ),
        ),
        (
            _OK + "owner: ''\n",
            "4:8 invalid-text: the text is empty; write text, or remove the key",
        ),
    ],
)
def test_a_wrong_document_gets_one_finding(
    text: str, finding: str, found: Found
) -> None:
    """Each cause gives one error with its place, its value and what to do."""
    assert found(text) == [finding]


@pytest.mark.parametrize(
    ("settings", "finding"),
    [
        ("attempt_timeout: 30", "1:18 invalid-duration: `30` has no unit; write 30s or 30ms"),
        ("attempt_timeout: -1s", "1:18 invalid-duration: `-1s` has a sign; a duration is never negative; write for example 30s"),
        ("attempt_timeout: true", "1:18 invalid-duration: `true` is not a duration; write for example 30s or 250ms"),
        ("attempt_timeout: [5s]", "1:18 invalid-duration: a list is not a duration; write for example 30s or 250ms"),
        ("attempt_timeout: 0s", "1:18 out-of-bounds: `0s` is not possible here; write more than 0s, or off for no limit"),
        ("attempt_timeout: 31d", "1:18 invalid-duration: `31d` is over 30d; write at most 30d"),
        ("attempt_timeout:", "1:1 null-value: `attempt_timeout` has no value; use off, or remove the key"),
        ("attempt_timeout: ~", "1:18 null-value: `attempt_timeout` is null; use off, or remove the key"),
        ("attempt_timeout: {total: ~}", "1:26 null-value: `total` is null; use off, or remove the key"),
        ("attempt_timeout: {argument: a.b}", "1:29 invalid-argument: `a.b` is a path, not a keyword; write the name of one keyword argument"),
        ("attempt_timeout: {sync: threads}", "1:25 invalid-choice: `threads` is not one of thread, cooperative; did you mean thread?"),
        ("retry: 3", "1:8 wrong-type: `3` is not a mapping; write for example {max_attempts: 3}"),
        ("retry: {max_attempts: '3'}", "1:23 invalid-count: `3` is text, not a whole number; write 3 without quotes"),
        ("retry: {max_attempts: 3.0}", "1:23 invalid-count: `3.0` is not a whole number; write a whole number or unlimited"),
        ("hedge: {max_hedges: off}", "1:21 out-of-bounds: `off` is not possible here; write hedge: off"),
        ("retry: {max_attempts: 0}", "1:23 out-of-bounds: `0` is not possible here; write 1 for no retry"),
        ("retry: {max_attempts: -1}", "1:23 out-of-bounds: `-1` is negative; write at least 1"),
        ("retry: {max_attempts: Unlimited}", "1:23 invalid-count: `Unlimited` is not a whole number; write a whole number or unlimited"),
        ("retry: {backoff: 100ms}", "1:18 wrong-type: `100ms` is not a mapping; write for example {initial: 100ms}"),
        ("retry: {backoff: {multiplier: '2'}}", "1:31 invalid-number: `2` is text, not a number; write 2 without quotes"),
        ("retry: {backoff: {multiplier: 0.5}}", "1:31 out-of-bounds: `0.5` is under 1; write at least 1"),
        ("retry: {backoff: {jitter: 2}}", "1:27 invalid-ratio: `2` is over 1; write 2% or a share from 0 to 1"),
        ("retry: {backoff: {jitter: true}}", "1:27 invalid-choice: `true` is not a jitter; write none, full, equal, decorrelated or a ratio such as 20%"),
        ("retry: {backoff: {jitter: random}}", "1:27 invalid-choice: `random` is not a jitter; write none, full, equal, decorrelated or a ratio such as 20%"),
        ("retry: {retry_on: timeout}", "1:19 wrong-type: `timeout` is not a list; write [timeout]"),
        ("retry: {retry_on: [timeout, timeout]}", "1:29 duplicate-item: `timeout` is in the list twice; remove one of them"),
        ("retry: {retry_on: [~]}", "1:20 null-value: item 1 is null; remove the list item"),
        ("retry: {retry_on: [5]}", "1:20 invalid-exception: `5` is a number, not text; write an exception"),
        ("retry: {retry_on: [[timeout]]}", "1:20 invalid-exception: a list is a list, not text; write an exception"),
        ("retry: {retry_on: [circuit_open]}", "1:20 invalid-exception: `circuit_open` is a rejection by this policy, which is never retried or recorded; remove it; only fallback_on may name it"),
        ("retry: {retry_on_status: [600]}", "1:27 invalid-status: `600` is not an HTTP status; HTTP codes are 100 to 599; quote an SQLSTATE: \"00600\""),
        ("retry: {retry_on_status: [504-502]}", "1:27 invalid-status: `504-502` is upside down; write \"502-504\""),
        ("retry: {retry_on_status: [true]}", "1:27 invalid-status: `true` is not a status; write for example 429 or \"502-504\""),
        ("retry: {retry_on_status: [429, '429']}", "1:32 duplicate-item: `429` is in the list twice; remove one of them"),
        ("retry: {retry_if: transient}", "1:19 invalid-callable: `transient` is not a callable; write package.module:name, for example my_app.rules:transient"),
        ("retry: {budget: {floor: 6}}", "1:25 invalid-rate: `6` is a rate without a time; write 6/s, /m or /h"),
        ("retry: {budget: {ratio: 10}}", "1:25 invalid-ratio: `10` is over 1; write 10% or a share from 0 to 1"),
        ("retry: {budget: {ratio: '0.1'}}", "1:25 invalid-ratio: `0.1` is text, not a ratio; write 0.1 without quotes"),
        ("attempt_timeout: .nan", "1:18 invalid-duration: `nan` has no unit; write 30s or 30ms"),
        ("attempt_timeout: -5", "1:18 invalid-duration: `-5` has no unit; write 30s or 30ms"),
        ("retry: {backoff: {jitter: .inf}}", "1:27 invalid-ratio: `inf` is over 100%; write at most 100%"),
        ("retry: {backoff: {jitter: .nan}}", "1:27 invalid-ratio: `nan` is not a ratio; write for example 50% or 0.5"),
        ("retry: {backoff: {jitter: '0.2'}}", "1:27 invalid-ratio: `0.2` is text, not a ratio; write 0.2 without quotes"),
        ("circuit_breaker: {recovery_timeout: .inf}", "1:37 invalid-duration: `inf` has no unit; write 30s or 30ms"),
        ("circuit_breaker: {window: 1e999}", "1:27 invalid-duration: `inf` has no unit; write 30s or 30 calls"),
        ("circuit_breaker: {window: true}", "1:27 invalid-duration: `true` is not a window; write 30s or 100 calls"),
        ("circuit_breaker: {window: 30}", "1:27 invalid-duration: `30` has no unit; write 30s or 30 calls"),
        ("circuit_breaker: {window: 0 calls}", "1:27 out-of-bounds: `0` is not possible here; write at least 1"),
        ("circuit_breaker: {window: {seconds: 30s, calls: 100}}", "1:42 conflicting-keys: window has both seconds and calls; keep one of them"),
        ("circuit_breaker: {failure_ratio: 0%}", "1:34 out-of-bounds: `0%` is not possible here; write more than 0%, or off for no such rule"),
        ("circuit_breaker: {scope: tenant}", "1:26 invalid-argument: `tenant` is not a scope; write operation, service or argument:NAME, for example argument:tenant"),
        ("circuit_breaker: {mode: open}", "1:25 invalid-choice: `open` is not one of enforce, observe, forced_open, disabled; write one of them"),
        ("rate_limit: {rate: 0/s}", "1:20 out-of-bounds: `0/s` is not possible here; write more than 0/s, or rate_limit: off"),
        ("fallback: {value: 1, operation: a.b}", "1:22 conflicting-keys: fallback has both value and operation; keep one of them"),
        ("fallback: {call: a.b}", "1:18 invalid-callable: `a.b` is not a callable; write module and name with a colon: a:b"),
        ("fallback: []", "1:11 wrong-type: a list is not a mapping; write for example {call: my_app.fallbacks:cached_quote}"),
        ("idempotency: {key: hotel_id}", "1:20 wrong-type: `hotel_id` is not a key; write [hotel_id], or {call: package.module:function}"),
        ("idempotency: {key: []}", "1:20 wrong-type: the list is empty; name at least one"),
        ("idempotency: {key: [a, b-c]}", "1:24 invalid-argument: `b-c` is not an argument path; write a parameter's name or a path such as order.id"),
        ("idempotency: {key: {arguments: [a]}}", "1:21 unknown-key: unknown key `arguments` in key; known keys are call"),
        ("idempotency: {forward: {header: X, argument: y}}", "1:36 conflicting-keys: forward has both header and argument; keep one of them"),
        ("idempotency: {forward: {header: 'X Y'}}", "1:33 invalid-text: `X Y` is not a header name; write for example X-Timeout-Budget"),
        ("idempotent: 'true'", "1:13 invalid-boolean: `true` is not a boolean; write true"),
        ("facts: {callers: 1.5}", "1:18 invalid-count: `1.5` is not a whole number; write a whole number"),
        ("calls: {to: a.b}", "1:8 wrong-type: a mapping is not a list; write each entry as a list item, with a dash before it"),
        ("calls: [a.b]", "1:9 wrong-type: `a.b` is not a mapping; write for example {to: ledger_api.post_entry}"),
        ("calls: [{to: a.b, override: {idempotent: true}}]", "1:30 misplaced-key: unknown key `idempotent` in override; idempotent belongs under defaults, or in an operation"),
    ],
)  # fmt: skip
def test_a_wrong_setting_gets_one_finding(
    settings: str, finding: str, found_in: Found
) -> None:
    """Each wrong value gives one error with its place, its value and what to do."""
    assert found_in(settings) == [finding]


def test_two_forms_show_both_places(parse: Callable[[str], Parsed]) -> None:
    """The second form is the finding's place, the first is related."""
    text = "version: 1\nservice: pay\noperations:\n  a:\n    fallback:\n      call: m:f\n      value: 1\n"
    (finding,) = parse(text).diagnostics
    assert (finding.span.line, finding.related[0].span.line) == (7, 6)
    assert finding.related[0].message == "the other one"


def test_an_error_in_an_anchor_is_told_once(found: Found) -> None:
    """A block that five operations merge has one place and so one finding."""
    operations = "".join(f"  o{i}: {{<<: *d}}\n" for i in range(5))
    text = f"x-d: &d {{attempt_timeout: 5, retri: {{}}}}\nversion: 1\nservice: pay\noperations:\n{operations}"
    assert found(text) == [
        "1:27 invalid-duration: `5` has no unit; write 5s or 5ms",
        "1:30 unknown-key: unknown key `retri` in operation o0; did you mean retry?",
    ]


def test_findings_are_in_the_order_of_the_text(parse: Callable[[str], Parsed]) -> None:
    """Names, unknown keys and values are sorted together."""
    text = "version: 3\nservice: Pay\nowne: x\noperations: {Do: {retry: 1}}\n"
    places = [(d.span.line, d.span.column) for d in parse(text).diagnostics]
    assert places == sorted(places)
    assert len(places) == 5


@pytest.mark.parametrize(
    ("count", "more"), [(52, "2"), (150, "100"), (5000, "over 200")]
)
@pytest.mark.parametrize(
    "body",
    ["{attempt_timeout: 5}", "{retri: 1}", "", "3", "{retry: {retry_on: [ValueErro]}}"],
)
def test_many_errors_are_cut_short(
    body: str, count: int, more: str, parse: Callable[[str], Parsed]
) -> None:
    """A hostile or generated file gives a screenful, then the number left out."""
    operations = "".join(f"  o{i}: {body}\n" for i in range(count))
    found = parse(f"version: 1\nservice: pay\noperations:\n{operations}").diagnostics
    assert len(found) == MOST_FINDINGS + 1
    assert found[-1].name == "too-many-errors"
    assert found[-1].message == f"{more} more errors in this document are not shown"


def test_a_long_list_is_refused_as_a_whole(found: Found) -> None:
    """A list of thousands is one finding, not thousands."""
    items = ", ".join(["5"] * 2000)
    text = f"version: 1\nservice: pay\nextends: [{items}]\noperations: {{}}\n"
    assert found(text) == [
        "3:10 wrong-type: the list has 2000 items; name at most 1000"
    ]


def test_codes_and_names_are_one_to_one() -> None:
    """Codes are VA001 and up without gaps; names are kebab-case and unique."""
    assert list(NAMES) == [f"VA{i:03}" for i in range(1, len(NAMES) + 1)]
    assert len(CODES) == len(NAMES)
    assert all(name.replace("-", "").isalpha() for name in CODES)


@pytest.mark.parametrize("code", CHECKS)
def test_a_code_is_documented_and_used(code: str) -> None:
    """Each has its line in docs/validation.md and a check that reports it."""
    name, when = CHECKS[code]
    page = (ROOT / "docs" / "validation.md").read_text("utf-8")
    assert f"| {code} | {name} | {when} |\n" in page
    folder = ROOT / "policyctl" / "model"
    sources = [
        p.read_text("utf-8") for p in folder.glob("*.py") if p.name != "codes.py"
    ]
    kind = name.removeprefix("invalid-")
    made = kind in KINDS and "invalid-{limit.kind}" in "".join(sources)
    assert made or any(f'"{name}"' in source for source in sources)
