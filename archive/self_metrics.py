"""The archive's own metrics: counters of the receiver, and the exposition of /metrics."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from archive.remote_write.result import Written
from exporter import catalog
from exporter.metric import Kind, Metric
from streamgauge.serving.logs import event
from streamgauge.serving.web.connection_limits import ConnectionDrop

logger = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_MAX_SENDERS: Final = 1000


class Refused(StrEnum):
    """Why a request got a 4xx response, after which its sender drops it."""

    SIZE = "size"
    MALFORMED = "malformed"
    PARTS = "parts"
    ENCODING = "encoding"


class Deferred(StrEnum):
    """Why a request got 503, after which its sender retries."""

    BUSY = "busy"
    SLOW = "slow"
    DISK = "disk"
    STOPPING = "stopping"
    FAULT = "fault"


class Value(NamedTuple):
    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


@dataclass(slots=True)
class ReceiverCounters:
    """Counters of the receiver. Times in milliseconds."""

    responses: Counter[int] = field(default_factory=Counter)
    samples: int = 0
    histograms: int = 0
    exemplars: int = 0
    received_bytes: int = 0
    refused: Counter[Refused] = field(default_factory=Counter)
    deferred: Counter[Deferred] = field(default_factory=Counter)
    refused_samples: Counter[str] = field(default_factory=Counter)  # by the text of the broken rule
    newest: dict[str, int] = field(default_factory=dict)
    _full: bool = False

    def count(self, sender: str, written: Written, newest: int) -> None:
        """Counts stored data; `newest` is the time of the newest sample, if there is one."""
        self.samples += written.samples
        self.histograms += written.histograms
        self.exemplars += written.exemplars
        if written.samples:
            self._note_newest(sender, newest)

    def _note_newest(self, sender: str, newest: int) -> None:
        known = self.newest.get(sender)
        if known is not None or len(self.newest) < _MAX_SENDERS:
            self.newest[sender] = newest if known is None else max(known, newest)
        elif not self._full:
            self._full = True
            event(logger, logging.WARNING, "too many senders, further ones get no series",
                  senders=_MAX_SENDERS)  # fmt: skip

    def values(self) -> Iterator[Value]:
        for code, count in sorted(self.responses.copy().items()):
            yield Value(catalog.ARCHIVE_REQUESTS, count, (str(code),))
        yield Value(catalog.ARCHIVE_SAMPLES, self.samples)
        yield Value(catalog.ARCHIVE_HISTOGRAMS, self.histograms)
        yield Value(catalog.ARCHIVE_EXEMPLARS, self.exemplars)
        yield Value(catalog.ARCHIVE_RECEIVED_BYTES, self.received_bytes)
        for refused in Refused:
            yield Value(catalog.ARCHIVE_REFUSED_REQUESTS, self.refused[refused], (refused,))
        for deferred in Deferred:
            yield Value(catalog.ARCHIVE_DEFERRED_REQUESTS, self.deferred[deferred], (deferred,))
        # Copies: a scrape runs in a thread while requests arrive.
        for rule, count in list(self.refused_samples.items()):
            yield Value(catalog.ARCHIVE_REFUSED_SAMPLES, count, (rule,))
        for sender, newest in list(self.newest.items()):
            yield Value(catalog.ARCHIVE_NEWEST_SAMPLE_TIMESTAMP_SECONDS, newest / 1000, (sender,))


def dropped_connections(dropped: Mapping[ConnectionDrop, int]) -> Iterator[Value]:
    for reason in ConnectionDrop:
        yield Value(catalog.ARCHIVE_DROPPED_CONNECTIONS, dropped.get(reason, 0), (reason,))


class SelfMetrics(Collector):
    """Collects at every scrape; an unknown value has no series."""

    def __init__(self, collect: Callable[[], Iterable[Value]]) -> None:
        self._collect = collect
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """Reads /proc, so do not call it on the event loop."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for metric, value, labels in self._collect():
            family = families.get(metric.name) or families.setdefault(metric.name, _family(metric))
            family.add_metric(labels, value)  # type: ignore[attr-defined]
        yield from families.values()


def _family(metric: Metric) -> Family:
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    return make(metric.family, metric.help, labels=metric.labels)
