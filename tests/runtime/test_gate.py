"""C10: what the compiled wrappers rely on when they count without a lock."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.gate import HAS_GIL, UNUSUAL, Gate
from policyctl.runtime.policy import Policy

FULL = {
    "retry": settings.Retry(retry_on=("ConnectionError",)),
    "circuit_breaker": settings.CircuitBreaker(),
    "bulkhead": settings.Bulkhead(max_concurrent=10),
}

RATIO = settings.CircuitBreaker(failure_ratio=0.5)


def _plain(value: int) -> int:
    return value


async def _coroutine(value: int) -> int:
    return value


def _may_switch(instruction: dis.Instruction) -> bool:
    """Whether the interpreter may run another thread at this instruction."""
    name = instruction.opname
    return name.startswith(("CALL", "PRECALL", "RESUME", "SEND", "YIELD")) or (
        "JUMP_BACKWARD" in name
    )


def _lines_that_store(function: Any, *names: str) -> list[list[dis.Instruction]]:
    by_line: dict[int, list[dis.Instruction]] = {}
    line = 0
    for instruction in dis.get_instructions(function):
        if instruction.positions is not None and instruction.positions.lineno:
            line = instruction.positions.lineno
        by_line.setdefault(line, []).append(instruction)
    return [
        found
        for found in by_line.values()
        if any(i.opname.startswith("STORE_") and i.argval in names for i in found)
    ]


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL wrappers take the lock")
@pytest.mark.parametrize("function", [_plain, _coroutine])
@pytest.mark.parametrize("more", [{}, {"circuit_breaker": RATIO}])
def test_gate_lines_cannot_be_interrupted(
    function: Callable[..., Any], more: dict[str, Any]
) -> None:
    """Each line that changes the count has no instruction at which threads switch."""
    policy = Policy(**FULL | more)
    lines = _lines_that_store(policy(function), "_pc_count")
    assert len(lines) in (2, 3)
    lines += _lines_that_store(Gate.add, "cell_contents")
    assert len(lines) in (3, 4)
    for line in lines:
        assert [i.opname for i in line if _may_switch(i)] == []


def test_hammer_loses_no_count() -> None:
    """64 threads x 500 calls through one gate end with it empty, whoever switches when."""
    policy = Policy(**FULL | {"bulkhead": settings.Bulkhead(max_concurrent=64)})  # type: ignore[arg-type]
    guarded = policy(_plain)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: [guarded(i) for i in range(500)])
            for _ in range(64)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert policy.bulkhead.in_use == 0
    assert policy.bulkhead.rejected == 0
    assert policy.gate.count == 0


def test_fork_empties_the_gate_and_late_ends_do_not_count_below_zero() -> None:
    """After a fork the parent's attempts are gone; one that ends in the child is not
    counted twice, and then the gate is quiet again."""
    gate = Gate()
    gate.add(2)
    gate.after_fork()
    assert gate.in_use == 0
    assert gate.count == UNUSUAL
    gate.add(1)
    gate.leave()
    assert gate.in_use == 0
    gate.leave()
    gate.leave()
    assert gate.count == 0
