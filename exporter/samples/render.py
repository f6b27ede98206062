"""Renders a snapshot as blocks of exposition text. CPU-bound: runs outside the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain

from exporter import catalog
from exporter.audit.report import Report
from exporter.events.counts import NO_EVENTS, EventCounts
from exporter.exposition.text_format import Block, Column
from exporter.metric import Metric
from exporter.model import Consumer, Snapshot, Stream, SubjectCounts
from exporter.samples.account import account_columns
from exporter.samples.blocks import BlockCache, Blocks
from exporter.samples.conditions import (
    event_columns,
    server_condition_columns,
    stream_condition_columns,
)
from exporter.samples.consumer import consumer_columns, consumer_key
from exporter.samples.ephemeral_groups import count_ephemerals, ephemeral_columns, fold_ephemerals
from exporter.samples.events import (
    account_event_columns,
    consumer_event_columns,
    stream_event_columns,
)
from exporter.samples.findings import (
    ConsumerFindings,
    stream_finding_columns,
    system_finding_columns,
)
from exporter.samples.info_metrics import InfoCache, consumer_infos, stream_infos
from exporter.samples.metadata import MetadataSeries
from exporter.samples.publishes import consumer_reply_columns, stream_publish_columns
from exporter.samples.rows import RowCache, Table
from exporter.samples.selection import Selection
from exporter.samples.server import meta_columns, server_columns
from exporter.samples.signals import consumer_signal_columns, stream_signal_columns
from exporter.samples.stream import stream_columns, stream_key
from exporter.samples.subjects import subject_columns
from exporter.signals.clock import clock_offsets
from exporter.signals.events_input import ConsumerKey, StreamKey
from exporter.signals.publishes.engine import NO_PUBLISHES, PublishSignals
from exporter.signals.results import Signals

NO_SIGNALS = Signals()
NO_SUBJECTS: Mapping[StreamKey, SubjectCounts] = {}


@dataclass(frozen=True, slots=True)
class Limits:
    max_series: int = 5_000_000
    max_ephemerals: int = 50
    max_metadata: int | None = None  # None: no metadata keys are chosen


@dataclass(frozen=True, slots=True)
class Rendered:
    blocks: tuple[Block, ...]
    series: int
    dropped: int  # series above the cap
    folded: int  # ephemeral consumers summed into one row per stream
    # Metadata values without a series, by reason; empty without chosen keys.
    metadata_dropped: Mapping[str, int] = field(default_factory=dict)

    def events(self) -> Rendered:
        """Only the series that stay while the system does not respond."""
        kept = tuple(block for block in self.blocks if block.metric in catalog.KEPT_IN_OUTAGES)
        return Rendered(kept, sum(block.lines for block in kept), 0, 0)

    def joined(self, other: Rendered) -> Rendered:
        return Rendered(
            self.blocks + other.blocks,
            self.series + other.series,
            self.dropped + other.dropped,
            self.folded + other.folded,
            self.metadata_dropped,
        )


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Input besides the snapshot."""

    signals: Signals
    published: PublishSignals
    events: EventCounts
    report: Report | None
    subjects: Mapping[StreamKey, SubjectCounts]


