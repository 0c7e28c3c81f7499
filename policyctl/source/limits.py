"""What the reader accepts at most, so that hostile text costs bounded time and memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file.

    Attributes:
        max_bytes: size of the file; checked before anything is decoded.
        max_depth: nesting of mappings and sequences, aliases followed.
        max_values: scalars and containers of the whole file, aliases expanded.
        max_errors: findings after which reading stops.
    """

    max_bytes: int = 5 * 1024 * 1024
    max_depth: int = 100
    max_values: int = 250_000
    max_errors: int = 20


DEFAULT_LIMITS = Limits()
