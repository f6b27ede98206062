"""How long a consumer's workers take to acknowledge, from rollups or from sampled acks."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.units import span
from exporter.events.ack_samples import BOUNDS_SECONDS
from exporter.exposition.histogram import Histogram
from exporter.model import Consumer

# Of fewer acks the slowest percent is no percent.
LEAST_ACKS = 100


@dataclass(frozen=True, slots=True)
class AckTime:
    """Between `low` and `high` seconds: a histogram knows the bucket only."""

    low: float
    high: float
    what: str  # how evidence names it

    @property
    def text(self) -> str:
        if self.low == self.high:
            return f"{self.what}: {span(self.low)}"
        if self.high == inf:
            return f"{self.what}: above {span(self.low)}"
        return f"{self.what}: {span(self.low)} to {span(self.high)}"


def can_be_told(scene: AuditContext) -> bool:
    """Whether acknowledgements are timed at all here."""
    return scene.history is not None or any(
        counts.ack_times is not None for counts in scene.events.consumers.values()
    )


def slowest(scene: AuditContext, row: Consumer) -> AckTime | None:
    """The time that 99 of 100 acknowledgements stay below."""
    key = consumer_key(row)
    told = scene.history.p99_time_to_ack(key) if scene.history is not None else None
    if told is not None:
        low = max((bound for bound in BOUNDS_SECONDS if bound < told), default=0.0)
        return AckTime(low, told, "p99 of the time to ack over a day")
    heard = scene.events.consumers.get(key)
    if heard is None or heard.ack_times is None:
        return None
    return _p99(heard.ack_times)


def mean(scene: AuditContext, row: Consumer) -> AckTime | None:
    told = scene.history.mean_time_to_ack(consumer_key(row)) if scene.history is not None else None
    return None if told is None else AckTime(told, told, "mean time to ack over a day")


def _p99(times: Histogram) -> AckTime | None:
    below = times.cumulative()
    if below[-1] < LEAST_ACKS:
        return None
    bucket = next(place for place, count in enumerate(below) if count >= 0.99 * below[-1])
    low = times.bounds[bucket - 1] if bucket else 0.0
    high = times.bounds[bucket] if bucket < len(times.bounds) else inf
    return AckTime(low, high, f"p99 of {below[-1]:,} sampled times to ack")
