"""The errors of guarded calls: one small tree under ``PolicyError``.

Each carries the service and operation whose policy decided, survives pickling and
copying, and names the number that decided. Texts are built when they are read, so that
a rejection costs no formatting.
"""

from __future__ import annotations


def _seconds(value: float) -> str:
    """A duration for people: at most three decimals, no trailing zeros."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + " s"


class PolicyError(Exception):
    """Base of everything that policyctl raises by itself.

    Attributes:
        service: the service whose policy decided, empty where there is none.
        operation: the operation of that service, empty where there is none.
    """

    __slots__ = ()

    service: str
    operation: str

    def __init__(self, service: str = "", operation: str = "") -> None:
        self.service = service
        self.operation = operation

    def __str__(self) -> str:
        reason = self.reason
        if self.service or self.operation:
            return f"{self.service}.{self.operation}: {reason}"
        return reason

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def reason(self) -> str:
        """What happened, with the number that decided, without the operation's name."""
        return self._reason()

    def _reason(self) -> str:
        return "refused by its policy"


class CircuitOpenError(PolicyError):
    """The circuit breaker is not letting this call through.

    Attributes:
        retry_after: seconds until the breaker may admit a probe; 0.0 in half-open,
            infinity when it was forced open.
        state: ``open``, ``half_open`` or ``forced_open``.
        permits: how many probes may be in flight in half-open.
    """

    # Slots, because a dictionary would double the cost of a rejection.
    __slots__ = ("operation", "permits", "retry_after", "service", "state")

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        retry_after: float = 0.0,
        state: str = "open",
        permits: int = 0,
    ) -> None:
        self.service = service
        self.operation = operation
        self.retry_after = retry_after
        self.state = state
        self.permits = permits

    def __reduce__(self) -> tuple[object, ...]:
        values = (
            self.service,
            self.operation,
            self.retry_after,
            self.state,
            self.permits,
        )
        return type(self), values, self.__dict__ or None

    def _reason(self) -> str:
        if self.state == "half_open":
            noun = "probe permit is" if self.permits == 1 else "probe permits are"
            return f"circuit half-open: its {self.permits} {noun} in use"
        if self.state == "forced_open":
            return "circuit forced open by hand or by its mode"
        return f"circuit open: next probe in {_seconds(self.retry_after)}"


class BulkheadFullError(PolicyError):
    """No slot was free, and no place or time to wait for one.

    Attributes:
        max_concurrent: slots in all.
        max_queue: places to wait in all.
        waited: seconds waited before giving up; None if the queue was full too.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        max_concurrent: int = 0,
        max_queue: int = 0,
        waited: float | None = None,
    ) -> None:
        self.service = service
        self.operation = operation
        self.max_concurrent = max_concurrent
        self.max_queue = max_queue
        self.waited = waited

    def _reason(self) -> str:
        slots = f"bulkhead full: all {self.max_concurrent} slots in use"
        if self.waited is None:
            return f"{slots} and all {self.max_queue} places to wait taken"
        if not self.waited:
            return f"{slots} and max_wait is 0 s"
        return f"{slots}, none came free within {_seconds(self.waited)}"


class NoThreadError(BulkheadFullError):
    """The attempt needs a thread for its time limit, and none can be started.

    The system has no more of them, or the process is ending. The call was not made;
    handlers and fallbacks for a full bulkhead take this too.

    Attributes:
        running: threads of the operation that run.
        cause: what the system said.
    """

    def __init__(
        self, service: str = "", operation: str = "", running: int = 0, cause: str = ""
    ) -> None:
        super().__init__(service, operation, running, 0)
        self.running = running
        self.cause = cause

    def _reason(self) -> str:
        return f"no thread for the attempt beside the {self.running} that run: {self.cause}"


class RateLimitedError(PolicyError):
    """The rate limit has no token for this attempt.

    Attributes:
        retry_after: seconds until a token will be there.
        rate: attempts per second that the limit allows.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        retry_after: float = 0.0,
        rate: float = 0.0,
    ) -> None:
        self.service = service
        self.operation = operation
        self.retry_after = retry_after
        self.rate = rate

    def _reason(self) -> str:
        return (
            f"rate limit of {self.rate:g}/s reached: "
            f"next token in {_seconds(self.retry_after)}"
        )


