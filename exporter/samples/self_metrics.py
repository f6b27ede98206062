"""Self metrics of the exporter, rendered by prometheus-client at each scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from exporter import catalog
from exporter.exposition.text_format import Format
from exporter.metric import Kind, Metric

_EOF = b"# EOF\n"
_FAMILIES: dict[Kind, Callable[..., Family]] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.INFO: InfoMetricFamily,
}


@dataclass(frozen=True, slots=True)
class SelfSample:
    metric: Metric
    labels: tuple[str, ...]
    value: float


class SelfSource(Protocol):
    def self_samples(self) -> Iterable[SelfSample]: ...


class SelfMetrics(Collector):
    """The families of the exporter and its process, rendered at every scrape."""

    def __init__(self, source: SelfSource, version: str, python: str) -> None:
        self._source = source
        self._build = {"version": version, "python": python}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self, fmt: Format) -> bytes:
        """Without `# EOF`: it is the last part of a larger exposition."""
        if fmt is Format.TEXT:
            return generate_latest(self._registry)
        whole: bytes = generate_openmetrics(self._registry)  # type: ignore[no-untyped-call]
        return whole.removesuffix(_EOF)

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterator[Family]:
        yield InfoMetricFamily(catalog.BUILD_INFO.family, catalog.BUILD_INFO.help, self._build)
        families: dict[str, Family] = {}
        for sample in self._source.self_samples():
            metric = sample.metric
            family = families.get(metric.name) or families.setdefault(metric.name, _family(metric))
            value: object = {} if metric.kind is Kind.INFO else sample.value
            family.add_metric(sample.labels, value)  # type: ignore[attr-defined]
        yield from families.values()


def _family(metric: Metric) -> Family:
    return _FAMILIES[metric.kind](metric.family, metric.help, labels=metric.labels)
