"""The function that a worker calls, under the policy of its operation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.queues.blame import Blame
from policyctl.runtime.registry import registry
from policyctl.runtime.settings import FallbackValue
from policyctl.runtime.signatures import is_async

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.policy import Policy
    from policyctl.runtime.queues.base import QueueBase


class Handler:
    """What is called with a payload, or with a list of payloads.

    Args:
        queue: whose worker it is.
        operation: ``service.operation``.
        function: takes the payload; None is the function that the operation guards.

    Attributes:
        blame: tells whose fault a failure is.

    Raises:
        PolicyConfigError: there is no such operation, it guards nothing yet, or its
            fallback would pass a failed item off as done.
    """

    def __init__(
        self,
        queue: QueueBase[Any],
        operation: str,
        function: Callable[[Any], Any] | None,
    ) -> None:
        self._queue = queue
        self._operation = operation
        self._function = function
        self.policy = self._find()
        self.asynchronous = is_async(self._target())
        self.blame = Blame(self.policy.transport, self._is_open)

    def _find(self) -> Policy:
        policy = registry.get(self._operation)
        if policy is None:
            raise self._wrong(
                f"there is no policy called {self._operation!r} in this process",
                "import the generated module of its service first",
            )
        if isinstance(policy.settings.get("fallback"), FallbackValue):
            raise self._wrong(
                f"{self._operation} answers failures with a fixed value, so that every "
                "item would count as done",
                "remove its fallback, or use another operation for the worker",
            )
        return policy

    def _target(self) -> Callable[..., Any]:
        found = self._function or self.policy.wrapped
        if found is None:
            raise self._wrong(
                f"{self._operation} guards no function yet",
                "decorate one with it, or pass the handler to worker()",
            )
        return found

    def _wrong(self, message: str, help: str) -> PolicyConfigError:
        queue = self._queue
        return PolicyConfigError(
            message, help=help, service=queue.service, operation=queue.queue
        )

    def _is_open(self) -> bool:
        policy = self.policy
        return policy.breaker is not None and policy.circuit_breaker.state != "closed"

    def __call__(self, argument: Any) -> Any:
        """Call the function; with an async one await what is returned."""
        if self._function is None:
            return self._target()(argument)
        return self.policy.call(self._function, argument)

    def attempt(self, argument: Any) -> BaseException | None:
        """Call a plain function; what it raised, or None."""
        try:
            self(argument)
        except BaseException as error:
            return error
        return None

    async def aattempt(self, argument: Any) -> BaseException | None:
        """Await a coroutine function; what it raised, or None.

        That something else which it awaited was cancelled is a failure like others.

        Raises:
            asyncio.CancelledError: this task was cancelled.
        """
        try:
            result: Awaitable[Any] = self(argument)
            await result
        except Exception as error:
            return error
        except BaseException as error:
            if not _is_of_another(error):
                raise
            return error
        return None


def _is_of_another(error: BaseException) -> bool:
    """Whether it tells that something else was cancelled, and not this task."""
    from asyncio import CancelledError, current_task

    task = current_task()
    return isinstance(error, CancelledError) and (
        task is not None and not task.cancelling()
    )
