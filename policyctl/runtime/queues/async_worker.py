"""Workers as tasks that hand the items of a queue to an async operation (C35)."""

from __future__ import annotations

import asyncio
from typing import Any

from policyctl.runtime.clock import CLOCK
from policyctl.runtime.queues.item import Item
from policyctl.runtime.queues.plan import Step, work_off
from policyctl.runtime.queues.worker_core import WorkerCore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class AsyncWorker(WorkerCore):
    """Hands items to the operation that ``consume`` or ``upload`` names, in tasks.

    ``async with worker:`` starts and stops it. Arguments and errors are those of
    ``WorkerCore``.
    """

    asynchronous = True
    _tasks: tuple[asyncio.Task[None], ...] = ()
    _stopping: asyncio.Event

    def start(self) -> Self:
        """Start the tasks in the running event loop; does nothing if they run."""
        if self._tasks:
            return self
        self.queue.prepare()
        self._stopping = asyncio.Event()
        create = asyncio.get_running_loop().create_task
        loops = [create(self._loop()) for _ in range(self.concurrency)]
        self._tasks = (*loops, create(self._keep_leases()))
        return self

    async def stop(self, timeout: float | None = None) -> bool:
        """End the worker; whether everything came to its end in time.

        An upload worker goes on sending what is there; a consume worker finishes what
        it has begun. What is not done by then is cancelled and given back.

        Args:
            timeout: seconds for that; ``drain`` by default.
        """
        if not self._tasks:
            return True
        drain = self.drain if timeout is None else timeout
        self._until = CLOCK.now() + drain
        self._stopping.set()
        tasks, self._tasks = self._tasks, ()
        _, late = await asyncio.wait(tasks, timeout=drain + 0.5)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)
        ready = self.in_batches and (await self.queue.astats()).ready
        return not late and not ready

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def running(self) -> bool:
        """Whether its tasks are there."""
        return any(not task.done() for task in self._tasks)

    async def _loop(self) -> None:
        await self._wait(self.pace.first())
        while not self._stopping.is_set():
            try:
                pause = await self.step()
            except Exception as error:
                pause = self.troubled(error)
            await self._wait(pause)
        if self.in_batches:
            await self._drain()

    async def _drain(self) -> None:
        while CLOCK.now() < self._until:
            try:
                items = await self.queue.atake_many(self.pace.size)
                if not items or await self._work(items) is not None:
                    return
            except Exception as error:
                self.troubled(error)
                return

    async def _wait(self, seconds: float) -> None:
        if not CLOCK.real:
            await CLOCK.async_sleep(seconds)
            return
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _keep_leases(self) -> None:
        """Extend the leases of what is being worked on, three times in each."""
        pause = self.queue.settings.lease / 3
        stopping = asyncio.ensure_future(self._stopping.wait())
        while not stopping.done():
            await asyncio.wait([stopping], timeout=pause)
            await self._extend_held()
        while self._held and CLOCK.now() < self._until:
            await asyncio.sleep(min(pause, 0.05))
            await self._extend_held()

    async def _extend_held(self) -> None:
        held = list(self._held)
        if held:
            try:
                await self.queue.aextend_many(held)
            except Exception as error:
                self._say("worker_failed", error)

    async def step(self) -> float:
        """Take what is next and work it off; seconds to wait before the next step.

        Raises:
            StoreUnavailableError: the queue's store is away.
        """
        left = self._resume_at - CLOCK.now()
        if left > 0:
            return left
        size = self.pace.size
        items = await self.queue.atake_many(size)
        if not items:
            return self.pace.empty()
        outage = await self._work(items)
        return self.worked(outage, more=len(items) == size)

    async def _work(self, items: list[Item[Any]]) -> BaseException | None:
        plan = work_off(items, self.handler.blame)
        self._held.update(items)
        try:
            answer: BaseException | None = None
            while True:
                step = plan.send(answer)
                answer = await self._do(step)
        except StopIteration as end:
            outage: BaseException | None = end.value
            return outage
        except asyncio.CancelledError:
            await self.queue.arelease_many([i for i in items if i in self._held])
            raise
        finally:
            self._held.difference_update(items)

    async def _do(self, step: Step) -> BaseException | None:
        queue = self.queue
        if step.kind == "call":
            return await self.handler.aattempt(self.argument(step))
        if step.kind == "ack":
            self.count(step, await queue.aack_many(step.items))
        elif step.kind == "nack":
            self.count(step, await queue.anack_many(step.items, step.error))
        else:
            await queue.anack_many(
                step.items, step.error, delay=self.away(step), counted=False
            )
        self._held.difference_update(step.items)
        return None
