"""Two worlds with the same load and the same outage: hand-written retries, and policies."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

Call = Callable[[str], Awaitable[str]]

RATE = 20
"""Calls per second in each world; the server can serve 40."""


@dataclass
class World:
    """One server process, one client, one way of calling, and what came of it."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    process: subprocess.Popen[str] | None = None
    url: str = ""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    last_ok: float | None = None

    async def __aenter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        port = await asyncio.to_thread(self.process.stdout.readline)
        self.url = f"http://127.0.0.1:{int(port)}"
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self.client = httpx.AsyncClient(base_url=self.url, limits=limits, timeout=2.0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.client.aclose()
        if self.process is not None:
            self.process.terminate()
            self.process.wait(5)

    async def switch(self, mode: str) -> None:
        """Tell the server how to behave."""
        await self.client.post(f"/control/{mode}", timeout=10.0)

    async def received(self) -> int:
        """Requests that have reached the server since it started."""
        answer = await self.client.get("/control/stats", timeout=10.0)
        return int(answer.json()["received"])

    def start(self, call: Call, number: int) -> None:
        """Make one call in the background and count how it ended."""
        task = asyncio.create_task(self._count(call, number))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _count(self, call: Call, number: int) -> None:
        try:
            outcome = await call(f"/hotels/{number}")
        except (httpx.HTTPError, TimeoutError):
            outcome = "failed"
        self.outcomes[outcome] += 1
        if outcome == "ok":
            self.last_ok = time.monotonic()


def hand_written(world: World) -> Call:
    """What many code bases have: three tries, a short fixed pause, a timeout on each."""
    client = world.client

    async def call(path: str) -> str:
        last: httpx.HTTPError | None = None
        for attempt in range(3):
            if attempt:
                world.outcomes["retry"] += 1
            try:
                answer = await client.get(path, timeout=0.5)
                answer.raise_for_status()
                return "ok"
            except httpx.HTTPError as error:
                last = error
                await asyncio.sleep(0.1)
        assert last is not None
        raise last

    return call
