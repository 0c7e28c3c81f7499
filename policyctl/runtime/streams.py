"""Guarded generators and async generators (C19).

The attempt begins with the first step and ends with the stream: exhausted is a success,
an error is what its class says, closed early is neutral, and so is an error that the
consumer threw in and that comes back. Its slot is held all the while. A retry happens
only before the first item. The budget's scope is set and left around each step, never
across a ``yield``, because steps may be made by different tasks.
"""

from __future__ import annotations

from math import inf

from policyctl.runtime.budget import DEADLINE, NO_DEADLINE, restore
from policyctl.runtime.call import Call
from policyctl.runtime.classify import FAILURE, NEUTRAL, SUCCESS
from policyctl.runtime.clock import CLOCK
from policyctl.runtime.discarded import drop, drop_in_task
from policyctl.runtime.errors import AttemptTimeoutError, BudgetExhaustedError
from policyctl.runtime.signatures import is_awaitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from contextvars import Token
    from typing import Any

    from policyctl.runtime.attempt import Attempt
    from policyctl.runtime.outgoing import Sending
    from policyctl.runtime.policy import Policy

END = object()
"""In place of an item when there is none any more."""


class Stream:
    """What sync and async streams share.

    Attributes:
        call: the whole call.
        attempt: the attempt that is open.
        source: the generator of that attempt, None when it is closed.
        failure: what the last attempt failed with, None while it has not.
    """

    def __init__(
        self,
        policy: Policy,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.call = Call(policy, fn, args, kwargs, None)
        self.attempt: Attempt | None = None
        self.source: Any = None
        self.failure: Exception | None = None
        self._own: float | None = None
        self._spent = 0.0
        self._began = 0.0
        self._sent: Token[Sending | None] | None = None

    def enter_scope(self) -> Token[float] | None:
        """Publish the call's own budget for one step."""
        policy = self.call.policy
        if policy.sending is not None:
            from policyctl.runtime.outgoing import publish

            self._sent = publish(policy.sending)
        if policy.budget_total is None:
            return None
        if self._own is None:
            self._own = CLOCK.now() + policy.budget_total
        if policy.inherits_budget and DEADLINE.get() <= self._own:
            return None
        return DEADLINE.set(self._own)

    def leave_scope(self, token: Token[float] | None) -> None:
        """Take back what ``enter_scope`` published."""
        sent, self._sent = self._sent, None
        if sent is not None:
            from policyctl.runtime.outgoing import take_back

            take_back(sent)
        if token is not None:
            restore(token)

    def begin_step(self) -> None:
        """Start the watch of the callee's own time."""
        self._began = CLOCK.now()

    def end_step(self) -> None:
        """Stop it; the consumer's time between steps is not the callee's."""
        self._spent += CLOCK.now() - self._began

    def finish(self, result: Any) -> None:
        """The stream is exhausted."""
        self.call.over = True
        attempt = self._close()
        sending = self.call.policy.sending
        if sending is not None:
            sending.ended = True
        if attempt is not None:
            attempt.result = result
            attempt.settle(SUCCESS, CLOCK.now())

    def fail(self, caught: BaseException, thrown: BaseException | None) -> bool:
        """The stream raised; whether the attempt now holds that as its error."""
        attempt = self._close()
        if attempt is None:
            return False
        if caught is thrown:
            attempt.give_up()
            return False
        holds = attempt.failed(caught, False)
        self.failure = attempt.error
        return holds

    def cut(self, error: Exception) -> None:
        """The budget ended it; a failure only after half the attempt's limit (C22)."""
        attempt = self._close()
        if attempt is not None:
            total = self.call.policy.attempt_limit
            blamed = total is not None and self._spent >= total / 2
            attempt.error = self.failure = error
            attempt.settle(FAILURE if blamed else NEUTRAL, CLOCK.now())

    def abandon(self) -> None:
        """The stream is closed before its end."""
        attempt = self._close()
        if attempt is not None:
            attempt.give_up()

    def end(self) -> None:
        """Count the call, and let go of all that it holds."""
        call, failure = self.call, self.failure
        self.failure = None
        if failure is not None and call.error is None and not call.answered:
            call.error = failure
            call.over = True
        call.end()

    def _close(self) -> Attempt | None:
        attempt, self.attempt, self.source = self.attempt, None, None
        if attempt is not None:
            attempt.started = CLOCK.now() - self._spent
        return attempt


def run_generator(
    policy: Policy,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Generator[Any, Any, Any]:
    """The guarded form of a generator; send, throw and close reach the inner one."""
    stream = SyncStream(policy, fn, args, kwargs)
    thrown: BaseException | None = None
    try:
        item = stream.start()
        while item is not END:
            thrown = None
            sent: Any = None
            try:
                sent = yield item
            except GeneratorExit:
                raise
            except BaseException as error:
                thrown = error
            item = stream.step(sent, thrown)
        return stream.call.result
    finally:
        thrown = None
        try:
            stream.close()
        finally:
            stream.end()


class SyncStream(Stream):
    """A generator under its policy."""

    def start(self) -> Any:
        """The first item, after retries, or ``END``."""
        token = self.enter_scope()
        try:
            self.call.count_first_try()
            attempt, item = self._first()
            while (delay := self.call.next_delay(attempt)) is not None:
                drop(self.call.error, None)
                if delay > 0:
                    CLOCK.sleep(delay)
                attempt, item = self._first()
        finally:
            self.leave_scope(token)
        if self.call.error is None:
            return item
        return self._fall_back(self.call.error)

    def _first(self) -> tuple[Attempt, Any]:
        from policyctl.runtime.run_sync import _enter

        attempt = self.call.new_attempt()
        if not _enter(attempt):
            return attempt, END
        self.attempt, self._spent, self.failure = attempt, 0.0, None
        try:
            self.source = self.call.fn(*self.call.args, **self.call.kwargs)
            return attempt, self._advance(None, None)
        except BaseException:
            if attempt.error is None:
                raise
            return attempt, END

    def step(self, sent: Any, thrown: BaseException | None) -> Any:
        """The next item, or ``END``."""
        token = self.enter_scope()
        try:
            return self._advance(sent, thrown)
        finally:
            self.leave_scope(token)

    def _advance(self, sent: Any, thrown: BaseException | None) -> Any:
        source = self.source
        self.begin_step()
        try:
            item = source.send(sent) if thrown is None else source.throw(thrown)
        except StopIteration as stop:
            self.end_step()
            self.call.result = stop.value
            self.finish(stop.value)
            return END
        except BaseException as caught:
            self.end_step()
            self.fail(caught, thrown)
            raise
        self.end_step()
        return item

    def close(self) -> None:
        """Close the inner generator if it is still open."""
        source = self.source
        if source is None:
            return
        try:
            source.close()
        finally:
            self.abandon()

    def _fall_back(self, error: Exception) -> Any:
        fallback = self.call.policy.answers
        self.call.over = True
        if fallback is None or not fallback.covers(error, self.call.rejection):
            raise error
        self.source = _iterate(fallback.answer(error, self.call.args, self.call.kwargs))
        self.call.error = None
        self.call.answered = True
        return self._advance(None, None)


def _iterate(answer: Iterable[Any]) -> Generator[Any, Any, None]:
    """A generator over the items of a fallback's answer."""
    yield from answer


class AsyncStream(Stream):
    """An async generator under its policy."""

    async def start(self) -> Any:
        """The first item, after retries, or ``END``."""
        token = self.enter_scope()
        try:
            self.call.count_first_try()
            attempt, item = await self._first()
            while (delay := self.call.next_delay(attempt)) is not None:
                await drop_in_task(self.call.error, None)
                if delay > 0 or self.call.yields:
                    await CLOCK.async_sleep(delay)
                attempt, item = await self._first()
        finally:
            self.leave_scope(token)
        if self.call.error is None:
            return item
        return await self._fall_back(self.call.error)

    async def _first(self) -> tuple[Attempt, Any]:
        from policyctl.runtime.run_async import _enter

        attempt = self.call.new_attempt()
        if not await _enter(attempt):
            return attempt, END
        self.attempt, self._spent, self.failure = attempt, 0.0, None
        try:
            self.source = self.call.fn(*self.call.args, **self.call.kwargs)
            return attempt, await self._advance(None, None, "first_item")
        except BaseException:
            if attempt.error is None:
                raise
            return attempt, END

    async def step(self, sent: Any, thrown: BaseException | None) -> Any:
        """The next item, or ``END``."""
        token = self.enter_scope()
        try:
            return await self._advance(sent, thrown, "idle")
        finally:
            self.leave_scope(token)

    async def _advance(
        self, sent: Any, thrown: BaseException | None, phase: str
    ) -> Any:
        from policyctl.runtime.timer import limit_attempt

        source = self.source
        wait, why = self._limit(phase)
        self.begin_step()
        limit = None if wait == inf else limit_attempt(wait, self._began + wait)
        try:
            if thrown is None:
                item = await source.asend(sent)
            else:
                item = await source.athrow(thrown)
        except StopAsyncIteration:
            self.end_step()
            if limit is not None:
                limit.end(None)
            self.finish(None)
            return END
        except BaseException as caught:
            self.end_step()
            if limit is not None and limit.end(caught):
                error = self._timed_out(why, wait)
                error.__cause__ = caught
                if why == "budget":
                    self.cut(error)
                else:
                    self.fail(error, None)
                raise error from caught
            self.fail(caught, thrown)
            raise
        self.end_step()
        if limit is not None:
            limit.end(None)
        return item

    def _limit(self, phase: str) -> tuple[float, str]:
        """Seconds for the coming step, and which limit that is."""
        attempt = self.attempt
        if attempt is None:
            return inf, ""
        timeout = self.call.policy.settings.get("attempt_timeout")
        limits: list[tuple[float, str]] = []
        now = CLOCK.now()
        if timeout is not None:
            part = getattr(timeout, phase)
            if part is not None:
                limits.append((part, phase))
            if timeout.total is not None:
                limits.append((attempt.started + timeout.total - now, "total"))
        deadline = DEADLINE.get()
        if deadline != NO_DEADLINE:
            limits.append((deadline - now, "budget"))
        return min(limits, default=(inf, ""))

    def _timed_out(self, why: str, wait: float) -> Exception:
        policy = self.call.policy
        if why == "budget":
            left = DEADLINE.get() - CLOCK.now()
            return BudgetExhaustedError(
                policy.service,
                policy.operation,
                left,
                policy.minimum,
                after=self._spent,
            )
        if why == "total":
            wait = policy.settings["attempt_timeout"].total
        return AttemptTimeoutError(policy.service, policy.operation, wait, why)

    async def close(self) -> None:
        """Close the inner generator if it is still open."""
        source = self.source
        if source is None:
            return
        try:
            await source.aclose()
        finally:
            self.abandon()

    async def _fall_back(self, error: Exception) -> Any:
        fallback = self.call.policy.answers
        self.call.over = True
        if fallback is None or not fallback.covers(error, self.call.rejection):
            raise error
        answer = fallback.answer(error, self.call.args, self.call.kwargs)
        if is_awaitable(answer):
            answer = await answer
        self.source = _iterate_async(answer)
        self.call.error = None
        self.call.answered = True
        return await self._advance(None, None, "first_item")


async def _iterate_async(answer: Any) -> Any:
    """An async generator over the items of a fallback's answer."""
    if hasattr(answer, "__aiter__"):
        async for item in answer:
            yield item
    else:
        for item in answer:
            yield item
