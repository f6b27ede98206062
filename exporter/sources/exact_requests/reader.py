"""Requests about single consumers that make signals exact: message timestamps, filtered counts.

Their number per poll is bounded. Without a result the signals are bounds, not exact values.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from exporter.model import Outcome, Skipped, Snapshot
from exporter.signals.events_input import ConsumerKey, FilteredCount, LagMeasurement
from exporter.signals.results import Signals
from exporter.sources.exact_requests.first_message import MessageReader
from exporter.sources.exact_requests.matching_count import MatchingCounter
from exporter.sources.exact_requests.selection import (
    CachedCount,
    CachedMeasurement,
    Countable,
    Lagging,
    choose_countable,
    choose_lagging,
    countable,
    lagging,
)
from exporter.sources.fan_out import fan_out
from exporter.sources.jetstream_api.client import AccountApi
from exporter.sources.request_context import RequestContext

EXACT_LAG = "exact_lag"
FILTERED_COUNTS = "filtered_counts"


@dataclass(frozen=True, slots=True)
class ExactOptions:
    exact_lag: bool = False  # opt-in, because it reads messages
    lags_per_poll: int = 50
    filtered_counts: bool = True
    counts_interval: float = 60.0  # seconds
    counts_per_round: int = 100
    most_subjects: int = 10_000  # in all responses of a round; a stream above it is skipped
    at_once: int = 8


@dataclass(frozen=True, slots=True)
class ExactResults:
    lags: dict[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(slots=True)
class ExactReader:
    """For the consumers of the connection's account."""

    api: AccountApi
    account: str
    options: ExactOptions = ExactOptions()
    clock: Callable[[], float] = time.monotonic
    _round: int = 0
    _measurements: dict[ConsumerKey, CachedMeasurement] = field(default_factory=dict)
    _lag_requested: dict[ConsumerKey, int] = field(default_factory=dict)
    _counts: dict[ConsumerKey, CachedCount] = field(default_factory=dict)
    _count_requested: dict[ConsumerKey, int] = field(default_factory=dict)
    _too_new: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    _next_count: float = float("-inf")
    _over_ceiling: bool = False

    async def read(
        self, snapshot: Snapshot, signals: Signals | None, context: RequestContext
    ) -> ExactResults:
        """Call it before the signals are updated: `signals` are those of the previous poll.

        `context` must be a separate one: a failure here does not make the snapshot incomplete.
        """
        self._round += 1
        lags = await self._read_lags(snapshot, signals, context)
        counts = await self._read_counts(snapshot, context)
        ours = tuple(o for o in context.outcomes if o.request in (EXACT_LAG, FILTERED_COUNTS))
        return ExactResults(lags, counts, ours, self._skipped(context))

    def _skipped(self, context: RequestContext) -> tuple[Skipped, ...]:
        skipped = context.skipped_requests.skipped(time.monotonic())
        ours = tuple(s for s in skipped if s.request in (EXACT_LAG, FILTERED_COUNTS))
        if self._over_ceiling:
            ours += (Skipped(FILTERED_COUNTS, "ceiling"),)
        return ours

    async def _read_lags(
        self, snapshot: Snapshot, signals: Signals | None, context: RequestContext
    ) -> dict[ConsumerKey, LagMeasurement]:
        if not self.options.exact_lag or signals is None:
            return {}
        wanted = {each.key: each for each in lagging(snapshot, signals, self.account)}
        self._measurements = {
            key: cached
            for key, cached in self._measurements.items()
            if key in wanted and cached.still_valid_for(wanted[key])
        }
        self._lag_requested = {key: n for key, n in self._lag_requested.items() if key in wanted}
        if not context.is_skipped(EXACT_LAG):
            open_ones = (each for key, each in wanted.items() if key not in self._measurements)
            chosen = choose_lagging(open_ones, self.options.lags_per_poll, self._lag_requested)
            with context.request(EXACT_LAG):
                await fan_out(
                    chosen, lambda e: self._read_lag(e, context), self.options.at_once, context
                )
        return {key: cached.measurement for key, cached in self._measurements.items()}

    async def _read_lag(self, wanted: Lagging, context: RequestContext) -> None:
        self._lag_requested[wanted.key] = self._round
        config, start = wanted.stream.config, wanted.start_seq
        direct = config is not None and config.allow_direct
        found = await MessageReader(self.api).first(
            wanted.stream.name, start, wanted.filters, direct=direct, context=context
        )
        if found is not None:
            measurement = LagMeasurement(start, found.seq, found.stored)
            self._measurements[wanted.key] = CachedMeasurement(
                measurement, wanted.filters, wanted.stream
            )

    async def _read_counts(
        self, snapshot: Snapshot, context: RequestContext
    ) -> dict[ConsumerKey, FilteredCount]:
        given, self._too_new = self._too_new, {}
        if not self.options.filtered_counts:
            return {}
        if self.clock() >= self._next_count and not context.is_skipped(FILTERED_COUNTS):
            self._next_count = self.clock() + self.options.counts_interval
            with context.request(FILTERED_COUNTS):
                await self._count_round(snapshot, given, context)
        if given:
            self._keep_too_new(snapshot, given)
        return given

    async def _count_round(
        self, snapshot: Snapshot, given: dict[ConsumerKey, FilteredCount], context: RequestContext
    ) -> None:
        options = self.options
        rows = {each.key: each for each in countable(snapshot, self.account)}
        self._counts = {key: cached for key, cached in self._counts.items() if key in rows}
        self._count_requested = {key: n for key, n in self._count_requested.items() if key in rows}
        self._over_ceiling = any(each.subjects > options.most_subjects for each in rows.values())
        wanted = [each for key, each in rows.items() if self._needs_count(key, each)]

        async def one(each: Countable) -> None:
            self._count_requested[each.key] = self._round
            _, stream, name = each.key
            count = await MatchingCounter(self.api).count(stream, name, each.filters, context)
            if count is not None:
                given[each.key] = count
                self._counts[each.key] = CachedCount(count, each.filters, each.created)

        chosen = choose_countable(
            wanted, options.counts_per_round, options.most_subjects, self._count_requested
        )
        # One at a time: the server counts under the lock that publishers need.
        await fan_out(chosen, one, 1, context)

    def _needs_count(self, key: ConsumerKey, row: Countable) -> bool:
        cached = self._counts.get(key)
        return cached is None or row.differs_from(cached)

    def _keep_too_new(self, snapshot: Snapshot, given: dict[ConsumerKey, FilteredCount]) -> None:
        """A count taken after further deliveries can only be used at the next poll."""
        for row in snapshot.consumers:
            count = given.get((row.account, row.stream, row.name))
            if count is not None and count.deliveries > row.delivered_consumer_seq:
                self._too_new[row.account, row.stream, row.name] = count
