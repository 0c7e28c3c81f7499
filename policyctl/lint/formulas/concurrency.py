"""F9 to F11: how many calls are in flight, and how long they queue."""

from __future__ import annotations

import math


def in_flight(rate: float, time: float) -> float:
    """F9, Little's law: calls in flight at ``rate`` per second lasting ``time`` seconds."""
    return rate * time


def erlang_b(servers: int, offered: float) -> float:
    """F9: the share of calls that find all ``servers`` busy and are turned away.

    ``offered`` is rate x mean duration. Arrivals are random (Poisson); the result holds
    for every distribution of durations. By the recursion B(0) = 1,
    B(k) = a B(k-1) / (k + a B(k-1)), which neither overflows nor cancels.
    """
    if offered <= 0:
        return 0.0 if servers > 0 else 1.0
    blocking = 1.0
    for server in range(1, servers + 1):
        blocking = offered * blocking / (server + offered * blocking)
        if blocking == 0.0:
            break
    return blocking


def refused_share(
    slots: int, offered: float, mean: float, queue: int, wait: float
) -> float:
    """F9 with a queue: the share of calls that get no slot, an estimate.

    Calls that find all slots busy wait up to ``wait`` seconds, at most ``queue`` of them.
    Without a queue it is Erlang B. With one it is the larger of two: calls that find the
    queue of M/M/c/(c+Q) full, and those that M/M/c lets wait for longer,
    ``C exp(-(c - a) wait / mean)`` with Erlang C. The second overstates a little, since
    calls that give up make room for others.
    """
    lost = erlang_b(slots, offered)
    if queue <= 0 or wait <= 0 or mean <= 0 or offered >= slots:
        return lost
    busy = offered / slots
    late = lost / (1 - busy * (1 - lost)) * math.exp(-(slots - offered) * wait / mean)
    waiting = busy * (1 - busy**queue) / (1 - busy)
    full = lost * busy**queue / (1 + lost * waiting)
    return min(lost, max(late, full))


def bulkhead_size(offered: float) -> int:
    """F9: the rule of thumb ``ceil(a + 3 sqrt(a))``, at least 1."""
    return max(1, math.ceil(offered + 3 * math.sqrt(offered)))


def slots_for(offered: float, blocking: float) -> int:
    """F9: the fewest slots that turn away at most ``blocking`` of the calls."""
    share, slots = 1.0, 0
    while share > blocking:
        slots += 1
        share = offered * share / (slots + offered * share)
    return slots


def queue_wait(queue: int, workers: int, service_time: float) -> float:
    """F10: seconds until the last of a full queue is served: ``Q S / c``."""
    return queue * service_time / workers


def hanging_load(rate: float, hanging: float, timeout: float, mean: float) -> float:
    """F11: workers kept busy when a share ``hanging`` of calls lasts until ``timeout``
    and the rest ``mean`` seconds: ``lam (q t + (1 - q) S)``."""
    return rate * (hanging * timeout + (1 - hanging) * mean)
