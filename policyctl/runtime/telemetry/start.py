"""Starts the sinks of a service, at the end of its first guarded call."""

from __future__ import annotations

import time

from policyctl.runtime.telemetry.beat import BEAT
from policyctl.runtime.telemetry.switch import SWITCH, Sinks
from policyctl.runtime.telemetry.trouble import report

_INSTALL = "prometheus_client is not installed; pip install 'policyctl[prometheus]'"


def start(service: str, sinks: Sinks) -> None:
    """Show metrics, and begin to beat where that is asked for."""
    if sinks.metrics is not None:
        _start_metrics(service)
    if sinks.heartbeat is not None:
        SWITCH.beats[service] = time.time()
        name = f"the heartbeat of {service}"
        BEAT.every(name, sinks.heartbeat, lambda: beat(service, sinks))


def _start_metrics(service: str) -> None:
    from policyctl.runtime.telemetry import multiprocess, prometheus

    try:
        if multiprocess.is_on():
            multiprocess.start()
        else:
            prometheus.start()
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "prometheus_client":
            raise
        report(f"{service} shows no metrics: {_INSTALL}", level="warning")


def beat(service: str, sinks: Sinks) -> None:
    """Note that the service's process is alive, and log its state where it logs."""
    SWITCH.beats[service] = time.time()
    if sinks.logs is not None:
        from policyctl.runtime.telemetry.listener import log_state

        log_state(service)
