"""Random numbers for jitter: seedable, shared, and different in every process."""

from __future__ import annotations

import os
from _random import Random as _Random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Chance(Protocol):
        """What jitter needs; ``random.Random`` has it."""

        def uniform(self, a: float, b: float, /) -> float:
            """A float from a to b."""
            ...


class _Shared:
    """The generator of this process."""

    __slots__ = ("_random",)

    def __init__(self) -> None:
        self._random = _Random()

    def uniform(self, a: float, b: float, /) -> float:
        """A float from a to b."""
        return a + (b - a) * self._random.random()

    def seed(self, seed: int | None = None) -> None:
        """Start over: from a number, or from the system's entropy."""
        self._random = _Random() if seed is None else _Random(seed)


RANDOM = _Shared()
"""What policies use unless they are given another."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RANDOM.seed)