@dataclass(slots=True)
class Renderer:
    """Renders the snapshots of one system and keeps what the next poll can reuse."""

    system: str
    selection: Selection = field(default_factory=Selection)
    limits: Limits = field(default_factory=Limits)
    _wanted: frozenset[Metric] = field(init=False)
    _streams: RowCache[Stream, StreamKey] = field(init=False)
    _consumers: RowCache[Consumer, ConsumerKey] = field(init=False)
    _stream_infos: InfoCache[Stream] = field(default_factory=stream_infos)
    _consumer_infos: InfoCache[Consumer] = field(default_factory=consumer_infos)
    _findings: ConsumerFindings = field(default_factory=ConsumerFindings)
    _cache: BlockCache = field(default_factory=BlockCache)
    _ever_paused: set[ConsumerKey] = field(default_factory=set)
    _listed: tuple[list[ConsumerKey], Set[StreamKey]] = ([], frozenset())

    def __post_init__(self) -> None:
        self._wanted = self.selection.metrics()
        self._streams = RowCache(catalog.STREAM, self.system, stream_key)
        self._consumers = RowCache(catalog.CONSUMER, self.system, consumer_key)

    def renamed(self, system: str) -> Renderer:
        return Renderer(system, self.selection, self.limits)

    def render(
        self,
        snapshot: Snapshot,
        signals: Signals = NO_SIGNALS,
        published: PublishSignals = NO_PUBLISHES,
        events: EventCounts = NO_EVENTS,
        report: Report | None = None,
        subjects: Mapping[StreamKey, SubjectCounts] = NO_SUBJECTS,
    ) -> Rendered:
        inputs = _Inputs(signals, published, events, report, subjects)
        self._note_pauses(snapshot.consumers)
        counts = count_ephemerals(snapshot.consumers)
        consumers, groups = fold_ephemerals(
            snapshot.consumers, counts, self.limits.max_ephemerals, signals.consumers
        )
        self._cache.start_poll()
        blocks = Blocks(self._wanted, self.limits.max_series, self._cache)
        blocks.take(server_columns(self.system, snapshot.servers))
        blocks.take(server_condition_columns(self.system, signals.server_conditions))
        blocks.take(meta_columns(self.system, snapshot.meta, snapshot.servers))
        blocks.take(account_columns(self.system, snapshot.accounts))
        blocks.take(account_event_columns(self.system, events))
        blocks.take(system_finding_columns(self.system, report))
        table = self._consumers.table(consumers)
        listed = self._streams_of(table.keys) | groups.keys()
        streams = self._streams.table(snapshot.streams)
        self._take_streams(blocks, streams, snapshot, counts, listed, inputs)
        blocks.take(ephemeral_columns(self.system, groups))
        self._take_consumers(blocks, table, snapshot, inputs)
        folded = sum(counts[key] for key in groups)
        unfit = self._take_metadata(blocks, streams, table)
        return Rendered(tuple(blocks.done), blocks.series, blocks.dropped, folded, unfit)

    def _take_metadata(
        self,
        blocks: Blocks,
        streams: Table[Stream, StreamKey],
        consumers: Table[Consumer, ConsumerKey],
    ) -> Mapping[str, int]:
        """Returns how many values have no series, by reason."""
        if self.limits.max_metadata is None:
            return {}
        made = MetadataSeries(self.limits.max_metadata)
        of_streams = made.column(catalog.STREAM_METADATA_INFO, streams.rows, streams.heads)
        of_consumers = made.column(catalog.CONSUMER_METADATA_INFO, consumers.rows, consumers.heads)
        blocks.take((of_streams, of_consumers))
        return made.dropped

    def _note_pauses(self, consumers: Iterable[Consumer]) -> None:
        present = {consumer_key(row) for row in consumers if row.paused}
        if self._ever_paused:
            named = set(map(consumer_key, consumers))
            self._ever_paused &= named
        self._ever_paused |= present

    def _streams_of(self, keys: list[ConsumerKey]) -> Set[StreamKey]:
        """The same list until a consumer comes or goes."""
        if keys is not self._listed[0]:
            self._listed = keys, {(account, stream) for account, stream, _ in keys}
        return self._listed[1]

    def _take_streams(
        self,
        blocks: Blocks,
        table: Table[Stream, StreamKey],
        snapshot: Snapshot,
        ephemerals: Counter[StreamKey],
        listed: Set[StreamKey],
        inputs: _Inputs,
    ) -> None:
        offsets, infos = clock_offsets(snapshot.servers), self._stream_infos

        def columns(first: int, last: int) -> Iterator[Column]:
            part = table.part(first, last)
            rows, keys, heads = part.rows, part.keys, part.heads
            return chain(
                stream_columns(rows, heads, offsets, snapshot.taken, ephemerals, listed, infos),
                stream_signal_columns(keys, heads, inputs.signals.streams),
                stream_condition_columns(keys, heads, inputs.signals.stream_conditions),
                event_columns(keys, heads, inputs.signals.stream_events),
                stream_publish_columns(keys, heads, inputs.published.streams),
                stream_event_columns(keys, heads, inputs.events),
                stream_finding_columns(keys, heads, inputs.report),
                subject_columns(keys, heads, inputs.subjects),
            )

        blocks.take_rows(columns, len(table.rows))

    def _take_consumers(
        self,
        blocks: Blocks,
        table: Table[Consumer, ConsumerKey],
        snapshot: Snapshot,
        inputs: _Inputs,
    ) -> None:
        offsets, infos = clock_offsets(snapshot.servers), self._consumer_infos
        find = catalog.CONSUMER_CONFIG_FINDING in self._wanted

        def columns(first: int, last: int) -> Iterator[Column]:
            part = table.part(first, last)
            rows, keys, heads = part.rows, part.keys, part.heads
            return chain(
                consumer_columns(rows, heads, offsets, self._ever_paused, infos, snapshot.taken),
                consumer_signal_columns(keys, heads, inputs.signals.consumers),
                event_columns(keys, heads, inputs.signals.consumer_events),
                consumer_reply_columns(keys, heads, inputs.published.consumers),
                consumer_event_columns(rows, keys, heads, inputs.events),
                self._findings.columns(keys, heads, inputs.report) if find else (),
            )

        blocks.take_rows(columns, len(table.rows))
