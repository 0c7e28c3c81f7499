"""Doing what a rule advises ends its finding and leads to no error, for every rule.

The policies are the bad examples of all rules. A fix is applied as ``--fix`` would; of
a help line, each of its alternatives whose settings have values is typed in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.lint.explain import docs
from policyctl.lint.registry import all_rules
from policyctl.lint.testing import lint_yaml
from policyctl.source.decode import decode
from policyctl.source.edits import apply_edits

RULES = {rule.code: rule for rule in all_rules()}

_PAIR = re.compile(
    r"([a-z_]+(?:\.[a-z_]+)*): (\{[^}]*\}|\[[^\]]*\]|\"[^\"]*\"|[^\s,;)]+)"
)
_OR = re.compile(r",? or (?:set |add )?(?=[a-z_.]+: )")

_BREAKER = "circuit_breaker"
PLACES: dict[str, dict[str, str]] = {
    "BH001": {"bulkhead": "bulkhead"},
    "BH002": {"max_concurrent": "bulkhead.max_concurrent"},
    "BH004": {
        "max": "facts.pool.max",
        "max_concurrent": "/price_db.operations.query.bulkhead.max_concurrent",
    },
    "CB001": {"minimum_calls": f"{_BREAKER}.minimum_calls"},
    "CB004": {"window": f"{_BREAKER}.window"},
    "CB005": {"recovery_timeout": f"{_BREAKER}.recovery_timeout"},
    "CB008": {
        "success_threshold": f"{_BREAKER}.success_threshold",
        "recovery_timeout": f"{_BREAKER}.recovery_timeout",
    },
    "CB010": {"record_on": f"{_BREAKER}.record_on"},
    "CB011": {"after": f"{_BREAKER}.slow_call.after"},
    "CB012": {"recovery_timeout.jitter": f"{_BREAKER}.recovery_timeout.jitter"},
    "CB013": {"store": f"{_BREAKER}.store"},
    "GR001": {"max_attempts": "/api.operations.load.retry.max_attempts"},
    "GR002": {"max_attempts": "retry.max_attempts", "retry": "retry"},
    "GR004": {"inbound.budget": "inbound.budget"},
    "ID001": {"retry_on": "retry.retry_on", "idempotent": "idempotent"},
    "ID002": {"ttl": "idempotency.ttl"},
    "ID005": {
        "store": "idempotency.store",
        "forward": "idempotency.forward",
        "redis": "/payment_api.redis",
    },
    "QU001": {"bulkhead": "inbound.bulkhead"},
    "QU002": {
        "max_queue": "inbound.bulkhead.max_queue",
        "max_wait": "inbound.bulkhead.max_wait",
    },
    "QU003": {"max_queue": "inbound.bulkhead.max_queue"},
    "QU005": {"inbound.bulkhead": "inbound.bulkhead"},
    "QU006": {"lease": "lease"},
    "QU007": {"drain": "upload.drain"},
    "QU008": {"dead_letter.max_size": "dead_letter.max_size"},
    "QU009": {"max_deliveries": "max_deliveries"},
    "RL001": {"rate": "rate_limit.rate"},
    "RT001": {"max_attempts": "retry.max_attempts"},
    "RT002": {"retry_on": "retry.retry_on"},
    "RT003": {"backoff": "retry.backoff"},
    "RT004": {"backoff.jitter": "retry.backoff.jitter"},
    "RT005": {"max": "retry.backoff.max"},
    "RT006": {"budget": "retry.budget"},
    "RT007": {"refill": "retry.budget.refill", "ratio": "retry.budget.ratio"},
    "RT008": {"floor": "retry.budget.floor"},
    "RT009": {"retry_after": "retry.retry_after"},
    "RT010": {"max_hedges": "hedge.max_hedges"},
    "TB002": {"budget": "budget"},
    "TB003": {"attempt_timeout": "attempt_timeout", "budget": "budget"},
    "TB004": {
        "max_attempts": "retry.max_attempts",
        "attempt_timeout": "attempt_timeout",
    },
    "TB005": {"attempt_timeout": "attempt_timeout"},
    "TB006": {"attempt_timeout": "attempt_timeout"},
    "TL001": {"telemetry": "telemetry"},
    "TL002": {"telemetry": "telemetry"},
}
"""Where a setting that a help line names stands, seen from the finding's subject, or,
after a slash, from all documents."""


def findings(text: str) -> list[Diagnostic]:
    """What all rules find in a text."""
    return lint_yaml(text)


def errors(found: list[Diagnostic]) -> set[tuple[str, str]]:
    """Rule and place of every error."""
    return {(d.code, place(d)) for d in found if d.severity is Severity.ERROR}


def place(finding: Diagnostic) -> str:
    """The policy path of a finding, whether a call has settings of its own or not."""
    return finding.policy_path.replace("].override", "]")


def same(finding: Diagnostic, found: list[Diagnostic]) -> list[str]:
    """What a rule still says of a finding's place."""
    key = (finding.code, place(finding))
    return [d.message for d in found if (d.code, place(d)) == key]


