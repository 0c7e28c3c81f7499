"""The part of asyncio that compiled wrappers call, loaded on the first async call.

asyncio costs more to import than the whole runtime, so that a process without async
calls must not pay for it (C41).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.timer import Wheel


class Aio:
    """Functions of asyncio and of our own async half, once they are loaded."""

    __slots__ = ("_names", "_prefix", "find_wheel", "run")

    find_wheel: Callable[[AbstractEventLoop, float], Wheel]
    run: Callable[..., Any]

    def __init__(self) -> None:
        self.run = self._first_run

    def publish(self, names: dict[str, Any], prefix: str) -> None:
        """Keep ``running_loop`` and ``current_task`` in ``names``, as globals that
        compiled wrappers read faster than attributes."""
        self._names = names
        self._prefix = prefix
        names[f"{prefix}running_loop"] = self._first_running_loop

    def load(self) -> None:
        """Import asyncio and put the real functions in place."""
        import asyncio

        from policyctl.runtime import run_async, timer

        self.find_wheel = timer.find_wheel
        self.run = run_async.run
        # The name that says "loaded" comes last, for the sake of other threads.
        self._names[f"{self._prefix}current_task"] = asyncio.current_task
        self._names[f"{self._prefix}running_loop"] = asyncio.get_running_loop

    def _first_running_loop(self) -> AbstractEventLoop:
        self.load()
        loop: AbstractEventLoop = self._names[f"{self._prefix}running_loop"]()
        return loop

    def _first_run(self, *args: Any) -> Any:
        self.load()
        return self.run(*args)


class NoWheel:
    """In place of a wheel before the first one is found."""

    __slots__ = ("loop",)

    def __init__(self) -> None:
        self.loop = None


AIO = Aio()
NO_WHEEL = NoWheel()
