"""C10: what the compiled wrappers rely on when they count without a lock."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from policyctl.runtime import settings
from policyctl.runtime.attempt import Attempt
from policyctl.runtime.bulkhead import Waiters
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


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL they take the lock")
@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (Gate.leave, 1),
        (Gate.flag, 2),
        (Gate.one_in, 1),
        (Gate.one_out, 1),
        (Waiters.try_enter, 1),
        (Waiters.release, 1),
        (Attempt.take_slot, 2),
        (Attempt._leave_slot, 1),
    ],
)
def test_lines_outside_the_lock_cannot_be_interrupted(
    function: Callable[..., Any], lines: int
) -> None:
    """The slow side counts in single statements of one line each, where it has no lock.

    A debugger or a tracer of coverage is called at each new line of a statement too.
    """
    found = _lines_that_store(function, "cell_contents")
    assert len(found) == lines
    for line in found:
        assert [i.opname for i in line if _may_switch(i)] == []
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Assign | ast.AugAssign):
            assert (
                "cell_contents" not in ast.dump(node) or node.end_lineno == node.lineno
            )


def test_hammer_of_the_slow_side_passes_no_limit() -> None:
    """32 threads that fail, retry and wait never have more than 5 inside, or lose one."""
    policy = Policy(
        retry=settings.Retry(
            backoff=settings.Backoff(initial=0.0, max=0.0),
            retry_on=("ConnectionError",),
        ),
        circuit_breaker=settings.CircuitBreaker(failure_threshold=10**6),
        bulkhead=settings.Bulkhead(max_concurrent=5, max_queue=100, max_wait=60.0),
    )
    lock = threading.Lock()
    inside: list[int] = []
    most = [0]

    @policy
    def work(number: int) -> int:
        inside.append(number)
        with lock:
            most[0] = max(most[0], len(inside))
        inside.remove(number)
        if number % 3 and not number % 2:
            raise ConnectionError
        return number

    def calls(first: int) -> None:
        for number in range(first, first + 60):
            with suppress(ConnectionError):
                work(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=calls, args=(n * 60,), daemon=True)
            for n in range(32)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert 0 < most[0] <= 5
    assert policy.gate.in_use == 0
    assert policy.bulkhead.rejected == 0


def test_hammer_loses_no_count() -> None:
    """64 threads x 500 calls through one gate end with it empty, whoever switches when."""
    policy = Policy(**FULL | {"bulkhead": settings.Bulkhead(max_concurrent=64)})  # type: ignore[arg-type]
    guarded = policy(_plain)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(
                target=lambda: [guarded(i) for i in range(500)], daemon=True
            )
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