class AttemptTimeoutError(PolicyError, TimeoutError):
    """One attempt took longer than its attempt timeout.

    Attributes:
        timeout: the limit in seconds.
        phase: ``total``, ``first_item`` or ``idle``.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        timeout: float = 0.0,
        phase: str = "total",
    ) -> None:
        self.service = service
        self.operation = operation
        self.timeout = timeout
        self.phase = phase

    def _reason(self) -> str:
        limit = _seconds(self.timeout)
        if self.phase == "first_item":
            return f"attempt timed out: no first item within {limit}"
        if self.phase == "idle":
            return f"attempt timed out: no further item within {limit}"
        return f"attempt timed out after {limit}"


class BudgetExhaustedError(PolicyError, TimeoutError):
    """The time budget of the whole call is spent, or too little is left of it.

    Attributes:
        remaining: seconds left when it was decided; negative when overdrawn.
        minimum: seconds that had to be left for an attempt to start.
        after: seconds that the running attempt was cut after; None if none ran.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        remaining: float = 0.0,
        minimum: float = 0.0,
        after: float | None = None,
    ) -> None:
        self.service = service
        self.operation = operation
        self.remaining = remaining
        self.minimum = minimum
        self.after = after

    def _reason(self) -> str:
        if self.after is not None:
            return f"budget exhausted: it cut the attempt after {_seconds(self.after)}"
        if self.remaining < 0:
            return f"budget exhausted: overdrawn by {_seconds(-self.remaining)}"
        if self.minimum:
            return (
                f"budget exhausted: {_seconds(self.remaining)} left, "
                f"{_seconds(self.minimum - self.remaining)} under the minimum of "
                f"{_seconds(self.minimum)}"
            )
        return f"budget exhausted: {_seconds(self.remaining)} left"


class QueueFullError(PolicyError):
    """A bounded queue has no room; the item stays with the caller.

    Attributes:
        size: items (or bytes) in the queue.
        max_size: the limit that was reached.
        unit: ``items`` or ``bytes``.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        size: int = 0,
        max_size: int = 0,
        unit: str = "items",
    ) -> None:
        self.service = service
        self.operation = operation
        self.size = size
        self.max_size = max_size
        self.unit = unit

    def _reason(self) -> str:
        return f"queue full: {self.size} of at most {self.max_size} {self.unit}"


class IdempotencyConflictError(PolicyError):
    """The idempotency key is taken.

    Attributes:
        key: the key in question.
        conflict: ``in_progress`` (the first call is still running) or ``arguments``
            (the key was used with other arguments).
        waited: seconds waited for the first call.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        key: str = "",
        conflict: str = "in_progress",
        waited: float = 0.0,
    ) -> None:
        self.service = service
        self.operation = operation
        self.key = key
        self.conflict = conflict
        self.waited = waited

    def _reason(self) -> str:
        if self.conflict == "arguments":
            return f"idempotency key {self.key!r} was used with other arguments"
        running = f"idempotency key {self.key!r} belongs to a call still running"
        return (
            f"{running} after {_seconds(self.waited)}"
            if self.waited >= 0.001
            else running
        )


class PolicyConfigError(PolicyError):
    """A policy or its use is wrong; raised at import or decoration, not on calls.

    Attributes:
        message: what is wrong, with the value in it.
        path: dotted path of the setting (``retry.backoff.initial``), or empty.
        help: the change to make, or empty.
    """

    def __init__(
        self,
        message: str = "",
        *,
        path: str = "",
        help: str = "",
        service: str = "",
        operation: str = "",
    ) -> None:
        self.service = service
        self.operation = operation
        self.message = message
        self.path = path
        self.help = help

    def _reason(self) -> str:
        message = self.message or "wrong policy"
        text = f"{self.path}: {message}" if self.path else message
        return f"{text}\nhelp: {self.help}" if self.help else text

    def __str__(self) -> str:
        name = ".".join(part for part in (self.service, self.operation) if part)
        return f"{name}: {self.reason}" if name else self.reason
