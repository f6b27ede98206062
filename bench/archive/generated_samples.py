"""Generated samples of a day: twelve metrics per consumer, counters, gauges, times and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.tables.schema import DAY_MS
from archive.tables.series import Labels

STEP_MS: Final = 30_000
_SCRAPES: Final = DAY_MS // STEP_MS
_START: Final = 1_790_553_600_000  # a midnight
Values = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]


@dataclass(frozen=True, slots=True)
class Mix:
    """`values` has a row per series and a column per scrape."""

    labels: list[Labels]
    values: Values
    start: int = _START

    @property
    def series(self) -> int:
        return len(self.labels)

    @property
    def samples(self) -> int:
        return self.values.size

    def scrapes(self) -> Iterator[tuple[int, Values]]:
        """At :07 of each half minute, as Prometheus spreads and aligns its scrapes."""
        for place in range(self.values.shape[1]):
            yield self.start + 7_123 + place * STEP_MS, np.ascontiguousarray(self.values[:, place])


def make_mix(consumers: int, seed: int = 7) -> Mix:
    random = np.random.default_rng(seed)
    rows, labels = [], []
    for metric, draw in METRICS.items():
        for consumer in range(consumers):
            rows.append(draw(random, _SCRAPES))
            labels.append(_labels(metric, consumer))
    return Mix(labels, np.stack(rows))


def _labels(metric: str, consumer: int) -> Labels:
    return (
        ("__name__", f"streamgauge_consumer_{metric}"),
        ("account", f"ACCOUNT{consumer % 3}"),
        ("consumer", f"worker-{consumer:05}"),
        ("instance", "exporter.example:7778"),
        ("job", "streamgauge"),
        ("stream", f"ORDERS{consumer // 10}"),
        ("system", "nats"),
    )


def _load(random: np.random.Generator, size: int) -> Values:
    """Messages per scrape: a base rate with a daily curve and noise."""
    level = random.lognormal(3, 1.5)
    curve = 1 + 0.5 * np.sin(np.linspace(0, 2 * np.pi, size))
    return random.poisson(level * curve).astype(np.float64)


def _sequence(random: np.random.Generator, size: int) -> Values:
    return np.cumsum(_load(random, size)) + random.integers(0, 10**9)


def _rare_counter(random: np.random.Generator, size: int) -> Values:
    return np.cumsum(random.random(size) < 0.01).astype(np.float64)


def _backlog(random: np.random.Generator, size: int) -> Values:
    waiting: Values = np.cumsum(_load(random, size) - _load(random, size).mean())
    return np.maximum(waiting, 0).round()


def _few(random: np.random.Generator, size: int) -> Values:
    return random.poisson(random.lognormal(1, 1), size).astype(np.float64)


def _constant(random: np.random.Generator, size: int) -> Values:
    return np.full(size, float(random.choice([1, 100, 1000, 20_000])))


def _seconds(random: np.random.Generator, size: int) -> Values:
    """An age or a lag, to the millisecond."""
    return (random.gamma(2, random.lognormal(0, 1), size)).round(3)


def _last_event(random: np.random.Generator, size: int) -> Values:
    """When something last happened, to the millisecond."""
    times = (_START + 7_123 + np.arange(size) * STEP_MS) / 1000
    return (times - random.exponential(2, size)).round(3)


def _ratio(random: np.random.Generator, size: int) -> Values:
    """A quotient: all 53 bits."""
    return _few(random, size) / (1 + _few(random, size) * 3)


def _flag(random: np.random.Generator, size: int) -> Values:
    return (np.cumsum(random.random(size) < 0.001) % 2).astype(np.float64)


METRICS: Final[dict[str, Draw]] = {
    "ack_floor_stream_sequence": _sequence,
    "delivered_stream_sequence": _sequence,
    "delivered_messages_total": _sequence,
    "redelivered_messages_total": _rare_counter,
    "pending_messages": _backlog,
    "ack_pending_messages": _few,
    "waiting_pulls": _few,
    "max_ack_pending": _constant,
    "lag_seconds": _seconds,
    "last_ack_timestamp_seconds": _last_event,
    "pull_ratio": _ratio,
    "stalled": _flag,
}
