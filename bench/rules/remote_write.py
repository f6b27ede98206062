"""Series as requests of remote write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import cramjam

from bench.rules.population import Series
from streamgauge.protobuf import write_labels, write_message, write_sample

BULK_MINUTES = 31
_PER_REQUEST = 4000  # series


class _Samples:
    """The samples of a series; most series share theirs with many others."""

    def __init__(self, end: float, first: int, count: int, step: float) -> None:
        """`first`: the place of the first one, from the start of the hours that are written."""
        self._places = range(first, first + count)
        self._times = [int((end - (count - 1 - n) * step) * 1000) for n in range(count)]
        self._known: dict[tuple[float, float], bytes] = {}

    def of(self, first: float, growth: float) -> bytes:
        key = (first, growth)
        if key not in self._known:
            self._known[key] = b"".join(
                write_sample(first + growth * n, at)
                for n, at in zip(self._places, self._times, strict=True)
            )
        return self._known[key]


def requests(series: Iterable[Series], step: float, hours: float, now: float) -> Iterator[bytes]:
    """The past in slices first: Prometheus refuses what is much older than its newest sample."""
    count = int(BULK_MINUTES * 60 / step)
    slices = max(int(hours * 60 / BULK_MINUTES), 0)
    made = list(series)
    long = [each for each in made if each.long]
    for number in range(slices):
        end = now - (slices - number) * count * step
        yield from _written(long, _Samples(end, number * count, count, step))
    yield from _written(made, _Samples(now, slices * count, count, step))


def _written(series: Iterable[Series], samples: _Samples) -> Iterator[bytes]:
    parts: list[bytes] = []
    for name, labels, first, growth, _ in series:
        written = write_labels({**labels, "__name__": name})
        parts.append(write_message(1, written + samples.of(first, growth)))
        if len(parts) == _PER_REQUEST:
            yield bytes(cramjam.snappy.compress_raw(b"".join(parts)))
            parts.clear()
    yield bytes(cramjam.snappy.compress_raw(b"".join(parts)))
