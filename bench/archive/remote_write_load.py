"""Remote-write requests for the benchmarks: consumers with twelve metrics every 30 s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cramjam

from streamgauge.protobuf import write_labels, write_message, write_sample

METRICS = 12
INTERVAL_MS = 30_000
_STREAM_CONSUMERS = 10


@dataclass(frozen=True, slots=True)
class Load:
    """Each round has one sample of every series; `labels` is 8 or 20."""

    consumers: int
    labels: int
    per_request: int
    connections: int
    bad_series: int = 0
    """Series without a metric name in each request, in addition."""
    first: int = 0
    """The number of the first consumer."""

    @property
    def series(self) -> int:
        return self.consumers * METRICS

    def rounds(self, first_time: int, count: int) -> Iterator[list[list[bytes]]]:
        """For each round, the request bodies of each connection in order."""
        shards = self._shards()
        for round_number in range(count):
            time = first_time + round_number * INTERVAL_MS
            yield [self._requests(shard, round_number, time) for shard in shards]

    def _shards(self) -> list[list[bytes]]:
        labels = [
            _label_bytes(consumer, metric, self.labels)
            for consumer in range(self.first, self.first + self.consumers)
            for metric in range(METRICS)
        ]
        return [labels[start :: self.connections] for start in range(self.connections)]

    def _requests(self, shard: Sequence[bytes], round_number: int, time: int) -> list[bytes]:
        # The first series of a request shifts between rounds, as in a sender's queue.
        shift = round_number * 137 % len(shard)
        parts = [
            _series(labels, _value(place, round_number), time) for place, labels in enumerate(shard)
        ]
        parts = parts[shift:] + parts[:shift]
        bad = [
            _series(write_labels({"job": f"bad-{each}"}), 1.0, time)
            for each in range(self.bad_series)
        ]
        return [
            bytes(cramjam.snappy.compress_raw(b"".join([*parts[at : at + self.per_request], *bad])))
            for at in range(0, len(parts), self.per_request)
        ]


def _value(place: int, round_number: int) -> float:
    """Growing counters, changing gauges, and constant zeros."""
    kind = place % 6
    if kind < 3:
        return float(place * 1000 + round_number * (place % 50))
    if kind == 3:
        return 0.0
    return float((place * 7919 + round_number * 104_729) % 1000) / (1 if kind == 4 else 10)


def _label_bytes(consumer: int, metric: int, count: int) -> bytes:
    stream = consumer // _STREAM_CONSUMERS
    labels = {
        "__name__": f"streamgauge_consumer_measured_value_{metric}",
        "account": f"ACCOUNT-{stream % 20}",
        "consumer": f"order-worker-{consumer}",
        "instance": "streamgauge-exporter-0:7778",
        "job": "streamgauge",
        "namespace": "monitoring",
        "stream": f"ORDERS-{stream}",
        "system": "production",
    }
    for place in range(count - len(labels)):
        labels[f"label_{place:02}"] = f"value-of-label-{place}"
    return write_labels(labels)


def _series(labels: bytes, value: float, time: int) -> bytes:
    return write_message(1, labels + write_sample(value, time))
