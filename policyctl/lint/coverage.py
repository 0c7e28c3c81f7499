"""What lint could not look at, and which facts would let it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not decide for want of one fact (its dotted policy path).

    ``closer`` says that the rule has something to report wherever it lacked the fact,
    and would only be more exact with it.
    """

    fact: str
    code: str
    closer: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which rules ran, and what each missing fact would unlock.

    Attributes:
        ran: codes of all rules that were not deselected, in order.
        skipped: one entry for each missing fact and rule, sorted.
    """

    ran: tuple[str, ...]
    skipped: tuple[Skipped, ...]

    def unlocks(self, prefix: str = "") -> dict[str, tuple[str, ...]]:
        """Missing facts at or below a policy path, with the rules that wait for them."""
        found: dict[str, list[str]] = {}
        for skip in self.skipped:
            if is_below(skip.fact, prefix):
                found.setdefault(skip.fact, []).append(skip.code)
        return {fact: tuple(codes) for fact, codes in found.items()}

    def wanted(
        self, prefix: str, closer: bool | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Missing facts that concern a policy path, those of its service included.

        ``closer`` chooses those that only make a finding more exact, or the others.
        """
        found: dict[str, list[str]] = {}
        for skip in self.skipped:
            if closer is not None and skip.closer is not closer:
                continue
            if is_below(skip.fact, prefix) or is_below(prefix, _owner(skip.fact)):
                found.setdefault(skip.fact, []).append(skip.code)
        return {fact: tuple(codes) for fact, codes in found.items()}

    def blind(self, service: str) -> frozenset[str]:
        """Codes of the rules that some fact of a service keeps from looking at all."""
        return frozenset(
            skip.code
            for skip in self.skipped
            if not skip.closer and is_below(skip.fact, service)
        )

    def by_service(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The same for each service."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for fact, codes in self.unlocks().items():
            found.setdefault(fact.partition(".")[0], {})[fact] = codes
        return found

    def waits(self, code: str, prefix: str) -> bool:
        """Whether rule ``code`` lacked a fact at, below or above a policy path."""
        return any(code in codes for codes in self.wanted(prefix).values())


def build(ran: Iterable[str], skipped: Iterable[Skipped]) -> Coverage:
    """A coverage with duplicates removed and everything in order.

    A rule that only misses exactness at one place and all at another is blind.
    """
    found: dict[tuple[str, str], bool] = {}
    for skip in skipped:
        key = (skip.fact, skip.code)
        found[key] = skip.closer and found.get(key, True)
    ordered = (Skipped(*key, closer=found[key]) for key in sorted(found))
    return Coverage(tuple(ran), tuple(ordered))


def is_below(path: str, prefix: str) -> bool:
    """Whether ``path`` is ``prefix`` or below it; everything is below the empty path.

    ``calls[tax_api.compute]`` is below ``calls``.
    """
    return not prefix or path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))


def _owner(fact: str) -> str:
    """What a fact belongs to: the path before ``.facts.``."""
    return fact.partition(".facts.")[0]
