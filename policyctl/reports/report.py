"""``Report``: everything that a format prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from policyctl._version import __version__
from policyctl.diagnostics import Diagnostic, Severity
from policyctl.source.nodes import Source


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one run. Make it with ``Report.of``, which sorts.

    Attributes:
        findings: what counts, sorted by place.
        suppressed: findings that a comment or list entry hides, sorted by place.
        sources: texts by path, for excerpts; paths without a text show none.
        files: number of files read.
        services: number of services checked.
        baselined: number of findings that the baseline hides.
        fail_on: the least severity that makes the run fail.
        notes: sentences on what could not be checked, and why.
        version: of the tool.
    """

    findings: tuple[Diagnostic, ...] = ()
    suppressed: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    files: int = 0
    services: int = 0
    baselined: int = 0
    fail_on: Severity = Severity.ERROR
    notes: tuple[str, ...] = ()
    version: str = __version__

    @classmethod
    def of(
        cls,
        diagnostics: Iterable[Diagnostic],
        sources: Mapping[str, Source] | None = None,
        *,
        files: int | None = None,
        services: int = 0,
        baselined: int = 0,
        fail_on: Severity = Severity.ERROR,
        notes: Iterable[str] = (),
    ) -> Self:
        """Return a report of ``diagnostics`` in any order; equal ones count once.

        ``files`` is the number of ``sources`` unless given.
        """
        ordered = sorted(dict.fromkeys(diagnostics), key=lambda d: d.sort_key)
        sources = sources or {}
        return cls(
            findings=tuple(d for d in ordered if d.suppressed is None),
            suppressed=tuple(d for d in ordered if d.suppressed is not None),
            sources=sources,
            files=len(sources) if files is None else files,
            services=services,
            baselined=baselined,
            fail_on=fail_on,
            notes=tuple(notes),
        )

    @property
    def failed(self) -> bool:
        """Whether a finding is as bad as ``fail_on`` or worse."""
        return any(d.severity >= self.fail_on for d in self.findings)

    def count(self, severity: Severity) -> int:
        """The number of findings of one severity."""
        return Counter(d.severity for d in self.findings)[severity]

    def summary(self) -> str:
        """One line on the whole run; it says "clean" where there is nothing to mend."""
        hidden = [
            f"{number:,} {word}"
            for number, word in (
                (len(self.suppressed), "suppressed"),
                (self.baselined, "in the baseline"),
            )
            if number
        ]
        more = f" ({', '.join(hidden)})" if hidden else ""
        where = plural(self.files, "file")
        if self.services:
            where += f", {plural(self.services, 'service')}"
        if not self.findings:
            return f"clean: no findings in {where}{more}"
        counts = (
            (self.count(Severity.ERROR), "error"),
            (self.count(Severity.WARNING), "warning"),
            (self.count(Severity.INFO), "info"),
        )
        found = ", ".join(plural(number, word) for number, word in counts if number)
        return f"{found} in {where}{more}"


def plural(number: int, word: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
