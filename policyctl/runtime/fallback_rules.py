"""Which errors a fallback answers for."""

from __future__ import annotations

from policyctl.runtime.classify import FAILURE, OUTCOME, members
from policyctl.runtime.conditions import condition_table
from policyctl.runtime.matching import error_matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.classify import Classifier

DEFAULT_FALLBACK_ON: tuple[str, ...] = (
    "recorded",
    "timeout",
    "circuit_open",
    "bulkhead_full",
    "rate_limited",
    "budget_exhausted",
)


class FallbackRules:
    """Which errors of a whole call the fallback answers (C30).

    Without a list: recorded failures, timeouts and the policy's rejections. The entry
    ``recorded`` stands for what the circuit breaker calls a failure.
    """

    __slots__ = ("_classifier", "_conditions", "_matcher", "_recorded")

    def __init__(
        self,
        entries: tuple[str | type[BaseException], ...] | None,
        classifier: Classifier,
        transport: str | None = None,
    ) -> None:
        wanted = DEFAULT_FALLBACK_ON if entries is None else entries
        self._recorded = "recorded" in wanted
        self._matcher = error_matcher(
            (entry for entry in wanted if entry != "recorded"), "fallback.fallback_on"
        )
        self._classifier = classifier
        self._conditions = condition_table(transport)

    def matches(self, error: BaseException) -> bool:
        """Whether the fallback answers for ``error``; never for a BaseException."""
        if not isinstance(error, Exception):
            return False
        if self._recorded and self._classifier.of_error(error) & OUTCOME == FAILURE:
            return True
        conditions = self._conditions.of(error)
        if self._matcher.matches(error, conditions):
            return True
        leaves = members(error)
        return bool(leaves) and all(map(self.matches, leaves))
