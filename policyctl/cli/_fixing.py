"""``validate --fix`` and ``--diff``: apply fixes in passes until none is left.

Everything happens in memory: files are written once, at the end. A pass applies all
fixes that do not overlap, then reads, validates and lints again. Only a pass after which
the whole is better is kept: no new error of validation, and fewer errors, or as many
errors and fewer warnings, or as many of both and fewer infos. That order also makes it
end. If a pass is no better, its fixes are tried one by one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policyctl.cli import _session
from policyctl.cli._inputs import File
from policyctl.cli._save import save
from policyctl.cli._validation import Run, report
from policyctl.diagnostics import Diagnostic, Fix, Severity
from policyctl.reports.report import Report, plural
from policyctl.source.decode import decode
from policyctl.source.edits import apply_fixes, encode
from policyctl.source.nodes import Source
from policyctl.source.regular import read_regular

MOST_PASSES = 20
MOST_TRIALS = 50
"""Fixes that are tried one by one, each with a whole lint run."""

_INVALID = ("SY", "VA")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that the fixes change: its bytes as read, and as they are to be."""

    file: File
    data: bytes

    def diff(self) -> str:
        """The change as a patch."""
        old, new = (
            data.decode("utf-8", "replace").splitlines(keepends=True)
            for data in (self.file.data, self.data)
        )
        name = self.file.display
        lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(map(_ended, lines))


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the fixes come to.

    Attributes:
        report: of the policies as they are after the fixes.
        changes: the files that differ, in the order of the run.
        count: fixes applied.
        refused: fixes that made nothing better.
    """

    report: Report
    changes: tuple[Change, ...]
    count: int
    refused: int


def fix(run: Run, *, unsafe: bool) -> Fixed:
    """Work out all fixes of a run; nothing is written."""
    return _Fixing(run, unsafe).run()


def write(fixed: Fixed) -> None:
    """Write the changed files.

    Raises:
        CommandError: a file cannot be written, or is no longer what was read.
    """
    from policyctl.cli._errors import CommandError

    for change in fixed.changes:
        path = change.file.path
        assert path is not None
        try:
            now = read_regular(path)
        except OSError:
            now = b""
        if now != change.file.data:
            raise CommandError(
                f"{change.file.display} has changed while it was being fixed",
                "run the command again",
            )
    for change in fixed.changes:
        assert change.file.path is not None
        save(change.file.path, change.data)


def words(fixed: Fixed, verb: str) -> str:
    """One line on what the fixes did, or would do."""
    text = "nothing to fix"
    if fixed.count:
        findings = plural(fixed.count, "finding")
        text = f"{verb} {findings} in {plural(len(fixed.changes), 'file')}"
    left = [d.fix for d in fixed.report.findings if d.fix is not None]
    unsafe = sum(not fix.safe for fix in left)
    if unsafe:
        text += f"; --unsafe-fixes would try {unsafe:,} more"
    if fixed.refused:
        text += f"; {fixed.refused:,} would have made nothing better"
    return text


class _Fixing:
    """The state of one run of fixes."""

    def __init__(self, run: Run, unsafe: bool) -> None:
        self._started = run
        self._run = run
        self._unsafe = unsafe
        self._banned: set[tuple[str, str, str]] = set()
        self._trials = 0
        self._count = 0
        self._files = {
            file.display: file for file in run.session.gathered.files if file.reported
        }

    def run(self) -> Fixed:
        """Apply pass after pass."""
        now = report(self._run)
        for _ in range(MOST_PASSES):
            fixes = self._fixes(now)
            if not fixes:
                break
            better = self._apply(fixes, now) or self._one_by_one(fixes, now)
            if better is None:
                break
            now = better
        before = {f.display: f for f in self._started.session.gathered.files}
        changes = tuple(
            Change(before[file.display], file.data)
            for file in self._run.session.gathered.files
            if file.data != before[file.display].data
        )
        return Fixed(now, changes, self._count, len(self._banned))

    def _fixes(self, now: Report) -> list[Diagnostic]:
        """The findings whose fixes may be applied, one for each equal fix."""
        found: dict[Fix, Diagnostic] = {}
        for finding in now.findings:
            fix = finding.fix
            if fix is None or not fix.edits or not (fix.safe or self._unsafe):
                continue
            paths = {edit.span.path for edit in fix.edits}
            ours = len(paths) == 1 and paths <= self._files.keys()
            if ours and _key(finding) not in self._banned:
                found.setdefault(fix, finding)
        return list(found.values())

    def _apply(self, findings: Iterable[Diagnostic], now: Report) -> Report | None:
        """Apply what does not overlap; the new report if that is better."""
        texts, count = self._texts(findings)
        if not count:
            return None
        session = _session.changed(self._run.session, texts)
        run = self._run.with_session(session)
        after = report(run)
        if not _better(after, now):
            return None
        self._run, self._count = run, self._count + count
        return after

    def _texts(self, findings: Iterable[Diagnostic]) -> tuple[dict[str, bytes], int]:
        """The new bytes of each file, and how many fixes are in them."""
        by_path: dict[str, list[Fix]] = {}
        for finding in findings:
            assert finding.fix is not None
            path = finding.fix.edits[0].span.path
            by_path.setdefault(path, []).append(finding.fix)
        sources = self._sources()
        texts: dict[str, bytes] = {}
        count = 0
        for path, fixes in by_path.items():
            source = sources.get(path)
            if source is None:
                continue
            try:
                applied = apply_fixes(source, fixes)
            except ValueError:
                continue
            texts[path] = encode(source, applied.text)
            count += len(applied.applied)
        return texts, count

    def _sources(self) -> Mapping[str, Source]:
        found: dict[str, Source] = {}
        for file in self._run.session.gathered.files:
            if file.display in self._files:
                source, _problem = decode(file.data, file.display)
                if source is not None:
                    found[file.display] = source
        return found

    def _one_by_one(self, findings: Iterable[Diagnostic], now: Report) -> Report | None:
        """Try each fix alone until one makes things better; ban those that do not."""
        for finding in findings:
            if self._trials >= MOST_TRIALS:
                return None
            self._trials += 1
            better = self._apply((finding,), now)
            if better is not None:
                return better
            self._banned.add(_key(finding))
        return None


def _key(finding: Diagnostic) -> tuple[str, str, str]:
    """What stays of a finding while its lines move."""
    return (finding.code, finding.policy_path or finding.message, finding.span.path)


def _better(after: Report, before: Report) -> bool:
    """Whether a pass brought less to mend and made nothing invalid."""
    if _invalid(after) > _invalid(before):
        return False
    return _weight(after) < _weight(before)


def _invalid(report: Report) -> int:
    return sum(
        d.severity is Severity.ERROR and d.code.startswith(_INVALID)
        for d in report.findings
    )


def _weight(report: Report) -> tuple[int, int, int, int]:
    """Errors of validation, then errors, warnings and infos."""
    return (
        _invalid(report),
        report.count(Severity.ERROR),
        report.count(Severity.WARNING),
        report.count(Severity.INFO),
    )


def patch(changes: Iterable[Change]) -> Iterator[str]:
    """The patch of every changed file."""
    for change in changes:
        yield change.diff()


def _ended(line: str) -> str:
    """A line of a patch; one without a line break says so, as diff does."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
