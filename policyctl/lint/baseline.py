"""The baseline: known findings that do not fail a run, counted by rule and policy path.

The file is JSON, sorted and without line numbers, so that it changes only when findings
come or go::

    {
      "version": 1,
      "findings": [
        {"rule": "RT001", "path": "payment_api.operations.charge.retry.max_attempts", "count": 1}
      ]
    }
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from policyctl.diagnostics import Diagnostic, Severity
from policyctl.source.decode import line_starts
from policyctl.source.nodes import Source

VERSION = 1
STALE = "BL001"
Key = tuple[str, str]
"""A rule's code and a dotted policy path."""

_NEVER = frozenset({"SY", "VA", "CF", "LN", "BL"})
"""Families that no baseline takes: what is invalid or failed has to be mended."""


class BaselineError(Exception):
    """A file that is not a baseline; the text says why."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings: how many of each rule at each policy path.

    ``source`` is the file's text, for the places of stale entries.
    """

    counts: Mapping[Key, int] = field(default_factory=dict[Key, int])
    source: Source = field(default_factory=lambda: Source("", ""), compare=False)


@dataclass(frozen=True, slots=True)
class Filtered:
    """Findings without the known ones, how many those were, and what is stale."""

    findings: tuple[Diagnostic, ...]
    baselined: int
    stale: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """A new baseline, with what left it and what would make it grow."""

    counts: Mapping[Key, int]
    removed: int
    added: int
    refused: tuple[Diagnostic, ...]


def can_hold(finding: Diagnostic) -> bool:
    """Whether a baseline may take a finding: one of lint that nothing hides."""
    return finding.suppressed is None and finding.code[:2] not in _NEVER


def count(findings: Iterable[Diagnostic]) -> Counter[Key]:
    """How many findings a baseline would hold for each key."""
    return Counter((d.code, d.policy_path) for d in findings if can_hold(d))


def parse(text: str, path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        BaselineError: the text is not JSON, of another version, or of another shape.
    """
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise BaselineError(f"not valid JSON: {error}") from None
    except RecursionError:
        raise BaselineError("not valid JSON: nested too deeply") from None
    if not isinstance(data, dict) or "findings" not in data:
        raise BaselineError('there is no "findings" list in it')
    table = cast("dict[str, Any]", data)
    if table.get("version") != VERSION:
        raise BaselineError(f"its version is {table.get('version')!r}, not {VERSION}")
    entries: Any = table["findings"]
    if not isinstance(entries, list):
        raise BaselineError('its "findings" are not a list')
    listed = cast("list[object]", entries)
    counts: dict[Key, int] = {}
    for number, entry in enumerate(listed, 1):
        key, known = _entry(entry, number)
        counts[key] = counts.get(key, 0) + known
    return Baseline(counts, Source(path, text, line_starts=line_starts(text)))


def _entry(entry: object, number: int) -> tuple[Key, int]:
    """One item of the list."""
    if isinstance(entry, dict):
        table = cast("dict[str, Any]", entry)
        rule, path, known = (table.get(key) for key in ("rule", "path", "count"))
        texts = isinstance(rule, str) and isinstance(path, str)
        if texts and type(known) is int and known > 0:
            return (cast(str, rule), cast(str, path)), known
    raise BaselineError(
        f"entry {number} is not of the form "
        '{"rule": "RT001", "path": "service.operations.name", "count": 1}'
    )


def dump(counts: Mapping[Key, int]) -> str:
    """The text of a baseline file: one entry a line, sorted by path and rule."""
    ordered = sorted(counts.items(), key=lambda item: (item[0][1], item[0][0]))
    lines = [
        json.dumps({"rule": rule, "path": path, "count": known}, ensure_ascii=False)
        for (rule, path), known in ordered
        if known
    ]
    body = "".join(f"\n    {line}," for line in lines).rstrip(",")
    close = "\n  ]" if lines else "]"
    return f'{{\n  "version": {VERSION},\n  "findings": [{body}{close}\n}}\n'


def apply(
    findings: Iterable[Diagnostic], known: Baseline, looked_at: Callable[[Key], bool]
) -> Filtered:
    """Take the known findings out, the first of each key in report order.

    ``looked_at`` says whether this run would have found what a key stands for; only
    then an entry that hides less than it counts is stale.
    """
    left = Counter(known.counts)
    kept: list[Diagnostic] = []
    hidden = 0
    for finding in sorted(findings, key=lambda d: d.sort_key):
        key = (finding.code, finding.policy_path)
        if can_hold(finding) and left[key] > 0:
            left[key] -= 1
            hidden += 1
        else:
            kept.append(finding)
    stale = tuple(
        _stale(known, key, number)
        for key, number in sorted(left.items())
        if number > 0 and looked_at(key)
    )
    return Filtered(tuple(kept), hidden, stale)


def _stale(known: Baseline, key: Key, number: int) -> Diagnostic:
    rule, path = key
    total = known.counts[key]
    where = f"{rule} at {path}" if path else rule
    message = f"the baseline knows {total} of {where}, of which {number} are gone"
    if total == number:
        message = f"the baseline knows {where}, which is no longer found"
    return Diagnostic(
        STALE,
        "stale-baseline-entry",
        Severity.WARNING,
        message,
        known.source.span(*_place(known.source.text, key)),
        help="policyctl baseline update removes it",
        policy_path=path,
    )


def _place(text: str, key: Key) -> tuple[int, int]:
    """The characters of a key's path in the file."""
    quoted = json.dumps(key[1], ensure_ascii=False)
    rule = json.dumps(key[0], ensure_ascii=False)
    for match in re.finditer(re.escape(quoted), text):
        line = text.rfind("\n", 0, match.start()) + 1
        if rule in text[line : text.find("\n", match.end())]:
            return match.span()
    return 0, 0


def update(
    known: Baseline,
    findings: Iterable[Diagnostic],
    looked_at: Callable[[Key], bool],
    *,
    allow_growth: bool,
) -> Update:
    """The baseline after a run: what is gone leaves, what is new enters if allowed.

    Keys that the run did not look at stay as they are.
    """
    found = sorted(filter(can_hold, findings), key=lambda d: d.sort_key)
    now = count(found)
    counts: dict[Key, int] = {}
    removed = added = 0
    for key in {*known.counts, *now}:
        before = known.counts.get(key, 0)
        after = now[key] if looked_at(key) or now[key] > before else before
        if after > before and not allow_growth:
            after = before
        removed += max(0, before - after)
        added += max(0, after - before)
        if after:
            counts[key] = after
    seen: Counter[Key] = Counter()
    refused: list[Diagnostic] = []
    for finding in found:
        key = (finding.code, finding.policy_path)
        seen[key] += 1
        if seen[key] > counts.get(key, 0):
            refused.append(finding)
    return Update(counts, removed, added, tuple(refused))
