"""Metrics for prometheus_client: one collector that reads our counters when scraped.

In its multiprocess mode, where collectors are not asked, see ``multiprocess``.
"""

from __future__ import annotations

from itertools import accumulate

from policyctl.runtime.telemetry import names
from policyctl.runtime.telemetry.families import RUNTIME, Families, collect
from policyctl.runtime.telemetry.meter import BUCKETS
from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )
    from prometheus_client.registry import CollectorRegistry

    Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_MARK = "policyctl"


class Collector:
    """Shows the counters of this process; any number of registries may have one.

    Attributes:
        sources: what reads the counters, by the import name of the runtime that they
            belong to; a process may have copies of it inside generated packages.
    """

    mark = _MARK

    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], Families]] = {RUNTIME: collect}

    def describe(self) -> Iterator[Metric]:
        """The metrics without samples, so that clashes of names are found."""
        for metric in names.METRICS:
            yield _family(metric)

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; those without samples are left out."""
        found = Families()
        for source in list(self.sources.values()):
            found.merge(source())
        for metric in names.METRICS:
            family = _family(metric)
            _fill(family, metric, found)
            if family.samples:
                yield family


def register(registry: CollectorRegistry | None = None) -> None:
    """Show our metrics in ``registry``; once is enough, more change nothing.

    The first guarded call of a service with metrics does that for the default registry.

    Args:
        registry: where to; the default registry unless given.

    Raises:
        ImportError: prometheus_client is not installed.
        ValueError: something else in ``registry`` has one of our names.
    """
    found = _default(registry)
    if not _collectors(found):
        try:
            found.register(Collector())
        except ValueError:
            if not _collectors(found):  # else another thread was faster
                raise
    for collector in _collectors(found):
        collector.sources[RUNTIME] = collect


def unregister(registry: CollectorRegistry | None = None) -> None:
    """Take our metrics out of ``registry`` again."""
    found = _default(registry)
    for collector in _collectors(found):
        found.unregister(collector)


def _default(registry: CollectorRegistry | None) -> CollectorRegistry:
    if registry is not None:
        return registry
    from prometheus_client.registry import REGISTRY

    return REGISTRY


def _collectors(registry: CollectorRegistry) -> list[Any]:
    """Our collectors there, those of an earlier load of this module included."""
    known = list(registry._collector_to_names)
    return [found for found in known if getattr(found, "mark", None) == _MARK]


def start() -> None:
    """Show our metrics in the default registry; a clash is reported, not raised."""
    try:
        register()
    except ValueError as error:
        report("metrics cannot be shown: their names are taken", error)


def _family(metric: names.Metric) -> Family:
    from prometheus_client import metrics_core

    kinds = {
        "counter": metrics_core.CounterMetricFamily,
        "gauge": metrics_core.GaugeMetricFamily,
        "histogram": metrics_core.HistogramMetricFamily,
    }
    made: Family = kinds[metric.kind](metric.name, metric.help, labels=metric.labels)
    return made


def _fill(family: Any, metric: names.Metric, found: Families) -> None:
    if metric.kind != "histogram":
        for labels, value in found.values[metric.name].items():
            family.add_metric(labels, value)
        return
    for labels, (buckets, seconds) in found.histograms.items():
        counts = zip(BUCKETS, accumulate(buckets), strict=True)
        family.add_metric(labels, list(counts), seconds)
