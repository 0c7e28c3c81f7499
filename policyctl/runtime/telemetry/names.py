"""The metrics: their names, kinds and labels. Names are fixed; what differs is a label."""

from __future__ import annotations


class Metric:
    """One metric.

    Attributes:
        name: as it is exposed; counters end with ``_total``.
        kind: ``counter``, ``gauge`` or ``histogram``.
        labels: names of its labels, in order.
        help: what it is.
        merge: how a gauge of several processes becomes one, as prometheus_client
            calls it; counters and histograms are added up.
    """

    __slots__ = ("help", "kind", "labels", "merge", "name")

    def __init__(
        self, name: str, kind: str, labels: tuple[str, ...], help: str, merge: str = ""
    ) -> None:
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
        self.merge = merge


_OPERATION = ("service", "operation")
_QUEUE = ("service", "queue")

CALLS = Metric(
    "policyctl_calls_total",
    "counter",
    (*_OPERATION, "outcome"),
    "Guarded calls that ended, by how: success, failure, rejected, fallback, cancelled.",
)
CALL_SECONDS = Metric(
    "policyctl_call_seconds",
    "histogram",
    _OPERATION,
    "Duration of guarded calls that were not rejected, attempts and waits together.",
)
ATTEMPTS = Metric(
    "policyctl_attempts_total",
    "counter",
    _OPERATION,
    "Attempts of calls that ended, the first of each included.",
)
RETRIES = Metric(
    "policyctl_retries_total",
    "counter",
    (*_OPERATION, "reason"),
    "Decisions to make another attempt, by what it follows: "
    "not_sent, connection_lost, timeout, status, result, error.",
)
REJECTED = Metric(
    "policyctl_rejected_total",
    "counter",
    (*_OPERATION, "reason"),
    "Attempts that the policy refused: circuit_open, rate_limited, bulkhead_full, "
    "no_thread, budget_exhausted, idempotency_conflict.",
)
BUDGET_EXHAUSTED = Metric(
    "policyctl_budget_exhausted_total",
    "counter",
    _OPERATION,
    "Calls whose time budget ran out.",
)
BREAKER_STATE = Metric(
    "policyctl_circuit_breaker_state",
    "gauge",
    (*_OPERATION, "state"),
    "Circuit breakers in this state: 1 or 0, or more with a breaker for each argument.",
    "livesum",
)
BREAKER_TRANSITIONS = Metric(
    "policyctl_circuit_breaker_transitions_total",
    "counter",
    (*_OPERATION, "old", "new"),
    "Changes of state of circuit breakers.",
)
IN_USE = Metric(
    "policyctl_bulkhead_in_use",
    "gauge",
    _OPERATION,
    "Bulkhead slots in use.",
    "livesum",
)
WAITING = Metric(
    "policyctl_bulkhead_waiting",
    "gauge",
    _OPERATION,
    "Callers that wait for a bulkhead slot.",
    "livesum",
)
QUEUE_DEPTH = Metric(
    "policyctl_queue_depth", "gauge", _QUEUE, "Items in the queue.", "livemax"
)
QUEUE_OLDEST = Metric(
    "policyctl_queue_oldest_seconds",
    "gauge",
    _QUEUE,
    "Age of the queue's oldest item; 0 when it is empty.",
    "livemax",
)
DEAD_LETTERS = Metric(
    "policyctl_dead_letters_total",
    "counter",
    _QUEUE,
    "Items that this process moved to the queue's dead letters.",
)
HEARTBEAT = Metric(
    "policyctl_heartbeat_timestamp_seconds",
    "gauge",
    ("service",),
    "Unix time of the service's last heartbeat in this process.",
    "liveall",
)

METRICS: tuple[Metric, ...] = (
    *(CALLS, CALL_SECONDS, ATTEMPTS, RETRIES, REJECTED, BUDGET_EXHAUSTED),
    *(BREAKER_STATE, BREAKER_TRANSITIONS, IN_USE, WAITING),
    *(QUEUE_DEPTH, QUEUE_OLDEST, DEAD_LETTERS, HEARTBEAT),
)
"""All metrics, in the order in which they are exposed."""

BREAKER_STATES = (
    *("closed", "open", "half_open"),
    *("forced_open", "forced_closed", "disabled"),
)
