"""Where counts and events of guarded calls go: metrics and log lines.

``enable`` is what generated code calls. It opens and imports nothing; the end of the
first guarded call of a service starts its sinks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from policyctl.runtime.events import Event


def enable(
    service: str,
    *,
    metrics: str | None = None,
    logs: str | None = None,
    heartbeat: float | None = None,
) -> None:
    """Switch the sinks of a service on; doing it again changes nothing.

    Functions that are decorated afterwards count their calls in their own compiled
    wrappers. Those decorated before count too, at the price of the slow side.

    Args:
        service: its name.
        metrics: ``prometheus``.
        logs: ``json`` for a handler of our own on standard error, ``text`` for lines
            that go where the application's logs go.
        heartbeat: seconds between two reports of the current state.

    Raises:
        PolicyConfigError: a value that is not served, or other values than before.
    """
    from policyctl.runtime.events import EVENTS
    from policyctl.runtime.registry import registry
    from policyctl.runtime.telemetry.switch import SWITCH, Sinks

    SWITCH.turn_on(service, Sinks(metrics, logs, heartbeat))
    if logs is not None and _log not in EVENTS.listeners:
        EVENTS.listen(_log)
    for policy in registry.of_service(service):
        policy.measure()


def _log(event: Event) -> None:
    """Log an event; the log is imported with the first."""
    from policyctl.runtime.telemetry.listener import LISTENER

    LISTENER(event)
