"""What checks may ask of the past, answered from numbers that were read once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from msgspec import Struct

from exporter import catalog
from exporter.subscription_counts import ConsumerKey, StreamKey

_DAY, _WEEK, _MONTH = 1, 7, 30
# To say that nothing happened in a month, a month must have been seen.
_NEARLY_A_MONTH = 28

Key = tuple[str, str, str]  # account, stream, consumer ("" for a stream)


class Spread(Struct, frozen=True, gc=False):
    """One metric of one asset over some days."""

    highest: float
    sum: float
    count: int  # samples
    hours: int  # with data
    days: int  # with data
    increase: float  # of a counter


@dataclass(frozen=True, slots=True)
class RollupHistory:
    """Answers to what exporter.audit.context.History asks; None wherever nothing is known."""

    newest: date  # the last day that it knows of
    spreads: Mapping[tuple[str, int], Mapping[Key, Spread]]  # by metric and days
    p95: Mapping[Key, float]  # of ack pending, the highest of the week's days
    p99: Mapping[Key, float | None]  # seconds to ack, of the last day
    growth: Mapping[Key, float]

    def p99_time_to_ack(self, key: ConsumerKey) -> float | None:
        return self.p99.get(key)

    def mean_time_to_ack(self, key: ConsumerKey) -> float | None:
        """By Little's law: how many waited for an ack, by how many were delivered per second."""
        waited = self._of(catalog.CONSUMER_NUM_ACK_PENDING.name, _DAY, key)
        sent = self._of(catalog.CONSUMER_DELIVERIES.name, _DAY, key)
        if waited is None or sent is None or not waited.count or sent.increase <= 0:
            return None
        return waited.sum / waited.count / (sent.increase / (sent.hours * 3600))

    def peak_ack_pending(self, key: ConsumerKey) -> float | None:
        return self._highest(catalog.CONSUMER_NUM_ACK_PENDING.name, _WEEK, key)

    def p95_ack_pending(self, key: ConsumerKey) -> float | None:
        return self.p95.get(key)

    def worst_lag(self, key: ConsumerKey) -> float | None:
        return self._highest(catalog.CONSUMER_LAG_SECONDS.name, _MONTH, key)

    def worst_backlog(self, key: ConsumerKey) -> float | None:
        """Where all that is unfinished was not kept: of what was not yet sent."""
        whole = self._highest(catalog.CONSUMER_BACKLOG_MESSAGES.name, _MONTH, key)
        unsent = self._highest(catalog.CONSUMER_NUM_PENDING.name, _MONTH, key)
        return unsent if whole is None else whole

    def redelivery_ratio(self, key: ConsumerKey) -> float | None:
        again = self._of(catalog.CONSUMER_REDELIVERIES.name, _DAY, key)
        sent = self._of(catalog.CONSUMER_DELIVERIES.name, _DAY, key)
        if again is None or sent is None or sent.increase <= 0:
            return None
        return again.increase / sent.increase

    def recreated(self, key: ConsumerKey) -> float | None:
        found = self._of(catalog.CONSUMER_RECREATED.name, _MONTH, key)
        return None if found is None else found.increase

    def publish_rate(self, key: StreamKey) -> float | None:
        found = self._of(catalog.STREAM_STORED_MESSAGES.name, _WEEK, (*key, ""))
        return None if found is None or not found.hours else found.increase / (found.hours * 3600)

    def duplicates(self, key: StreamKey) -> float | None:
        found = self._of(catalog.STREAM_DEDUPE_HITS.name, _WEEK, (*key, ""))
        return None if found is None else found.increase

    def stored(self, key: StreamKey) -> float | None:
        found = self._of(catalog.STREAM_STORED_MESSAGES.name, _MONTH, (*key, ""))
        return None if found is None or found.days < _NEARLY_A_MONTH else found.increase

    def consumer_growth(self, key: StreamKey) -> float | None:
        return self.growth.get((*key, ""))

    def _of(self, metric: str, days: int, key: Key) -> Spread | None:
        return self.spreads.get((metric, days), {}).get(key)

    def _highest(self, metric: str, days: int, key: Key) -> float | None:
        found = self._of(metric, days, key)
        return None if found is None else found.highest


def quantile(share: float, buckets: Mapping[float, float]) -> float | None:
    """The upper bound of the bucket in which it lies: never less than the truth.

    `buckets`: how many were at most as large as each bound. None above the last of them.
    """
    ordered = sorted(buckets.items())
    total = ordered[-1][1] if ordered else 0.0
    if total <= 0:
        return None
    bound = next(bound for bound, amount in ordered if amount >= share * total)
    return None if bound == float("inf") else bound
