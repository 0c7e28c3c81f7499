"""The outage, second by second, in both worlds side by side."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from examples.demo.worlds import RATE, Call, World

OUTAGE = ((3, "fail"), (5, "hang"), (9, "ok"))
"""(second, mode of the server): healthy, then errors, then hangs, then healthy again."""

SECONDS = 24


@dataclass
class Second:
    """What one world saw in one second."""

    sent: int
    retries: int
    ok: int
    lost: int


@dataclass
class Summary:
    """What one world saw in the whole run."""

    sent_in_outage: int
    ok: int
    not_ok_after: int
    recovery: float | None


class Recorder:
    """Turns a world's running totals into rows."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.before: Counter[str] = Counter()
        self.sent_before = 0
        self.rows: list[Second] = []
        self.rejected = 0

    async def tick(self) -> Second:
        """The difference to the last tick."""
        sent = await self.world.received()
        delta = self.world.outcomes - self.before
        row = Second(
            sent - self.sent_before,
            delta["retry"],
            delta["ok"],
            delta["failed"] + delta["rejected"],
        )
        self.rejected = delta["rejected"]
        self.before = self.world.outcomes.copy()
        self.sent_before = sent
        self.rows.append(row)
        return row

    def summary(self) -> Summary:
        """Requests sent while the server was down, and how long it took to recover.

        Recovered is the first second after the outage in which nine of ten calls
        succeed, if nine of ten do from there to the end of the run as well.
        """
        first, end = OUTAGE[0][0], OUTAGE[-1][0]

        def good(rows: list[Second]) -> bool:
            return sum(row.ok for row in rows) >= 0.9 * RATE * len(rows)

        recovered = next(
            (
                second
                for second in range(end, len(self.rows))
                if good(self.rows[second : second + 1]) and good(self.rows[second:])
            ),
            None,
        )
        return Summary(
            sum(row.sent for row in self.rows[first:end]),
            sum(row.ok for row in self.rows),
            sum(row.lost for row in self.rows[end:]),
            None if recovered is None else float(recovered - end),
        )


HEAD = """\
                       |    hand-written retries     |     generated policies
 second  server  calls |  sent  retries   ok  failed |  sent  retries   ok  rejected  failed  breaker
 ------  ------  ----- |  ----  -------  ---  ------ |  ----  -------  ---  --------  ------  -------"""


class Transitions:
    """The breaker's states since the last look, in order."""

    def __init__(self, state: str) -> None:
        self.seen = [state]

    def add(self, state: str) -> None:
        """Remember a state that was entered."""
        self.seen.append(state)

    def take(self) -> str:
        """What happened since the last call, for example ``open > half_open``."""
        text = " > ".join(self.seen)
        self.seen = self.seen[-1:]
        return text


async def run(
    plain: World,
    plain_call: Call,
    guarded: World,
    guarded_call: Call,
    breaker: Transitions,
) -> tuple[Summary, Summary]:
    """Drive both worlds through the outage and print one line a second."""
    recorders = (Recorder(plain), Recorder(guarded))
    mode = "ok"
    number = 0
    print(HEAD)
    start = time.monotonic()
    for second in range(SECONDS):
        for at, changed in OUTAGE:
            if at == second:
                mode = changed
                await asyncio.gather(plain.switch(mode), guarded.switch(mode))
        for i in range(RATE):
            plain.start(plain_call, number)
            guarded.start(guarded_call, number)
            number += 1
            due = start + second + (i + 1) / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        left, right = await asyncio.gather(*(each.tick() for each in recorders))
        rejected = recorders[1].rejected
        print(
            f" {second:>6}  {mode:<6}  {RATE:>5} |"
            f"  {left.sent:>4}  {left.retries:>7}  {left.ok:>3}  {left.lost:>6} |"
            f"  {right.sent:>4}  {right.retries:>7}  {right.ok:>3}  {rejected:>8}"
            f"  {right.lost - rejected:>6}  {breaker.take()}",
            flush=True,
        )
    return recorders[0].summary(), recorders[1].summary()
