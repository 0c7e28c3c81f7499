"""Metrics for prometheus_client: one collector that reads our counters when scraped.

In its multiprocess mode, where collectors are not asked, see ``multiprocess``.
"""

from __future__ import annotations

from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import REGISTRY, CollectorRegistry

from policyctl.runtime.telemetry import names
from policyctl.runtime.telemetry.families import Families, collect
from policyctl.runtime.telemetry.meter import BUCKETS
from policyctl.runtime.telemetry.trouble import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from prometheus_client.metrics_core import Metric

    Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_MARK = "policyctl"


class Collector:
    """Shows the counters of this process; any number of registries may have one."""

    mark = _MARK

    def describe(self) -> Iterator[Metric]:
        """The metrics without samples, so that clashes of names are found."""
        for metric in names.METRICS:
            yield _family(metric)

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; those without samples are left out."""
        found = collect()
        for metric in names.METRICS:
            family = _family(metric)
            if isinstance(family, HistogramMetricFamily):
                _add_histograms(family, found)
            else:
                for labels, value in found.values[metric.name].items():
                    family.add_metric(labels, value)
            if family.samples:
                yield family


def register(registry: CollectorRegistry = REGISTRY) -> None:
    """Show our metrics in ``registry``; once is enough, more change nothing.

    The first guarded call of a service with metrics does that for the default registry.

    Raises:
        ValueError: something else in ``registry`` has one of our names.
    """
    if not is_registered(registry):
        registry.register(Collector())


def unregister(registry: CollectorRegistry = REGISTRY) -> None:
    """Take our metrics out of ``registry`` again."""
    for collector in _collectors(registry):
        registry.unregister(collector)  # type: ignore[arg-type]


def is_registered(registry: CollectorRegistry = REGISTRY) -> bool:
    """Whether ``registry`` shows our metrics, were it by an earlier load of this module."""
    return bool(_collectors(registry))


def _collectors(registry: CollectorRegistry) -> list[object]:
    known = list(registry._collector_to_names)
    return [found for found in known if getattr(found, "mark", None) == _MARK]


def start() -> None:
    """Show our metrics in the default registry; a clash is reported, not raised."""
    try:
        register()
    except ValueError as error:
        report("metrics cannot be shown: their names are taken", error)


def _family(metric: names.Metric) -> Family:
    if metric.kind == "histogram":
        return HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    if metric.kind == "counter":
        return CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    return GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)


def _add_histograms(family: HistogramMetricFamily, found: Families) -> None:
    for labels, (buckets, seconds) in found.histograms.items():
        counts = zip(BUCKETS, accumulate(buckets), strict=True)
        family.add_metric(labels, list(counts), seconds)
