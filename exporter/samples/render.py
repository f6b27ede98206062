"""A snapshot -> blocks of exposition, within the series cap. Heavy: runs off the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

from exporter import catalog
from exporter.exposition import Block, Column, render_block
from exporter.metric import Metric, Subject
from exporter.model import Consumer, Snapshot, Stream
from exporter.samples.account import account_columns
from exporter.samples.consumer import Key, consumer_columns, consumer_key
from exporter.samples.ephemeral import count_ephemerals, crowd_columns, fold_crowds
from exporter.samples.heads import HeadBook
from exporter.samples.selection import Selection
from exporter.samples.server import meta_columns, server_columns
from exporter.samples.stream import stream_columns, stream_key
from exporter.samples.times import clock_offsets

_STREAM_ORDER = attrgetter("account", "name")
_CONSUMER_ORDER = attrgetter("account", "stream", "name")


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


@dataclass(slots=True)
class Renderer:
    """Renders the snapshots of one system; keeps label texts and who was ever paused."""

    system: str
    selection: Selection = field(default_factory=Selection)
    limits: Limits = field(default_factory=Limits)
    _wanted: frozenset[Metric] = field(init=False)
    _streams: HeadBook = field(init=False)
    _consumers: HeadBook = field(init=False)
    _ever_paused: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._wanted = self.selection.metrics()
        self._streams = HeadBook(catalog.STREAM, self.system)
        self._consumers = HeadBook(catalog.CONSUMER, self.system)

    def render(self, snapshot: Snapshot) -> Rendered:
        self._note_pauses(snapshot.consumers)
        counts = count_ephemerals(snapshot.consumers)
        consumers, crowds = fold_crowds(snapshot.consumers, counts, self.limits.max_ephemerals)
        blocks = _Blocks(self._wanted, self.limits.max_series)
        blocks.take(server_columns(self.system, snapshot.servers))
        blocks.take(meta_columns(self.system, snapshot.meta, snapshot.servers))
        blocks.take(account_columns(self.system, snapshot.accounts))
        self._take_streams(blocks, snapshot, counts)
        blocks.take(crowd_columns(self.system, crowds))
        self._take_consumers(blocks, consumers, snapshot)
        folded = sum(counts[key] for key in crowds)
        return Rendered(tuple(blocks.done), blocks.series, blocks.dropped, folded)

    def _note_pauses(self, consumers: Iterable[Consumer]) -> None:
        present = {consumer_key(row) for row in consumers if row.paused}
        if self._ever_paused:
            named = set(map(consumer_key, consumers))
            self._ever_paused &= named
        self._ever_paused |= present

    def _take_streams(
        self, blocks: _Blocks, snapshot: Snapshot, ephemerals: Counter[tuple[str, str]]
    ) -> None:
        rows = sorted(snapshot.streams, key=_STREAM_ORDER)
        offsets = clock_offsets(snapshot.servers)
        listed = {(row.account, row.stream) for row in snapshot.consumers}
        heads = self._streams.heads(map(stream_key, rows))

        def columns(first: int, last: int) -> Iterator[Column]:
            return stream_columns(
                rows[first:last], heads[first:last], offsets, snapshot.taken, ephemerals, listed
            )

        blocks.take_rows(columns, [_stream_weight(row) for row in rows], Subject.STREAM)

    def _take_consumers(
        self, blocks: _Blocks, consumers: Sequence[Consumer], snapshot: Snapshot
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
            return consumer_columns(part, part_heads, offsets, self._ever_paused)

        blocks.take_rows(columns, [_consumer_weight(row) for row in rows], Subject.CONSUMER)


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

    def take_rows(
        self,
        columns: Callable[[int, int], Iterator[Column]],
        weights: list[int],
        subject: Subject,
    ) -> None:
        """As many rows as surely fit, in order of their names; the rest is counted, not written."""
        fixed = sum(1 for metric in self.wanted if metric.subject is subject)
        total, left = len(weights), self.cap - self.series
        fitting = total
        if fixed * total + sum(weights) > left:
            bounds = accumulate(fixed + weight for weight in weights)
            fitting = sum(1 for bound in bounds if bound <= left)
        self.take(columns(0, fitting))
        if fitting < total:
            self.dropped += self._count(columns(fitting, total))

    def _count(self, columns: Iterable[Column]) -> int:
        return sum(
            sum(1 for value in column.values if value is not None)
            for column in columns
            if column.metric in self.wanted
        )


def _stream_weight(row: Stream) -> int:
    """Series that a stream may have beyond one per metric."""
    limits = len(row.config.thresholds.limits) if row.config else 0
    return 3 * len(row.replicas) + 3 * len(row.origins) + limits + 4


def _consumer_weight(row: Consumer) -> int:
    limits = len(row.config.thresholds.limits) if row.config else 0
    return 2 * len(row.replicas) + limits
