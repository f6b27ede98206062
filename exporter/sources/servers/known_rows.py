"""Rows of the previous poll, reused where a stream or consumer did not change.

Most of a large system do not. Later steps need not compare a row that is the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.model import Consumer, Stream, StreamConfig
from exporter.sources.decoding.decode import known_time
from exporter.sources.decoding.wire import WireConsumer, WireStream

Place = tuple[str, str, str]  # server, account, stream


@dataclass(slots=True)
class KnownRows:
    """The rows of each stream in the server's order; None where a server does not lead."""

    _rows: dict[Place, list[Consumer | None]] = field(default_factory=dict)
    _before: dict[Place, list[Consumer | None]] = field(default_factory=dict)
    streams: dict[tuple[str, str], Stream] = field(default_factory=dict)  # by account and name
    _changes: int = 0
    _same_configs: bool = False

    def start_poll(self, config_changes: int) -> None:
        """Forgets the streams that the previous poll did not list."""
        self._before, self._rows = self._rows, {}
        self._same_configs = config_changes == self._changes
        self._changes = config_changes

    def of(self, server: str, account: str, stream: str, number: int) -> list[Consumer | None]:
        """The caller replaces what changed."""
        rows = self._before.get((server, account, stream))
        if rows is None or len(rows) != number:
            rows = [None] * number
        self._rows[server, account, stream] = rows
        return rows

    def keeps_config(self, before: Consumer, wire: WireConsumer) -> bool:
        """Whether no other configuration can be known of this consumer."""
        return (
            self._same_configs
            and wire.config is None
            and before.config is not None
            and wire.name == before.name
            and wire.created == before.created
        )


def is_same(before: Consumer, wire: WireConsumer, first_seq: int) -> bool:
    """Whether a stand-alone consumer reports what it reported before.

    Of replicas, the time since their last message always changes.
    """
    delivered, floor = wire.delivered, wire.ack_floor
    return (
        delivered.consumer_seq == before.delivered_consumer_seq
        and wire.num_pending == before.num_pending
        and floor.consumer_seq == before.ack_floor_consumer_seq
        and delivered.stream_seq == before.delivered_stream_seq
        and floor.stream_seq == before.ack_floor_stream_seq
        and first_seq == before.stream_first_seq
        and wire.num_ack_pending == before.num_ack_pending
        and wire.num_redelivered == before.num_redelivered
        and wire.num_waiting == before.num_waiting
        and delivered.last_active == before.last_delivery
        and floor.last_active == before.last_ack
        and not wire.paused
        and not before.paused
        and wire.push_bound == before.push_bound
        and (wire.cluster is None or not wire.cluster.replicas)
        and not before.replicas
    )


def is_same_stream(
    before: Stream, wire: WireStream, config: StreamConfig | None, leader: str
) -> bool:
    """Whether a stand-alone stream without origins reports what it reported before."""
    state, cluster = wire.state, wire.cluster
    return (
        state.last_seq == before.last_seq
        and state.messages == before.messages
        and state.bytes == before.bytes
        and state.first_seq == before.first_seq
        and config is before.config
        and leader == before.leader
        and before.up
        and wire.created == before.created
        and known_time(state.last_ts) == before.last_stored
        and (state.messages == 0 or state.first_ts == before.first_time)
        and state.num_subjects == before.subjects
        and state.consumer_count == before.consumers
        and state.num_deleted == before.deleted
        and state.lost is None
        and not before.lost
        and (cluster.raft_group if cluster else "") == before.raft_group
        and (cluster is None or not cluster.replicas)
        and not (before.replicas or before.follower_messages or before.origins)
        and not (wire.mirror or wire.sources)
    )
