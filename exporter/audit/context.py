"""All that a check may look at, with the indexes that many of them share. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from exporter.events.counts import NO_EVENTS, EventCounts
from exporter.model import (
    Account,
    Consumer,
    ConsumerConfig,
    Server,
    Snapshot,
    Stream,
    StreamConfig,
)
from exporter.signals.publishes.engine import NO_PUBLISHES, PublishSignals
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals
from exporter.subscription_counts import ConsumerKey, StreamKey

# Publishers try again for so long where their owner did not say how long.
DEFAULT_PUBLISH_RETRY_HORIZON = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """What the owner of the whole system decides about its checks."""

    publish_retry_horizon: float = DEFAULT_PUBLISH_RETRY_HORIZON  # seconds
    ignore: tuple[str, ...] = ()  # codes of checks that are muted everywhere


class History(Protocol):
    """What the rollups of the archive know; None wherever they do not."""

    def p99_time_to_ack(self, key: ConsumerKey) -> float | None:
        """Seconds, over the last day."""

    def mean_time_to_ack(self, key: ConsumerKey) -> float | None:
        """Seconds, over the last day."""

    def peak_ack_pending(self, key: ConsumerKey) -> float | None:
        """Of the last week."""

    def p95_ack_pending(self, key: ConsumerKey) -> float | None:
        """The highest of the last week's days."""

    def worst_lag(self, key: ConsumerKey) -> float | None:
        """Seconds, over the last thirty days."""

    def worst_backlog(self, key: ConsumerKey) -> float | None:
        """Messages not finished (not sent, or not acked), over the last thirty days."""

    def redelivery_ratio(self, key: ConsumerKey) -> float | None:
        """Redeliveries by deliveries, over the last day."""

    def recreated(self, key: ConsumerKey) -> float | None:
        """How often it was made again, over the last thirty days."""

    def publish_rate(self, key: StreamKey) -> float | None:
        """Messages stored per second, over the last week."""

    def duplicates(self, key: StreamKey) -> float | None:
        """Publishes that the dedupe window took, over the last week."""

    def stored(self, key: StreamKey) -> float | None:
        """Messages stored, over the last thirty days."""

    def consumer_growth(self, key: StreamKey) -> float | None:
        """Consumers more at the end of the last day than at its start; 0 when it ever fell."""


@dataclass(frozen=True, slots=True)
class MessageSample:
    """What the last messages of a stream carried."""

    read: int
    with_id: int  # that carried Nats-Msg-Id


