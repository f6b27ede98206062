"""A snapshot -> blocks of exposition, within the series cap. Heavy: runs off the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from exporter import catalog
from exporter.events.counts import NOTHING_HEARD, EventCounts
from exporter.exposition import Block, Column, Value, render_block
from exporter.histogram import Histogram
from exporter.metric import Metric
from exporter.model import Consumer, Snapshot
from exporter.samples.account import account_columns
from exporter.samples.consumer import Key, consumer_columns, consumer_key
from exporter.samples.ephemeral import count_ephemerals, crowd_columns, fold_crowds
from exporter.samples.events import (
    account_event_columns,
    consumer_event_columns,
    stream_event_columns,
)
from exporter.samples.heads import HeadBook, InfoBook
from exporter.samples.publishes import consumer_reply_columns, stream_publish_columns
from exporter.samples.selection import Selection
from exporter.samples.server import meta_columns, server_columns
from exporter.samples.signals import consumer_signal_columns, stream_signal_columns
from exporter.samples.stream import stream_columns, stream_key
from exporter.samples.times import clock_offsets
from exporter.signals.publishes import PublishSignals
from exporter.signals.told import Signals

_STREAM_ORDER = attrgetter("account", "name")
_CONSUMER_ORDER = attrgetter("account", "stream", "name")
NO_SIGNALS = Signals()
NO_PUBLISHES = PublishSignals({}, {})
Rows = Callable[[int, int], Iterator[Column]]  # the columns of some rows, from first to last


@dataclass(frozen=True, slots=True)
class Limits:
    max_series: int = 5_000_000
    max_ephemerals: int = 50


@dataclass(frozen=True, slots=True)
class Rendered:
    blocks: tuple[Block, ...]
    series: int
    dropped: int  # series that the cap left out
    folded: int  # ephemeral consumers that were summed into one row per stream


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known beside the snapshot."""

    signals: Signals
    published: PublishSignals
    events: EventCounts


@dataclass(slots=True)
class Renderer:
    """Renders the snapshots of one system; keeps label texts and who was ever paused."""

    system: str
    selection: Selection = field(default_factory=Selection)
    limits: Limits = field(default_factory=Limits)
    _wanted: frozenset[Metric] = field(init=False)
    _streams: HeadBook = field(init=False)
    _consumers: HeadBook = field(init=False)
    _infos: InfoBook = field(default_factory=InfoBook)
    _ever_paused: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._wanted = self.selection.metrics()
        self._streams = HeadBook(catalog.STREAM, self.system)
        self._consumers = HeadBook(catalog.CONSUMER, self.system)

    def render(
        self,
        snapshot: Snapshot,
        signals: Signals = NO_SIGNALS,
        published: PublishSignals = NO_PUBLISHES,
        events: EventCounts = NOTHING_HEARD,
    ) -> Rendered:
        told = _Told(signals, published, events)
        self._note_pauses(snapshot.consumers)
        counts = count_ephemerals(snapshot.consumers)
        consumers, crowds = fold_crowds(
            snapshot.consumers, counts, self.limits.max_ephemerals, signals.consumers
        )
        blocks = _Blocks(self._wanted, self.limits.max_series)
        blocks.take(server_columns(self.system, snapshot.servers))
        blocks.take(meta_columns(self.system, snapshot.meta, snapshot.servers))
        blocks.take(account_columns(self.system, snapshot.accounts))
        blocks.take(account_event_columns(self.system, events))
        self._take_streams(blocks, snapshot, counts, told)
        blocks.take(crowd_columns(self.system, crowds))
        self._take_consumers(blocks, consumers, snapshot, told)
        folded = sum(counts[key] for key in crowds)
        return Rendered(tuple(blocks.done), blocks.series, blocks.dropped, folded)

    def _note_pauses(self, consumers: Iterable[Consumer]) -> None:
        present = {consumer_key(row) for row in consumers if row.paused}
        if self._ever_paused:
            named = set(map(consumer_key, consumers))
            self._ever_paused &= named
        self._ever_paused |= present

    def _take_streams(
        self,
        blocks: _Blocks,
        snapshot: Snapshot,
        ephemerals: Counter[tuple[str, str]],
        told: _Told,
    ) -> None:
        rows = sorted(snapshot.streams, key=_STREAM_ORDER)
        offsets = clock_offsets(snapshot.servers)
        listed = {(row.account, row.stream) for row in snapshot.consumers}
        heads = self._streams.heads(map(stream_key, rows))

        def columns(first: int, last: int) -> Iterator[Column]:
            some, their = rows[first:last], heads[first:last]
            return chain(
                stream_columns(some, their, offsets, snapshot.taken, ephemerals, listed),
                stream_signal_columns(some, their, told.signals.streams),
                stream_publish_columns(some, their, told.published.streams),
                stream_event_columns(some, their, told.events),
            )

        blocks.take_rows(columns, len(rows))

    def _take_consumers(
        self,
        blocks: _Blocks,
        consumers: Sequence[Consumer],
        snapshot: Snapshot,
        told: _Told,
    ) -> None:
        rows = sorted(consumers, key=_CONSUMER_ORDER)
        offsets = clock_offsets(snapshot.servers)
        heads = self._consumers.heads(map(consumer_key, rows))

        def columns(first: int, last: int) -> Iterator[Column]:
            part, part_heads = (
                (rows, heads)
                if last - first == len(rows)
                else (rows[first:last], heads[first:last])
            )
            return chain(
                consumer_columns(part, part_heads, offsets, self._ever_paused, self._infos),
                consumer_signal_columns(part, part_heads, told.signals.consumers),
                consumer_reply_columns(part, part_heads, told.published.consumers),
                consumer_event_columns(part, part_heads, told.events),
            )

        blocks.take_rows(columns, len(rows))


@dataclass(slots=True)
class _Blocks:
    """Blocks written so far, and what is left of the cap."""

    wanted: frozenset[Metric]
    cap: int
    done: list[Block] = field(default_factory=list)
    series: int = 0
    dropped: int = 0

    def take(self, columns: Iterable[Column]) -> None:
        for column in columns:
            if column.metric in self.wanted:
                block = render_block(column)
                if block is not None:
                    self.done.append(block)
                    self.series += block.lines

    def take_rows(self, columns: Rows, total: int) -> None:
        """Whole rows in order of their names, up to the cap; the rest is counted, not written."""
        blocks, before = len(self.done), self.series
        self.take(columns(0, total))
        if self.series <= self.cap:
            return
        wanted = self.series - before
        del self.done[blocks:]
        self.series = before
        self.take(columns(0, self._fitting(columns, total, wanted)))
        self.dropped += before + wanted - self.series

    def _fitting(self, columns: Rows, rows: int, series: int) -> int:
        """How many of the rows, which have so many series together, stay below the cap."""
        left = self.cap - self.series
        while rows > 0 and series > left:
            rows = min(rows - 1, rows * max(0, left) // series)
            series = self._count(columns(0, rows))
        return rows

    def _count(self, columns: Iterable[Column]) -> int:
        return sum(
            sum(map(_series_of, column.values))
            for column in columns
            if column.metric in self.wanted
        )


def _series_of(value: Value) -> int:
    if value is None:
        return 0
    return len(value.counts) + 2 if isinstance(value, Histogram) else 1
