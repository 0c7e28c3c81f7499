"""``facts``: what was measured or promised; never guessed."""

from __future__ import annotations

from typing import Annotated

from policyctl.model.fields import Block, Blocks, Off, Settings, required, setting
from policyctl.model.kinds import JITTERS, Statuses, Words
from policyctl.model.scalars import Choice, Flag, IsoDate, Number, Target, Text

_SPAN = Number("facts.latency")


class Latency(Settings):
    """Measured latency, in seconds."""

    mean: Annotated[float | Off | None, _SPAN] = setting("The mean.", "30ms")
    p50: Annotated[float | Off | None, _SPAN] = setting("The median.", "80ms")
    p99: Annotated[float | Off | None, _SPAN] = setting(
        "99 % take at most this.", "900ms"
    )
    p999: Annotated[float | Off | None, _SPAN] = setting(
        "99.9 % take at most this.", "1500ms"
    )


class OperationFacts(Settings):
    """Facts of one operation."""

    rate: Annotated[float | Off | None, Number("facts.rate")] = setting(
        "First tries of all clients together.", "40/s"
    )
    callers: Annotated[int | Off | None, Number("facts.callers")] = setting(
        "Client processes; by default the instances of the services that call it.",
        24,
        by_default="the instances of the services that call it",
    )
    latency: Annotated[Latency | Off | None, Block(Latency)] = setting(
        "How long a call takes in health.", {"mean": "120ms", "p99": "900ms"}
    )
    failure_ratio: Annotated[float | Off | None, Number("facts.failure_ratio")] = (
        setting("The share of calls that fail in health.", "0.1%")
    )


class Pool(Settings):
    """A connection pool of the caller's process."""

    max: Annotated[int | Off | None, Number("facts.pool.max")] = setting(
        "Connections at most.", 10
    )
    acquire_timeout: Annotated[
        float | Off | None, Number("facts.pool.acquire_timeout")
    ] = setting("The longest wait for a connection.", "1s")


class Cache(Settings):
    """A cache in front of the service."""

    hit_ratio: Annotated[float | Off | None, Number("facts.cache.hit_ratio")] = setting(
        "The share of requests that the cache answers.", "90%"
    )
    coalesced: Annotated[bool | None, Flag()] = setting(
        "Whether requests for one missing key are joined into one.", True
    )


class Layer(Settings):
    """A layer between caller and callee that retries too."""

    name: Annotated[str, Text(off=False)] = required(
        "What it is, for example a mesh.", "mesh"
    )
    max_attempts: Annotated[int, Number("facts.layers.max_attempts", off=False)] = (
        required("Attempts in all, the first included.", 3)
    )
    retry_on_status: Statuses = setting("Statuses that it retries.", [503])


class Autoscale(Settings):
    """What the service scales on."""

    metric: Words = setting("The metric that it scales on.", "concurrency")
    target: Annotated[float | Off | None, Target()] = setting(
        "The value that it scales to: a ratio or a count.", "60%", 50
    )


class Reconnect(Settings):
    """How clients of a lost connection come back."""

    delay: Annotated[float | Off | None, Number("facts.reconnect.delay")] = setting(
        "The wait before a client reconnects.", "5s"
    )
    window: Annotated[float | Off | None, Number("facts.reconnect.window")] = setting(
        "Clients spread their reconnection over this time.", "60s"
    )
    jitter: Annotated[str | None, Choice(JITTERS)] = setting(
        "How the delay is spread.", "full"
    )
    accept_rate: Annotated[
        float | Off | None, Number("facts.reconnect.accept_rate")
    ] = setting("Connections that the service can accept per time.", "200/s")


class ServiceFacts(Settings):
    """Facts of a service."""

    instances: Annotated[int | Off | None, Number("facts.instances")] = setting(
        "Processes of the service.", 12
    )
    workers: Annotated[int | Off | None, Number("facts.workers")] = setting(
        "Concurrent handlers per process.", 40
    )
    capacity: Annotated[float | Off | None, Number("facts.capacity")] = setting(
        "Attempts per time that the whole service can serve.", "300/s"
    )
    service_time: Annotated[Latency | Off | None, Block(Latency)] = setting(
        "How long the service works on a request.", {"mean": "30ms", "p99": "200ms"}
    )
    objective: Annotated[float | Off | None, Number("facts.objective")] = setting(
        "What callers are promised, end to end.", "3s"
    )
    as_of: Annotated[str | None, IsoDate()] = setting(
        "The day that the facts were measured.", "2026-11-01"
    )
    source: Words = setting("Where the facts come from.", "load test 41")
    pool: Annotated[Pool | Off | None, Block(Pool)] = setting(
        "The connection pool that its own calls go through, in each process.",
        {"max": 10, "acquire_timeout": "1s"},
    )
    shards: Annotated[int | Off | None, Number("facts.shards")] = setting(
        "Equal parts of which one can fail alone.", 3
    )
    cache: Annotated[Cache | Off | None, Block(Cache)] = setting(
        "A cache in front of the service.", {"hit_ratio": "90%", "coalesced": True}
    )
    layers: Annotated[list[Layer] | Off | None, Blocks(Layer)] = setting(
        "Layers between callers and the service that retry too.",
        [{"name": "mesh", "max_attempts": 3, "retry_on_status": [503]}],
    )
    autoscale: Annotated[Autoscale | Off | None, Block(Autoscale)] = setting(
        "What the service scales on.", {"metric": "concurrency", "target": 50}
    )
    domain: Words = setting("The failure domain that it shares with others.", "db-1")
    reconnect: Annotated[Reconnect | Off | None, Block(Reconnect)] = setting(
        "How clients of a lost connection come back.",
        {"delay": "5s", "window": "60s", "jitter": "full", "accept_rate": "200/s"},
    )
