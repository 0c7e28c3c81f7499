"""Which services tell what to whom, and the one moment at which that starts.

Switching a service on touches nothing. Its policies are made with a meter, and with
their gate flagged, so that the first call takes the slow side; the end of that call
starts the sinks and clears the flag.
"""

from __future__ import annotations

from _thread import RLock

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.telemetry.meter import Meter

METRICS = ("prometheus",)
LOGS = ("json", "text")


class Sinks:
    """What one service wants.

    Attributes:
        metrics: ``prometheus``, or None.
        logs: ``json`` or ``text``, or None.
        heartbeat: seconds between reports of the current state, or None.
    """

    __slots__ = ("heartbeat", "logs", "metrics")

    def __init__(
        self, metrics: str | None, logs: str | None, heartbeat: float | None
    ) -> None:
        self.metrics = metrics
        self.logs = logs
        self.heartbeat = heartbeat

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sinks):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str | None, str | None, float | None]:
        return self.metrics, self.logs, self.heartbeat

    def __repr__(self) -> str:
        return "Sinks(metrics={!r}, logs={!r}, heartbeat={!r})".format(*self._key())


class Switch:
    """The sinks of every service of this process, and the meters of its operations.

    Attributes:
        services: what each service wants, by name.
        meters: the counts of each metered operation, by service and operation; they
            outlive their policies, so that no counter goes back.
        awake: services whose sinks were started in this process.
        dead_letters: how many items each queue of this process buried, by service and
            queue.
        beats: Unix time of the last heartbeat by service.
    """

    def __init__(self) -> None:
        self.services: dict[str, Sinks] = {}
        self.meters: dict[tuple[str, str], Meter] = {}
        self.awake: set[str] = set()
        self.dead_letters: dict[tuple[str, str], int] = {}
        self.beats: dict[str, float] = {}
        self._lock = RLock()

    def turn_on(self, service: str, sinks: Sinks) -> None:
        """Set what ``service`` wants; setting the same again changes nothing.

        Raises:
            PolicyConfigError: a value that does not exist, or that differs from what
                the service was given before.
        """
        _check(service, sinks)
        with self._lock:
            known = self.services.setdefault(service, sinks)
        if known != sinks:
            raise PolicyConfigError(
                f"declared as {sinks!r}, but it is live as {known!r}",
                path="telemetry",
                help="give a service one telemetry block",
                service=service,
            )

    def meter(self, service: str, operation: str) -> Meter | None:
        """The meter of an operation; None if its service has no metrics."""
        sinks = self.services.get(service)
        if sinks is None or sinks.metrics is None:
            return None
        with self._lock:
            return self.meters.setdefault((service, operation), Meter())

    def counts(self, service: str) -> bool:
        """Whether the service has metrics."""
        sinks = self.services.get(service)
        return sinks is not None and sinks.metrics is not None

    def bury(self, service: str, queue: str, items: int) -> None:
        """Count items that became dead letters."""
        with self._lock:
            counts = self.dead_letters
            counts[service, queue] = counts.get((service, queue), 0) + items

    def touch(self, service: str) -> None:
        """Start the sinks of a service if this is its first use in this process."""
        if service in self.services and service not in self.awake:
            self.wake(service)

    def wake(self, service: str) -> None:
        """Start the sinks of a service, once in each process; never raises."""
        with self._lock:
            sinks = self.services.get(service)
            if sinks is None or service in self.awake:
                return
            self.awake.add(service)
        try:
            from policyctl.runtime.telemetry.start import start

            start(service, sinks)
        except Exception as error:
            from policyctl.runtime.telemetry.trouble import report

            report(f"the telemetry of {service} could not start", error)

    def after_fork(self) -> None:
        """In a child process: counts from zero, and sinks that start anew."""
        self._lock = RLock()
        self.awake.clear()
        self.dead_letters.clear()
        self.beats.clear()
        for meter in self.meters.values():
            meter.after_fork()


def _check(service: str, sinks: Sinks) -> None:
    if not service:
        raise PolicyConfigError("telemetry needs the name of a service")
    if sinks.metrics is not None and sinks.metrics not in METRICS:
        raise _wrong(service, "metrics", sinks.metrics, METRICS)
    if sinks.logs is not None and sinks.logs not in LOGS:
        raise _wrong(service, "logs", sinks.logs, LOGS)
    beat = sinks.heartbeat
    if beat is None:
        return
    if isinstance(beat, bool) or not isinstance(beat, (int, float)) or not beat > 0:
        raise PolicyConfigError(
            f"{beat!r} is not a number of seconds above 0",
            path="telemetry.heartbeat",
            service=service,
        )
    if sinks.metrics is None and sinks.logs is None:
        raise PolicyConfigError(
            "there is nobody to report to",
            path="telemetry.heartbeat",
            help="set telemetry.metrics or telemetry.logs too",
            service=service,
        )


def _wrong(
    service: str, name: str, value: object, known: tuple[str, ...]
) -> PolicyConfigError:
    return PolicyConfigError(
        f"{value!r} is not served by this version",
        path=f"telemetry.{name}",
        help=f"write {' or '.join(known)}",
        service=service,
    )


SWITCH = Switch()
"""The switch of this process."""