@dataclass(frozen=True, kw_only=True)
class AuditContext:
    """One look at one system. Everything but the snapshot may be missing."""

    snapshot: Snapshot
    now: float  # exporter clock
    signals: Signals = field(default_factory=Signals)
    publishes: PublishSignals = NO_PUBLISHES
    events: EventCounts = NO_EVENTS
    listening: frozenset[str] = frozenset()  # accounts whose delivery advisories are heard
    earlier: AuditContext | None = None  # the look before this one
    seconds: float = 0.0  # between that one and this
    history: History | None = None
    settings: AuditSettings = AuditSettings()
    messages: Mapping[StreamKey, MessageSample] | None = None

    # --- rows -------------------------------------------------------------------------------

    @property
    def servers(self) -> tuple[Server, ...]:
        return self.snapshot.servers

    @property
    def accounts(self) -> tuple[Account, ...]:
        return self.snapshot.accounts

    @cached_property
    def streams(self) -> tuple[tuple[Stream, StreamConfig], ...]:
        """Those that answered and whose configuration is known."""
        return tuple(
            (row, row.config) for row in self.snapshot.streams if row.up and row.config is not None
        )

    @cached_property
    def consumers(self) -> tuple[tuple[Consumer, ConsumerConfig], ...]:
        """Those that checks judge: not what a server or a client library made for itself."""
        return tuple(
            (row, row.config)
            for row in self.snapshot.consumers
            if row.up and row.config is not None and is_judged(row.config)
        )

    @cached_property
    def acking_consumers(self) -> tuple[tuple[Consumer, ConsumerConfig], ...]:
        return tuple((row, config) for row, config in self.consumers if acks(config))

    # --- indexes ----------------------------------------------------------------------------

    @cached_property
    def stream_by_key(self) -> Mapping[StreamKey, Stream]:
        return {(row.account, row.name): row for row in self.snapshot.streams}

    @cached_property
    def consumer_by_key(self) -> Mapping[ConsumerKey, Consumer]:
        return {consumer_key(row): row for row in self.snapshot.consumers}

    @cached_property
    def _by_stream(self) -> Mapping[StreamKey, Sequence[tuple[Consumer, ConsumerConfig]]]:
        found: defaultdict[StreamKey, list[tuple[Consumer, ConsumerConfig]]] = defaultdict(list)
        for row, config in self.consumers:
            found[row.account, row.stream].append((row, config))
        return found

    def consumers_of(self, stream: Stream) -> Sequence[tuple[Consumer, ConsumerConfig]]:
        """Judged ones; how many there are of any kind, `stream.consumers` says."""
        return self._by_stream.get((stream.account, stream.name), ())

    def stream_of(self, consumer: Consumer) -> tuple[Stream, StreamConfig] | None:
        """None while the stream is down or its configuration is not known."""
        return self._known_streams.get((consumer.account, consumer.stream))

    @cached_property
    def _known_streams(self) -> Mapping[StreamKey, tuple[Stream, StreamConfig]]:
        return {(pair[0].account, pair[0].name): pair for pair in self.streams}

    @cached_property
    def cluster_sizes(self) -> Mapping[str, int]:
        """By cluster: servers with JetStream, up or not. Empty where servers are not seen."""
        sizes: defaultdict[str, int] = defaultdict(int)
        for row in self.servers:
            if row.jetstream or not row.up:
                sizes[row.cluster] += 1
        return sizes

    @cached_property
    def servers_by_cluster(self) -> Mapping[str, Sequence[Server]]:
        found: defaultdict[str, list[Server]] = defaultdict(list)
        for row in self.servers:
            found[row.cluster].append(row)
        return found

    @cached_property
    def cluster_by_server(self) -> Mapping[str, str]:
        return {row.name: row.cluster for row in self.servers}

    def cluster_size(self, stream: Stream) -> int | None:
        """Of the cluster that the stream's leader is in; None where servers are not seen."""
        cluster = self.cluster_by_server.get(stream.leader)
        return None if cluster is None else self.cluster_sizes[cluster]

    # --- what was learnt of one asset -------------------------------------------------------

    def consumer_signals(self, row: Consumer) -> ConsumerSignals | None:
        return self.signals.consumers.get(consumer_key(row))

    def stream_signals(self, row: Stream) -> StreamSignals | None:
        return self.signals.streams.get(stream_key(row))

    def publish_retry_horizon(self, config: StreamConfig) -> float:
        """How long the publishers of the stream try again, in seconds."""
        return config.notes.publish_retry_horizon or self.settings.publish_retry_horizon

    def stored_per_second(self, row: Stream) -> float | None:
        """Between the two looks; None without two of the same stream."""
        before = self.before(row)
        if before is None or self.seconds <= 0:
            return None
        return max(0, row.last_seq - before.last_seq) / self.seconds

    def before(self, row: Stream) -> Stream | None:
        """The same stream at the earlier look, when it answered then."""
        if self.earlier is None:
            return None
        found = self.earlier.stream_by_key.get(stream_key(row))
        return found if found is not None and found.up and found.created == row.created else None

    def consumer_before(self, row: Consumer) -> Consumer | None:
        if self.earlier is None:
            return None
        found = self.earlier.consumer_by_key.get(consumer_key(row))
        return found if found is not None and found.up and found.created == row.created else None

    def filtered(self, policy: str) -> Iterator[tuple[Stream, StreamConfig]]:
        """Streams of one retention policy: limits, interest or workqueue."""
        return ((row, config) for row, config in self.streams if config.retention == policy)


def stream_key(row: Stream) -> StreamKey:
    return row.account, row.name


def consumer_key(row: Consumer) -> ConsumerKey:
    return row.account, row.stream, row.name


def acks(config: ConsumerConfig) -> bool:
    return config.ack_policy in ("explicit", "all")


def is_ordered(config: ConsumerConfig) -> bool:
    """Made again by its client library whenever something is missed: nothing of it is kept."""
    return (
        not config.durable
        and config.ack_policy == "none"
        and config.memory_storage
        and config.replicas == 1
    )


def is_judged(config: ConsumerConfig) -> bool:
    return not config.internal and not is_ordered(config)
