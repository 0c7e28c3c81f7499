"""BH-04: the limit is lowered below what is in use, then raised."""

from __future__ import annotations

import asyncio

from policyctl.runtime import settings
from policyctl.runtime.policy import Policy


async def test_spare_capacity_is_computed_not_the_change() -> None:
    """4 running and 4 waiting; 1, then 3: never more than old holders or 3 inside."""
    policy = Policy(
        bulkhead=settings.Bulkhead(max_concurrent=4, max_queue=8, max_wait=60.0)
    )
    inside: set[int] = set()
    gates = [asyncio.Event() for _ in range(8)]

    @policy
    async def call(number: int) -> None:
        inside.add(number)
        await gates[number].wait()
        inside.remove(number)

    tasks = [asyncio.create_task(call(number)) for number in range(8)]
    await asyncio.sleep(0.01)
    assert inside == {0, 1, 2, 3}
    policy.bulkhead.max_concurrent = 1
    policy.bulkhead.max_concurrent = 3
    await asyncio.sleep(0.01)
    assert inside == {0, 1, 2, 3}
    sizes = []
    for number in range(8):
        gates[number].set()
        await asyncio.sleep(0.005)
        sizes.append(len(inside))
    assert sizes == [3, 3, 3, 3, 3, 2, 1, 0]
    await asyncio.gather(*tasks)
    assert policy.bulkhead.in_use == 0