def fixed(text: str, finding: Diagnostic) -> str:
    """A text with the fix of a finding in it."""
    source, _problem = decode(text.encode(), "policy.yaml")
    assert source is not None
    assert finding.fix is not None
    return apply_edits(source, finding.fix.edits)


def ways(code: str, help_line: str) -> Iterator[dict[str, str]]:
    """The alternatives of a help line: settings with their values."""
    for way in _OR.split(help_line):
        pairs = {
            PLACES[code][name]: value
            for name, value in _PAIR.findall(way)
            if name in PLACES[code]
        }
        if pairs:
            yield pairs


def typed(text: str, finding: Diagnostic, values: dict[str, str]) -> str:
    """A text with settings put where the finding's subject is."""
    documents: list[Any] = list(yaml.safe_load_all(text))
    services = {document["service"]: document for document in documents}
    for path, value in values.items():
        block = services if path[0] == "/" else subject(services, finding.policy_path)
        *above, last = path.lstrip("/").split(".")
        for name in above:
            if not isinstance(block.get(name), dict):
                block[name] = {}
            block = block[name]
        block[last] = yaml.safe_load(value)
    return yaml.safe_dump_all(documents, sort_keys=False)


def subject(services: dict[str, Any], policy_path: str) -> Any:
    """What a finding is about: a service, an operation, a queue or a call's override."""
    head, _, called = policy_path.partition(".calls[")
    service, *rest = head.split(".")
    found = services[service]
    if rest[:1] in (["operations"], ["queues"]):
        found = found[rest[0]][rest[1]]
    if called:
        name = called.partition("]")[0]
        (call,) = (call for call in found["calls"] if call["to"] == name)
        found = call.setdefault("override", {})
    return found


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_fix_ends_its_finding(code: str) -> None:
    """Each fix of any finding of the rule's example ends it and makes no new error."""
    text = docs(RULES[code]).bad
    before = findings(text)
    assert any(d.code == code for d in before)
    for finding in before:
        if finding.fix is None or not finding.fix.edits:
            continue
        after = findings(fixed(text, finding))
        assert same(finding, after) == [], finding
        assert errors(after) <= errors(before), (finding, after)


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_number_of_a_help_line_holds(code: str) -> None:
    """Each way that the help of any finding names ends it and makes no new error."""
    text = docs(RULES[code]).bad
    before = findings(text)
    for finding in before:
        if finding.help is None or finding.code not in PLACES:
            continue
        for values in ways(finding.code, finding.help):
            after = findings(typed(text, finding, values))
            where = (finding.code, finding.help, values)
            assert same(finding, after) == [], where
            assert errors(after) <= errors(before), (where, after)


def test_no_rule_with_numbers_is_left_out() -> None:
    """Each rule whose help names a setting with a number has its place above."""
    named = {
        finding.code: finding.help
        for rule in all_rules()
        for finding in findings(docs(rule).bad)
        if any(
            re.search(r"\d", value) for _, value in _PAIR.findall(finding.help or "")
        )
    }
    assert set(named) - set(PLACES) == set(LEFT_OUT)


LEFT_OUT = {
    "CB002": "the window that its number of calls needs stands beside it in words",
}
"""Rules of which a help line cannot be followed by typing what it names, and why."""


def test_every_place_above_is_named_by_a_help_line() -> None:
    """Nothing in the table is left over from a help line that has changed."""
    named = {
        (finding.code, name)
        for rule in all_rules()
        for finding in findings(docs(rule).bad)
        for name, _ in _PAIR.findall(finding.help or "")
    }
    known = {(code, name) for code, names in PLACES.items() for name in names}
    assert known - named == set()
