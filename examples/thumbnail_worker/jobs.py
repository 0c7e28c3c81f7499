"""What waits in the queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """One picture to make a thumbnail of."""

    picture: str
    width: int = 200
