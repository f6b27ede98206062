"""How long the workers of a consumer take to acknowledge, from rollups or from ack samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.units import duration
from exporter.events.ack_samples import BOUNDS_SECONDS
from exporter.exposition.histogram import Histogram
from exporter.model import Consumer

# Fewer samples give no p99.
MIN_ACKS = 100


@dataclass(frozen=True, slots=True)
class AckTime:
    """Between `low` and `high` seconds: the bounds of a histogram bucket."""

    low: float
    high: float
    label: str  # in evidence

    @property
    def text(self) -> str:
        if self.low == self.high:
            return f"{self.label}: {duration(self.low)}"
        if self.high == inf:
            return f"{self.label}: above {duration(self.low)}"
        return f"{self.label}: {duration(self.low)} to {duration(self.high)}"


def has_ack_times(context: AuditContext) -> bool:
    """Whether any time to ack can be known."""
    return context.history is not None or any(
        counts.ack_times is not None for counts in context.events.consumers.values()
    )


def p99_ack_time(context: AuditContext, row: Consumer) -> AckTime | None:
    key = consumer_key(row)
    p99 = context.history.p99_time_to_ack(key) if context.history is not None else None
    if p99 is not None:
        low = max((bound for bound in BOUNDS_SECONDS if bound < p99), default=0.0)
        return AckTime(low, p99, "p99 of the time to ack over a day")
    counts = context.events.consumers.get(key)
    if counts is None or counts.ack_times is None:
        return None
    return _p99(counts.ack_times)


def mean_ack_time(context: AuditContext, row: Consumer) -> AckTime | None:
    if context.history is None:
        return None
    mean = context.history.mean_time_to_ack(consumer_key(row))
    return None if mean is None else AckTime(mean, mean, "mean time to ack over a day")


def _p99(times: Histogram) -> AckTime | None:
    below = times.cumulative()
    if below[-1] < MIN_ACKS:
        return None
    bucket = next(index for index, count in enumerate(below) if count >= 0.99 * below[-1])
    low = times.bounds[bucket - 1] if bucket else 0.0
    high = times.bounds[bucket] if bucket < len(times.bounds) else inf
    return AckTime(low, high, f"p99 of {below[-1]:,} sampled times to ack")
