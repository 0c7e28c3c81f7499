"""What is answered when a call has failed for good (C30)."""

from __future__ import annotations

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.events import EVENTS
from policyctl.runtime.fallback_rules import FallbackRules
from policyctl.runtime.lazy import LazyCallable
from policyctl.runtime.settings import FallbackCall, FallbackOperation, FallbackValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.classify import Classifier
    from policyctl.runtime.policy import Policy

_IMMUTABLE = frozenset({type(None), bool, int, float, complex, str, bytes})


class Fallback:
    """The fallback of one policy.

    Attributes:
        settings: which of the three forms, and when.
    """

    __slots__ = ("_answer", "_policy", "_rules", "settings")

    def __init__(
        self,
        policy: Policy,
        settings: FallbackValue | FallbackCall | FallbackOperation,
        classifier: Classifier,
    ) -> None:
        self._policy = policy
        self.settings = settings
        self._rules = FallbackRules(settings.fallback_on, classifier, policy.transport)
        self._answer: Callable[..., Any] = _answer_of(settings)

    def covers(self, error: Exception, rejection: Exception | None) -> bool:
        """Whether to answer for ``error``, or for the rejection that ended the call."""
        if self._rules.matches(error):
            return True
        return rejection is not None and self._rules.matches(rejection)

    def answer(
        self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The answer, or an awaitable of it, for the same arguments."""
        if EVENTS.listeners:
            policy = self._policy
            EVENTS.emit("fallback", policy.service, policy.operation, error=error)
        return self._answer(*args, **kwargs)


def _answer_of(
    settings: FallbackValue | FallbackCall | FallbackOperation,
) -> Callable[..., Any]:
    if isinstance(settings, FallbackValue):
        return _copier(settings.value)
    if isinstance(settings, FallbackCall):
        return LazyCallable(settings.call, "fallback.call")
    return _Operation(settings.operation)


def _copier(value: Any) -> Callable[..., Any]:
    if type(value) in _IMMUTABLE:
        return lambda *args, **kwargs: value

    def copy_value(*args: Any, **kwargs: Any) -> Any:
        from copy import deepcopy

        return deepcopy(value)

    return copy_value


class _Operation:
    """Another operation of the registry, with the function that it guards."""

    __slots__ = ("_function", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        if function is None:
            function = self._function = self._find()
        return function(*args, **kwargs)

    def _find(self) -> Callable[..., Any]:
        from policyctl.runtime.registry import registry

        wrapped: Callable[..., Any] | None = registry[self._name].wrapped
        if wrapped is None:
            raise PolicyConfigError(
                f"no function is decorated with {self._name} yet",
                path="fallback.operation",
                help=f"import the module that decorates a function with {self._name}",
            )
        return wrapped
