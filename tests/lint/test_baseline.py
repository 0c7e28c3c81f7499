"""The baseline file: what it holds, hides and reports, and how it changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyctl.diagnostics import Diagnostic, Severity, Span, Suppressed
from policyctl.lint.baseline import (
    Baseline,
    BaselineError,
    Key,
    apply,
    count,
    dump,
    parse,
    update,
)

A: Key = ("RT001", "a_api.operations.x.retry.max_attempts")
B: Key = ("TB001", "b_api.operations.y.attempt_timeout")


def finding(key: Key, line: int = 1, suppressed: bool = False) -> Diagnostic:
    """A warning of a rule at a policy path."""
    span = Span("p.yaml", line)
    hidden = Suppressed("reason", span) if suppressed else None
    return Diagnostic(
        key[0],
        "name",
        Severity.WARNING,
        f"m{line}",
        span,
        policy_path=key[1],
        suppressed=hidden,
    )


def everything(_: Key) -> bool:
    """A run that looked at all there is."""
    return True


def test_the_file_is_sorted_json_with_one_entry_a_line() -> None:
    """Entries stand in the order of path and rule, and a last line break ends it."""
    assert dump({B: 1, A: 2}) == (
        '{\n  "version": 1,\n  "findings": [\n'
        '    {"rule": "RT001", "path": "a_api.operations.x.retry.max_attempts", "count": 2},\n'
        '    {"rule": "TB001", "path": "b_api.operations.y.attempt_timeout", "count": 1}\n'
        "  ]\n}\n"
    )
    assert dump({}) == '{\n  "version": 1,\n  "findings": []\n}\n'


KEYS = st.tuples(
    st.from_regex(r"[A-Z]{2}[0-9]{3}", fullmatch=True), st.text(max_size=12)
)


@given(st.dictionaries(KEYS, st.integers(1, 9), max_size=8))
def test_what_is_written_is_read(counts: dict[Key, int]) -> None:
    """Any counts survive the file, which is the same for every order of them."""
    text = dump(counts)
    assert dict(parse(text, "b.json").counts) == counts
    assert dump(dict(reversed(counts.items()))) == text
    json.loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", 'there is no "findings" list'),
        ('{"findings": []}', "its version is None, not 1"),
        ('{"version": 2, "findings": []}', "its version is 2, not 1"),
        ('{"version": 1, "findings": {}}', '"findings" are not a list'),
        ('{"version": 1, "findings": [1]}', "entry 1 is not of the form"),
        ('{"version": 1, "findings": [{"rule": "RT001", "path": "a", "count": 0}]}', "entry 1"),
        ('{"version": 1, "findings": [{"rule": "RT001", "path": "a", "count": true}]}', "entry 1"),
        ('{"version": 1, "findings": [{"rule": "RT001", "count": 1}]}', "entry 1"),
    ],
)  # fmt: skip
def test_other_files_are_refused(text: str, message: str) -> None:
    """The reason says what is not as it should be."""
    with pytest.raises(BaselineError, match=message.replace("[", r"\[")):
        parse(text, "b.json")


def test_only_lint_findings_that_nothing_hides_are_held() -> None:
    """Invalid policies, failures and suppressed findings stay out."""
    never = [
        finding((code, "a")) for code in ("SY001", "VA101", "CF201", "LN001", "BL001")
    ]
    hidden = finding(A, suppressed=True)
    assert count([*never, hidden, finding(A), finding(A, 2)]) == {A: 2}


def test_known_findings_are_taken_out_and_the_rest_stays() -> None:
    """As many as the count says are hidden; one more is reported."""
    known = parse(dump({A: 2}), "b.json")
    found = [finding(A, line) for line in (3, 1, 2)] + [finding(B)]
    filtered = apply(found, known, everything)
    assert filtered.baselined == 2
    assert [(d.code, d.span.line) for d in filtered.findings] == [
        ("TB001", 1),
        ("RT001", 3),
    ]
    assert filtered.stale == ()


def test_entries_that_nothing_matches_are_reported_at_their_line() -> None:
    """The finding points at the entry and says how many are gone."""
    known = parse(dump({A: 2, B: 1}), "b.json")
    one, two = apply([finding(A)], known, everything).stale
    assert (one.code, one.span.path, one.span.line) == ("BL001", "b.json", 4)
    assert (
        one.message == f"the baseline knows 2 of RT001 at {A[1]}, of which 1 are gone"
    )
    assert (
        two.message == f"the baseline knows TB001 at {B[1]}, which is no longer found"
    )
    assert two.span.line == 5
    assert two.help == "policyctl baseline update removes it"


def test_what_a_run_did_not_look_at_is_not_stale() -> None:
    """A run of one service says nothing about the others."""
    known = parse(dump({A: 1, B: 1}), "b.json")
    assert [d.code for d in apply([], known, lambda key: key == A).stale] == ["BL001"]


def test_an_update_shrinks() -> None:
    """What is gone leaves; what is new is refused, one by one."""
    known = Baseline({A: 3})
    new = update(known, [finding(A), finding(B)], everything, allow_growth=False)
    assert (new.counts, new.removed, new.added) == ({A: 1}, 2, 0)
    assert [d.code for d in new.refused] == ["TB001"]


def test_an_update_grows_when_it_may() -> None:
    """With the flag everything that is found is recorded."""
    known = Baseline({A: 1})
    found = [finding(A, 1), finding(A, 2), finding(B)]
    new = update(known, found, everything, allow_growth=True)
    assert (new.counts, new.removed, new.added) == ({A: 2, B: 1}, 0, 2)
    assert new.refused == ()


def test_one_finding_too_many_is_refused_and_the_known_one_kept() -> None:
    """Of two findings at one place, of which one is known, the second is listed."""
    new = update(
        Baseline({A: 1}), [finding(A, 2), finding(A, 1)], everything, allow_growth=False
    )
    assert new.counts == {A: 1}
    assert [d.span.line for d in new.refused] == [2]


def test_what_an_update_did_not_look_at_stays() -> None:
    """Entries of other services survive an update of one."""
    new = update(Baseline({A: 1, B: 2}), [], lambda key: key == A, allow_growth=False)
    assert new.counts == {B: 2}


@given(
    st.lists(st.sampled_from([A, B]), max_size=6),
    st.dictionaries(st.sampled_from([A, B]), st.integers(1, 4)),
    st.booleans(),
)
def test_after_an_update_the_run_is_clean_or_shows_what_was_refused(
    keys: list[Key], counts: dict[Key, int], allow: bool
) -> None:
    """Applying the new baseline leaves exactly the refused findings and nothing stale."""
    found = [finding(key, line) for line, key in enumerate(keys, 1)]
    new = update(Baseline(counts), found, everything, allow_growth=allow)
    filtered = apply(found, Baseline(new.counts), everything)
    assert filtered.findings == new.refused
    assert filtered.stale == ()
    assert not allow or new.refused == ()
    assert all(
        new.counts[key] <= max(counts.get(key, 0), keys.count(key))
        for key in new.counts
    )
