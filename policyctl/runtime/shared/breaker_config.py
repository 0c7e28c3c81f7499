"""What a shared breaker's script is told of settings, and the names that it sees."""

from __future__ import annotations

from hashlib import blake2b
from itertools import count

from policyctl.runtime.shared.link import TICK
from policyctl.runtime.window import BUCKETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from policyctl.runtime.breaker_settings import CircuitBreaker

CONFIRM = 2.5 * TICK
"""Seconds without a success anywhere before failures in a row open it for all."""
GRACE = 1.0
"""Seconds that a lease outlasts ``half_open_max_wait``, after which its process must
have called the probe a failure; one that expires belongs to a process that is gone."""
_KEEP = 3600.0
MICRO = 1_000_000
LONGEST = 2_592_000.0

_next_lease = count(1).__next__


def config_of(settings: CircuitBreaker) -> dict[str, Any]:
    """The settings as the script reads them; times in microseconds."""
    recovery, window = settings.recovery_timeout, settings.window
    seconds, calls = window.seconds or 0.0, window.calls or 0
    most = LONGEST if recovery.max is None else min(recovery.max, LONGEST)
    keep = _KEEP + seconds + settings.half_open_max_wait
    found = {
        "threshold": settings.failure_threshold,
        "ratio": settings.failure_ratio,
        "slow": None if settings.slow_call is None else settings.slow_call.ratio,
        "minimum": settings.minimum_calls,
        "bucket": round(seconds * MICRO / BUCKETS),
        "buckets": BUCKETS,
        "calls": calls,
        "chunk": max(1, calls // BUCKETS),
        "confirm": round(CONFIRM * MICRO),
        "initial": recovery.initial * MICRO,
        "multiplier": recovery.multiplier,
        "most": most * MICRO,
        "jitter": recovery.jitter,
        "max_calls": settings.half_open_max_calls,
        "lease": round((settings.half_open_max_wait + GRACE) * MICRO),
        "success_threshold": settings.success_threshold,
        "keep": round(keep * 1000),
    }
    return {name: value for name, value in found.items() if value is not None}


def lease_name() -> str:
    """A name for a lease that no other process gives."""
    import os

    return f"l:{os.getpid()}-{_born()}-{_next_lease()}"


_birth: list[str] = []


def _born() -> str:
    if not _birth:
        import os

        _birth.append(os.urandom(6).hex())
    return _birth[0]


def key_of(name: str, value: object) -> str:
    """The name of the breaker for one value of an argument."""
    shown = f"{type(value).__name__}:{value!r}"
    if len(shown) > 100 or not shown.isascii():
        encoded = shown.encode("utf-8", "surrogatepass")
        shown = f"{type(value).__name__}:{blake2b(encoded, digest_size=16).hexdigest()}"
    return f"{name}:{shown}"
