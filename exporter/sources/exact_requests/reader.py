"""Requests about single consumers that make signals exact: a message's time, a filter's count.

All are bounded per poll, and what cannot be had is left out: the signals then say that they guess.
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
    Countable,
    KeptCount,
    KeptReading,
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
class PreciseOptions:
    exact_lag: bool = False  # it reads messages: only for whoever asks for it
    lags_per_poll: int = 50
    filtered_counts: bool = True
    counts_interval: float = 60.0  # seconds
    counts_per_round: int = 100
    most_subjects: int = 10_000  # in all answers of a round; above it a stream is left out
    at_once: int = 8


@dataclass(frozen=True, slots=True)
class Precise:
    lags: dict[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(slots=True)
class PreciseReader:
    """For the consumers of one account, the one of the connection."""

    api: AccountApi
    account: str
    options: PreciseOptions = PreciseOptions()
    clock: Callable[[], float] = time.monotonic
    _round: int = 0
    _readings: dict[ConsumerKey, KeptReading] = field(default_factory=dict)
    _lag_asked: dict[ConsumerKey, int] = field(default_factory=dict)
    _counts: dict[ConsumerKey, KeptCount] = field(default_factory=dict)
    _count_asked: dict[ConsumerKey, int] = field(default_factory=dict)
    _too_new: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    _next_count: float = float("-inf")
    _over_ceiling: bool = False

    async def read(
        self, snapshot: Snapshot, signals: Signals | None, context: RequestContext
    ) -> Precise:
        """Before the book is given `snapshot`; `signals` are those of the poll before.

        `asking` should be one of its own: what fails here makes no snapshot incomplete.
        """
        self._round += 1
        lags = await self._read_lags(snapshot, signals, context)
        counts = await self._read_counts(snapshot, context)
        ours = tuple(o for o in context.outcomes if o.request in (EXACT_LAG, FILTERED_COUNTS))
        return Precise(lags, counts, ours, self._skipped(context))

    def _skipped(self, context: RequestContext) -> tuple[Skipped, ...]:
        rests = context.left_out.skipped(time.monotonic())
        ours = tuple(s for s in rests if s.request in (EXACT_LAG, FILTERED_COUNTS))
        if self._over_ceiling:
            ours += (Skipped(FILTERED_COUNTS, "ceiling"),)
        return ours

    async def _read_lags(
        self, snapshot: Snapshot, signals: Signals | None, context: RequestContext
    ) -> dict[ConsumerKey, LagMeasurement]:
        if not self.options.exact_lag or signals is None:
            return {}
        wanted = {each.key: each for each in lagging(snapshot, signals, self.account)}
        self._readings = {
            key: kept
            for key, kept in self._readings.items()
            if key in wanted and kept.responses(wanted[key])
        }
        self._lag_asked = {key: n for key, n in self._lag_asked.items() if key in wanted}
        if not context.rests(EXACT_LAG):
            open_ones = (each for key, each in wanted.items() if key not in self._readings)
            chosen = choose_lagging(open_ones, self.options.lags_per_poll, self._lag_asked)
            with context.request(EXACT_LAG):
                await fan_out(
                    chosen, lambda e: self._read_lag(e, context), self.options.at_once, context
                )
        return {key: kept.reading for key, kept in self._readings.items()}

    async def _read_lag(self, wanted: Lagging, context: RequestContext) -> None:
        self._lag_asked[wanted.key] = self._round
        config, start = wanted.stream.config, wanted.requested_from
        direct = config is not None and config.allow_direct
        found = await MessageReader(self.api).first(
            wanted.stream.name, start, wanted.filters, direct=direct, context=context
        )
        if found is not None:
            reading = LagMeasurement(start, found.seq, found.stored)
            self._readings[wanted.key] = KeptReading(reading, wanted.filters, wanted.stream)

    async def _read_counts(
        self, snapshot: Snapshot, context: RequestContext
    ) -> dict[ConsumerKey, FilteredCount]:
        given, self._too_new = self._too_new, {}
        if not self.options.filtered_counts:
            return {}
        if self.clock() >= self._next_count and not context.rests(FILTERED_COUNTS):
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
        self._counts = {key: kept for key, kept in self._counts.items() if key in rows}
        self._count_asked = {key: n for key, n in self._count_asked.items() if key in rows}
        self._over_ceiling = any(each.subjects > options.most_subjects for each in rows.values())
        wanted = [each for key, each in rows.items() if self._tells_more(key, each)]

        async def one(each: Countable) -> None:
            self._count_asked[each.key] = self._round
            _, stream, name = each.key
            count = await MatchingCounter(self.api).count(stream, name, each.filters, context)
            if count is not None:
                given[each.key] = count
                self._counts[each.key] = KeptCount(count, each.filters, each.created)

        chosen = choose_countable(
            wanted, options.counts_per_round, options.most_subjects, self._count_asked
        )
        # One after the other: the server counts under the lock that publishers need.
        await fan_out(chosen, one, 1, context)

    def _tells_more(self, key: ConsumerKey, row: Countable) -> bool:
        kept = self._counts.get(key)
        return kept is None or row.unlike(kept)

    def _keep_too_new(self, snapshot: Snapshot, given: dict[ConsumerKey, FilteredCount]) -> None:
        """A count that was taken after further deliveries can be used with the next look only."""
        for row in snapshot.consumers:
            count = given.get((row.account, row.stream, row.name))
            if count is not None and count.deliveries > row.delivered_consumer_seq:
                self._too_new[row.account, row.stream, row.name] = count
