"""Queries of checks on the rollups, from totals in memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from msgspec import Struct

from exporter import catalog
from exporter.subscription_counts import ConsumerKey, StreamKey

_DAY, _WEEK, _MONTH = 1, 7, 30
# Days with data that a statement about a whole month requires.
_MIN_DAYS_OF_MONTH = 28

Key = tuple[str, str, str]  # account, stream, consumer ("" for a stream)


class WindowTotals(Struct, frozen=True, gc=False):
    """One metric of one asset over a window of days."""

    max: float
    sum: float
    count: int  # samples
    hours: int  # with data
    days: int  # with data
    increase: float  # of a counter


@dataclass(frozen=True, slots=True)
class RollupHistory:
    """Implements exporter.audit.context.History."""

    newest: date  # the last day with data
    windows: Mapping[tuple[str, int], Mapping[Key, WindowTotals]]  # by metric and days
    p95: Mapping[Key, float]  # of ack pending, the highest of the week's days
    p99: Mapping[Key, float | None]  # seconds to ack, of the last day
    growth: Mapping[Key, float]

    def p99_time_to_ack(self, key: ConsumerKey) -> float | None:
        return self.p99.get(key)

    def mean_time_to_ack(self, key: ConsumerKey) -> float | None:
        """By Little's law: mean number of unacknowledged messages / deliveries per second."""
        pending = self._of(catalog.CONSUMER_NUM_ACK_PENDING.name, _DAY, key)
        sent = self._of(catalog.CONSUMER_DELIVERIES.name, _DAY, key)
        if pending is None or sent is None or not pending.count or sent.increase <= 0:
            return None
        return pending.sum / pending.count / (sent.increase / (sent.hours * 3600))

    def peak_ack_pending(self, key: ConsumerKey) -> float | None:
        return self._max(catalog.CONSUMER_NUM_ACK_PENDING.name, _WEEK, key)

    def p95_ack_pending(self, key: ConsumerKey) -> float | None:
        return self.p95.get(key)

    def worst_lag(self, key: ConsumerKey) -> float | None:
        return self._max(catalog.CONSUMER_LAG_SECONDS.name, _MONTH, key)

    def worst_backlog(self, key: ConsumerKey) -> float | None:
        """Falls back to undelivered messages where the backlog was not recorded."""
        backlog = self._max(catalog.CONSUMER_BACKLOG_MESSAGES.name, _MONTH, key)
        undelivered = self._max(catalog.CONSUMER_NUM_PENDING.name, _MONTH, key)
        return undelivered if backlog is None else backlog

    def redelivery_ratio(self, key: ConsumerKey) -> float | None:
        redelivered = self._of(catalog.CONSUMER_REDELIVERIES.name, _DAY, key)
        sent = self._of(catalog.CONSUMER_DELIVERIES.name, _DAY, key)
        if redelivered is None or sent is None or sent.increase <= 0:
            return None
        return redelivered.increase / sent.increase

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
        return None if found is None or found.days < _MIN_DAYS_OF_MONTH else found.increase

    def consumer_growth(self, key: StreamKey) -> float | None:
        return self.growth.get((*key, ""))

    def _of(self, metric: str, days: int, key: Key) -> WindowTotals | None:
        return self.windows.get((metric, days), {}).get(key)

    def _max(self, metric: str, days: int, key: Key) -> float | None:
        found = self._of(metric, days, key)
        return None if found is None else found.max


def quantile(q: float, buckets: Mapping[float, float]) -> float | None:
    """The upper bound of the bucket that holds the quantile; None above the last bound.

    `buckets`: cumulative counts by upper bound.
    """
    ordered = sorted(buckets.items())
    total = ordered[-1][1] if ordered else 0.0
    if total <= 0:
        return None
    bound = next(bound for bound, amount in ordered if amount >= q * total)
    return None if bound == float("inf") else bound
