"""Synthetic series of a large system: what one exporter serves, and what our rules record of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from alerts.rules import RECORDINGS
from exporter import catalog
from exporter.metric import Kind, Level, Metric
from exporter.signals.conditions.limits import DEFAULT_LIMITS
from streamgauge.promql.selectors import identity

SHOWN_STREAM, SHOWN_CONSUMER = "stream-00000", "worker-00"
_PER_STREAM = 10  # consumers
_ACCOUNTS = 20
_UNWELL = 100  # one in so many
_RECORDED = 10  # of each account
_TARGET = {"job": "streamgauge", "instance": "a:7778", "cluster": "bench", "namespace": "nats"}
_VALUES = {
    catalog.CONSUMER_UP: 1, catalog.STREAM_UP: 1, catalog.CONSUMER_MAX_ACK_PENDING: 1000,
    catalog.CONSUMER_ACK_WAIT_SECONDS: 30, catalog.CONSUMER_VERDICT: 0,
    catalog.CONSUMER_STALLED_SECONDS: 0, catalog.CONSUMER_ACK_FLOOR_EXHAUSTED: 0,
    catalog.CONSUMER_EXHAUSTED_MESSAGES: 0, catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS: 0,
    catalog.STREAM_CONSUMERS: 10, catalog.STREAM_LOST_MESSAGES: 0, catalog.STREAM_MESSAGES: 1000,
    catalog.CONSUMER_RETENTION_HEADROOM_SECONDS: 3000, catalog.STREAM_MAX_AGE_SECONDS: 3600,
    catalog.CONSUMER_RETENTION_HEADROOM_RATIO: 0.9, catalog.CONSUMER_REDELIVERY_RATIO: 0,
}  # fmt: skip
# Present only while something is wrong, paused or pushed.
_RARE = {
    catalog.CONSUMER_PAUSED, catalog.CONSUMER_PUSH_BOUND, catalog.CONSUMER_NAKS,
    catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, catalog.CONSUMER_EXHAUSTED_UNCONFIRMED,
    *catalog.KEPT_IN_OUTAGES,
}  # fmt: skip
_CONDITIONS = {
    "no_worker_pulls": "NoWorkerPulls", "ack_pending_full": "AckPendingFull",
    "falling_behind": "BacklogGrowing", "redelivery_high": "RedeliveryHigh",
}  # fmt: skip


class Series(NamedTuple):
    name: str
    labels: dict[str, str]
    first: float
    growth: float  # per sample
    long: bool  # the hours that a board shows, not the last half hour alone


def metrics_of(labels: tuple[str, ...], names: Set[str]) -> list[Metric]:
    """What a healthy asset with these labels has at the usual level of detail."""
    return [
        each
        for each in catalog.ALL
        if each.name in names
        and identity(each) == labels
        and (each.labels == labels or each.kind is Kind.INFO)
        and each.level is Level.CORE
        and each.kind is not Kind.HISTOGRAM
        and each not in _RARE
    ]


def series(consumers: int, names: Set[str]) -> Iterator[Series]:
    """Only those with these names: what no query reads costs it nothing.

    All hours for one stream, and for what boards draw over hours: conditions, alerts, recorded
    series, servers."""
    per_consumer = metrics_of(catalog.CONSUMER, names)
    per_stream = metrics_of(catalog.STREAM, names)
    for number in range(consumers // _PER_STREAM):
        stream = {**_system(), "account": f"account-{number % _ACCOUNTS:02d}"}
        stream["stream"] = f"stream-{number:05d}"
        long = stream["stream"] == SHOWN_STREAM
        yield from _asset(per_stream, stream, {"retention": "limits", "discard": "old"}, long)
        for limit in ("bytes", "messages"):
            labels = {**stream, "limit": limit}
            yield Series(catalog.STREAM_FILL_RATIO.name, labels, 0.5, 0.0, long)
        for place in range(_PER_STREAM):
            consumer = {**stream, "consumer": f"worker-{place:02d}"}
            yield from _asset(per_consumer, consumer, {"durable": "true", "kind": "pull"}, long)
            index = number * _PER_STREAM + place
            if index % _UNWELL == 0:
                yield from _unwell(consumer, index // _UNWELL)
        if number < _ACCOUNTS * _RECORDED:
            yield from _recorded(stream)
    yield from _of_system(names)


def _system() -> dict[str, str]:
    return {**_TARGET, "system": "nats"}


def _asset(
    metrics: Iterable[Metric], labels: dict[str, str], described: dict[str, str], long: bool
) -> Iterator[Series]:
    for metric in metrics:
        own = labels | described if metric.kind is Kind.INFO else labels
        growth = 25.0 if metric.kind is Kind.COUNTER and "redeliver" not in metric.name else 0.0
        first = 1.0 if metric.kind is Kind.INFO else _VALUES.get(metric, 5.0)
        yield Series(metric.name, own, first, growth, long)


def _unwell(consumer: dict[str, str], index: int) -> Iterator[Series]:
    word, alert = (*_CONDITIONS.items(),)[index % len(_CONDITIONS)]
    start = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS.name
    yield Series(start, {**consumer, "condition": word}, time.time() - 7 * 3600, 0.0, True)
    fires = {
        "alertname": f"JetStreamConsumer{alert}",
        "alertstate": "firing",
        "severity": "warning",
    }
    named = {label: value for label, value in consumer.items() if label != "instance"}
    yield Series("ALERTS", named | fires | {"team": "unassigned"}, 1.0, 0.0, True)


def _recorded(stream: dict[str, str]) -> Iterator[Series]:
    named = {label: value for label, value in stream.items() if label != "instance"}
    for each in RECORDINGS:
        if ":consumer_" in each.record:
            yield Series(each.record, named | {"consumer": SHOWN_CONSUMER}, 5.0, 0.0, True)
        elif ":stream_" in each.record:
            yield Series(each.record, named, 5.0, 0.0, True)


def _of_system(names: Set[str]) -> Iterator[Series]:
    system = _system()
    yield Series(catalog.SNAPSHOT_AGE_SECONDS.name, system, 5.0, 0.0, True)
    started = time.time() - 7 * 3600
    yield Series(catalog.FIRST_SNAPSHOT_TIMESTAMP_SECONDS.name, system, started, 0.0, True)
    yield Series(catalog.UP.name, system, 1.0, 0.0, True)
    for name, value in DEFAULT_LIMITS.items():
        labels = {**system, "threshold": name}
        yield Series(catalog.CONDITION_THRESHOLD.name, labels, value, 0.0, True)
    for server in ("n1", "n2", "n3"):
        for metric in metrics_of(catalog.SERVER, names):
            yield Series(metric.name, {**system, "server": server}, 1.0, 0.0, True)
