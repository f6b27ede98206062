"""The input of checks: one poll of one system, with shared indexes. Pure."""

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

# How long publishers retry, unless the metadata of the stream sets it.
DEFAULT_PUBLISH_RETRY_HORIZON = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Settings of the audit of one system."""

    publish_retry_horizon: float = DEFAULT_PUBLISH_RETRY_HORIZON  # seconds
    ignore: tuple[str, ...] = ()  # codes of checks that are muted in the whole system


class History(Protocol):
    """Queries on the rollups of the archive. None: not known."""

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
        """Messages not delivered or not acked, over the last thirty days."""

    def redelivery_ratio(self, key: ConsumerKey) -> float | None:
        """Redeliveries / deliveries, over the last day."""

    def recreated(self, key: ConsumerKey) -> float | None:
        """How often the consumer was recreated, over the last thirty days."""

    def publish_rate(self, key: StreamKey) -> float | None:
        """Messages stored per second, over the last week."""

    def duplicates(self, key: StreamKey) -> float | None:
        """Publishes that the duplicate window dropped, over the last week."""

    def stored(self, key: StreamKey) -> float | None:
        """Messages stored, over the last thirty days."""

    def consumer_growth(self, key: StreamKey) -> float | None:
        """Increase of the number of consumers over the last day; 0 if it ever fell."""


@dataclass(frozen=True, slots=True)
class MessageSample:
    """A sample of the last messages of a stream."""

    read: int
    with_id: int  # with a Nats-Msg-Id header
    repeated: int = 0  # with an id that another one has: stored although it is a duplicate
    renamed: int = 0  # with the subject and the payload of another one, and another id


@dataclass(frozen=True, kw_only=True)
class AuditContext:
    """One poll of one system. Everything but the snapshot may be missing."""

    snapshot: Snapshot
    now: float  # exporter clock
    signals: Signals = field(default_factory=Signals)
    publishes: PublishSignals = NO_PUBLISHES
    events: EventCounts = NO_EVENTS
    listening: frozenset[str] = frozenset()  # accounts whose delivery advisories are subscribed to
    earlier: AuditContext | None = None  # an earlier poll
    seconds: float = 0.0  # between the earlier poll and this one
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
        """Streams that are up and whose configuration is known."""
        return tuple(
            (row, row.config) for row in self.snapshot.streams if row.up and row.config is not None
        )

    @cached_property
    def consumers(self) -> tuple[tuple[Consumer, ConsumerConfig], ...]:
        """Audited consumers: durable ones, because the client of an ephemeral one configures it."""
        return tuple(pair for pair in self.all_consumers if pair[1].durable)

    @cached_property
    def all_consumers(self) -> tuple[tuple[Consumer, ConsumerConfig], ...]:
        """Without those that servers or client libraries create themselves."""
        return tuple(
            (row, row.config)
            for row in self.snapshot.consumers
            if row.up and row.config is not None and is_audited(row.config)
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
        for row, config in self.all_consumers:
            found[row.account, row.stream].append((row, config))
        return found

    def consumers_of(self, stream: Stream) -> Sequence[tuple[Consumer, ConsumerConfig]]:
        """With ephemeral ones, but not all of them: `stream.consumers` counts all consumers."""
        return self._by_stream.get((stream.account, stream.name), ())

    def with_max_deliver(self, stream: Stream) -> list[str]:
        """Names of consumers that give up on a message after some deliveries."""
        return [
            row.name
            for row, config in self.consumers_of(stream)
            if acks(config) and config.max_deliver
        ]

    def ephemerals_of(self, stream: Stream) -> Sequence[Consumer]:
        """Never audited one by one: they come and go with their clients."""
        return [row for row, config in self.consumers_of(stream) if not config.durable]

    def stream_of(self, consumer: Consumer) -> tuple[Stream, StreamConfig] | None:
        """None while the stream is down or its configuration is not known."""
        return self._known_streams.get((consumer.account, consumer.stream))

    @cached_property
    def _known_streams(self) -> Mapping[StreamKey, tuple[Stream, StreamConfig]]:
        return {(pair[0].account, pair[0].name): pair for pair in self.streams}

    @cached_property
    def cluster_sizes(self) -> Mapping[str, int]:
        """Servers with JetStream by cluster, up or not. Empty if no server rows are known."""
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
        """Size of the cluster of the stream's leader; None if server rows are not known."""
        cluster = self.cluster_by_server.get(stream.leader)
        return None if cluster is None else self.cluster_sizes[cluster]

    # --- signals and rates of one asset -----------------------------------------------------

    def consumer_signals(self, row: Consumer) -> ConsumerSignals | None:
        return self.signals.consumers.get(consumer_key(row))

    def stream_signals(self, row: Stream) -> StreamSignals | None:
        return self.signals.streams.get(stream_key(row))

    def publish_retry_horizon(self, config: StreamConfig) -> float:
        """How long the publishers of the stream retry, in seconds."""
        return config.notes.publish_retry_horizon or self.settings.publish_retry_horizon

    def stored_per_second(self, row: Stream) -> float | None:
        """Between the two polls; None without two polls of the same stream."""
        before = self.earlier_stream(row)
        if before is None or self.seconds <= 0:
            return None
        return max(0, row.last_seq - before.last_seq) / self.seconds

    def earlier_stream(self, row: Stream) -> Stream | None:
        """The same stream in the earlier poll, if it was up."""
        if self.earlier is None:
            return None
        found = self.earlier.stream_by_key.get(stream_key(row))
        return found if found is not None and found.up and found.created == row.created else None

    def earlier_consumer(self, row: Consumer) -> Consumer | None:
        if self.earlier is None:
            return None
        found = self.earlier.consumer_by_key.get(consumer_key(row))
        return found if found is not None and found.up and found.created == row.created else None

    def with_retention(self, policy: str) -> Iterator[tuple[Stream, StreamConfig]]:
        """Streams of one retention policy: limits, interest or workqueue."""
        return ((row, config) for row, config in self.streams if config.retention == policy)


def stream_key(row: Stream) -> StreamKey:
    return row.account, row.name


def consumer_key(row: Consumer) -> ConsumerKey:
    return row.account, row.stream, row.name


def acks(config: ConsumerConfig) -> bool:
    return config.ack_policy in ("explicit", "all")


def is_ordered(config: ConsumerConfig) -> bool:
    """An ordered consumer: its client library recreates it after each gap."""
    return (
        not config.durable
        and config.ack_policy == "none"
        and config.memory_storage
        and config.replicas == 1
    )


def is_audited(config: ConsumerConfig) -> bool:
    return not config.internal and not is_ordered(config)
