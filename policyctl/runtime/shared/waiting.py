"""A question to the store, and the thread or task that waits for the answer."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from typing import Any

PENDING = 0
ANSWERED = 1
ABANDONED = 2


class Question:
    """What one attempt asks for; the owner's lock guards ``state``.

    Attributes:
        state: ``PENDING``, then ``ANSWERED`` or ``ABANDONED``.
        subject: what is asked for.
        answer: what came of it; None when the store is away.
    """

    __slots__ = ("_future", "_lock", "_loop", "answer", "state", "subject")

    def __init__(self, subject: Any, loop: AbstractEventLoop | None = None) -> None:
        self.subject = subject
        self.state = PENDING
        self.answer: Any = None
        self._loop = loop
        self._lock = allocate_lock()
        self._future: Future[None] | None = None
        if loop is None:
            self._lock.acquire()
        else:
            self._future = loop.create_future()

    def _finish(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def wait(self, longest: float) -> None:
        """Block until there is an answer, at most ``longest`` seconds."""
        self._lock.acquire(timeout=longest)

    async def wait_async(self, longest: float) -> None:
        """Suspend until there is an answer, at most ``longest`` seconds."""
        from asyncio import wait

        assert self._future is not None
        await wait([self._future], timeout=longest)


def wake_all(questions: list[Question]) -> None:
    """Tell those who wait that there are answers: each loop once, in order."""
    by_loop: dict[AbstractEventLoop, list[Question]] = {}
    for question in questions:
        if question._loop is None:
            question._lock.release()
        else:
            by_loop.setdefault(question._loop, []).append(question)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_finish_all, theirs)
        except RuntimeError:  # the loop is closed
            continue


def _finish_all(questions: list[Question]) -> None:
    for question in questions:
        question._finish()
