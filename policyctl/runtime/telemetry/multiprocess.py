"""Metrics for prometheus_client's multiprocess mode: written to its files.

There a scrape reads the files that each process writes and asks no collector. A beat
writes ours every few seconds, and once more when the process ends: then its gauges say
that nothing is in use, no circuit breaker is in any state and no heart beats, because
their files stay for as long as nobody calls ``mark_process_dead``. What a file holds
already, of an earlier process with the same number, stays counted.
"""

from __future__ import annotations

import atexit
import os
from _thread import allocate_lock
from math import nan

from policyctl.runtime.telemetry import names
from policyctl.runtime.telemetry.beat import BEAT
from policyctl.runtime.telemetry.families import collect
from policyctl.runtime.telemetry.meter import BUCKETS
from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from policyctl.runtime.telemetry.families import Families

_writing = allocate_lock()
INTERVAL = 5.0
"""Seconds between two writes."""


def is_on() -> bool:
    """Whether the environment asks for it, in the way of prometheus_client."""
    return bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))


class Files:
    """The values of this process in the files of prometheus_client."""

    def __init__(self) -> None:
        from prometheus_client.values import ValueClass

        self._make: Any = ValueClass
        self._values: dict[tuple[str, tuple[str, ...]], tuple[Any, float]] = {}
        self._ends = False

    def write(self, *, last: bool = False) -> None:
        """Bring the files up to date; for the ``last`` time as the process ends."""
        with _writing:
            self._ends |= last
            for metric, name, labels, values, number in _numbers(collect()):
                value, before = self._value(metric, name, labels, values)
                if self._ends and metric.kind == "gauge":
                    number = nan if metric is names.HEARTBEAT else 0.0
                value.set(before + number)

    def _value(
        self,
        metric: names.Metric,
        name: str,
        labels: tuple[str, ...],
        values: tuple[str, ...],
    ) -> tuple[Any, float]:
        found = self._values.get((name, values))
        if found is None:
            family = metric.name.removesuffix("_total")
            made = self._make(
                metric.kind,
                family,
                name,
                labels,
                values,
                metric.help,
                multiprocess_mode=metric.merge,
            )
            before = 0.0 if metric.kind == "gauge" else float(made.get())
            found = self._values[name, values] = made, before
        return found


_files: Files | None = None


def start() -> None:
    """Write every few seconds from now on, and when the process ends; once is enough."""
    global _files
    if _files is None:
        _files = Files()
        atexit.unregister(write_last)
        atexit.register(write_last)
        BEAT.every("writing metrics", INTERVAL, _files.write)


def write_last() -> None:
    """Bring the files up to date for good; what goes wrong is reported."""
    if _files is None:
        return
    try:
        _files.write(last=True)
    except Exception as error:
        report("writing metrics failed", error)


def _after_fork_in_child() -> None:
    global _files
    _files = None
    _writing.release()


if hasattr(os, "register_at_fork"):
    # Not while a value is being written: the child would inherit the lock that
    # prometheus_client holds then.
    os.register_at_fork(
        before=_writing.acquire,
        after_in_parent=_writing.release,
        after_in_child=_after_fork_in_child,
    )


def _numbers(
    found: Families,
) -> Iterator[tuple[names.Metric, str, tuple[str, ...], tuple[str, ...], float]]:
    """Every number with its metric, name, label names and label values."""
    for metric in names.METRICS:
        if metric.kind == "histogram":
            continue
        for values, number in found.values[metric.name].items():
            yield metric, metric.name, metric.labels, values, number
    metric = names.CALL_SECONDS
    for values, (buckets, seconds) in found.histograms.items():
        yield metric, f"{metric.name}_sum", metric.labels, values, seconds
        labels = (*metric.labels, "le")
        for bound, count in zip(BUCKETS, buckets, strict=True):
            yield metric, f"{metric.name}_bucket", labels, (*values, bound), count
