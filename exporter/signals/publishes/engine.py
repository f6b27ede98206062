"""Counters of publishes, acks and pulls that survive leader changes and server restarts.

A server counts the messages of each of its subscriptions. A new leader starts at 0 with a new
identity, so nothing counts twice. Messages that the old leader received after the last poll are
missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import Struct

from exporter.model import Consumer, Snapshot, Stream, StreamConfig
from exporter.signals.publishes.dead_letters import Captures
from exporter.signals.publishes.dedupe import DedupeHits
from exporter.signals.publishes.followed_counter import FollowedCounter
from exporter.signals.publishes.unstored import UnstoredBounds
from exporter.signals.stream_changes import was_recreated
from exporter.subscription_counts import ConsumerKey, StreamKey, StreamLook, SubscriptionCounts

# Three default intervals of the subscription requests: older values are dropped.
STALE_AFTER_SECONDS = 180.0
# A server under load has received far more than it has stored. When the sequence is unchanged for
# this time, everything is stored; an atomic batch may stay open for 10 s.
UNCHANGED_AFTER_SECONDS = 10.0
# When the sequence grows, received messages are settled after this time.
SETTLED_AFTER_SECONDS = 45.0
# An asset that incomplete responses do not list is removed after this time.
FORGET_AFTER_SECONDS = 3600.0


class TapCounts(Struct, frozen=True):
    """Counts of the publish-ack tap; absent while the tap is not active."""

    accounts: frozenset[str]
    duplicates: Mapping[StreamKey, int]
    breaks: int = 0  # gaps in what the tap received


class StreamPublishes(Struct, frozen=True, gc=False):
    received: int | None = None
    unstored: int | None = None
    dedupe_hits: int | None = None
    dedupe_exact: int | None = None


class ConsumerReplies(Struct, frozen=True, gc=False):
    acks: int | None = None
    pulls: int | None = None
    dead_letter_captured: int | None = None


class PublishSignals(Struct, frozen=True):
    streams: Mapping[StreamKey, StreamPublishes]
    consumers: Mapping[ConsumerKey, ConsumerReplies]


NO_PUBLISHES = PublishSignals({}, {})


@dataclass(slots=True)
class _StreamState:
    row: Stream  # the last row from its leader
    leader_id: str
    from_birth: bool
    received: FollowedCounter = field(default_factory=FollowedCounter)
    bounds: UnstoredBounds = field(default_factory=UnstoredBounds)
    seen: float = 0.0  # time of the last snapshot that named it
    unchanged: bool = False  # no message was stored since the poll before
    in_queue: bool = False  # received messages still waited to be stored
    hits: DedupeHits = field(default_factory=DedupeHits)


@dataclass(slots=True)
class _ConsumerState:
    seen: float = 0.0
    acks: FollowedCounter = field(default_factory=FollowedCounter)
    pulls: FollowedCounter = field(default_factory=FollowedCounter)


Key = TypeVar("Key", bound=tuple[str, ...])
State = TypeVar("State", _StreamState, _ConsumerState)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Start of the exporter and the clock offsets of the servers."""

    started: float
    offsets: Mapping[str, float]

    def born_after_start(self, row: Stream | Consumer) -> bool:
        """Whether the asset is younger than the exporter, so that its counters count in full."""
        offset = self.offsets.get(row.leader)
        if row.created is None or offset is None:
            return False
        return row.created.timestamp() - offset > self.started


@dataclass(slots=True)
class PublishState:
    """Updated with every snapshot, and with the subscription counts of that poll, if any."""

    stale_after: float = STALE_AFTER_SECONDS
    _started: float | None = None
    _counted_at: float | None = None
    _streams: dict[StreamKey, _StreamState] = field(default_factory=dict)
    _consumers: dict[ConsumerKey, _ConsumerState] = field(default_factory=dict)
    _replies: Mapping[ConsumerKey, ConsumerReplies] = field(default_factory=dict)

    def update(
        self,
        counts: SubscriptionCounts | None,
        snapshot: Snapshot,
        tap: TapCounts | None = None,
    ) -> PublishSignals:
        if self._started is None:
            self._started = snapshot.taken
        if counts is not None:
            self._counted_at = snapshot.taken
        offsets = {s.name: s.clock.offset_seconds for s in snapshot.servers if s.clock}
        clocks = _Clocks(self._started, offsets)
        streams = self._update_streams(counts, snapshot, clocks, tap)
        if counts is not None or self._counted_at is None:
            self._replies = self._update_consumers(counts, snapshot, clocks)
        elif snapshot.taken - self._counted_at > self.stale_after:
            self._replies = {}
        return PublishSignals(streams, self._replies)

    def _update_streams(
        self,
        counts: SubscriptionCounts | None,
        snapshot: Snapshot,
        clocks: _Clocks,
        tap: TapCounts | None,
    ) -> dict[StreamKey, StreamPublishes]:
        ids = {server.name: server.id for server in snapshot.servers}
        counted_streams = counts.streams if counts is not None else {}
        states = {} if snapshot.complete else _recent(self._streams, snapshot.taken)
        found: dict[StreamKey, StreamPublishes] = {}
        for row in snapshot.streams:
            key, leader_id = (row.account, row.name), ids.get(row.leader, "")
            state = self._streams.get(key)
            if state is None:
                if not row.up:
                    continue
                state = _new_state(row, leader_id, from_birth=clocks.born_after_start(row))
            states[key] = state
            state.seen = snapshot.taken
            if row.up:
                _update_row(state, row, leader_id)
                self._update_bounds(state, counted_streams.get(key), snapshot.taken)
            found[key] = self._publishes(state, tap, snapshot.taken)
        self._streams = states
        return found

    def _update_bounds(self, state: _StreamState, counted: StreamLook | None, now: float) -> None:
        """Settles the previous counts, then adds the new ones."""
        row = state.row
        if counted is not None and not _matches(counted, row):
            counted = None
        last_seq = row.last_seq if counted is None else min(counted.last_seq, row.last_seq)
        age = now - state.received.updated_at
        unchanged = age >= UNCHANGED_AFTER_SECONDS and state.unchanged
        if unchanged or (age >= SETTLED_AFTER_SECONDS and not state.in_queue):
            state.bounds.settle(state.received.total, last_seq)
        if counted is not None:
            _add_counts(state, counted, last_seq, now)

    def _publishes(self, state: _StreamState, tap: TapCounts | None, now: float) -> StreamPublishes:
        received = self._fresh(state.received, now)
        known = received is not None and is_countable(state.row.config)
        unstored = state.bounds.unstored if known else None
        hits, exact = _dedupe_hits(state, unstored, tap)
        return StreamPublishes(received, unstored, hits, exact)

    def _update_consumers(
        self, counts: SubscriptionCounts | None, snapshot: Snapshot, clocks: _Clocks
    ) -> dict[ConsumerKey, ConsumerReplies]:
        captures = Captures.of(snapshot.streams, counts)
        if counts is None and captures.empty:
            return {}
        states = {} if snapshot.complete else _recent(self._consumers, snapshot.taken)
        found: dict[ConsumerKey, ConsumerReplies] = {}
        for row in snapshot.consumers:
            key, captured = (row.account, row.stream, row.name), captures.captured(row)
            acks = pulls = None
            if counts is not None:
                state = states[key] = self._consumers.get(key) or _ConsumerState()
                state.seen = snapshot.taken
                _update_replies(state, counts, key, snapshot.taken, clocks.born_after_start(row))
                acks = self._fresh(state.acks, snapshot.taken) if _acks(row) else None
                pulls = self._fresh(state.pulls, snapshot.taken) if _pulls(row) else None
            if acks is not None or pulls is not None or captured is not None:
                found[key] = ConsumerReplies(acks, pulls, captured)
        self._consumers = states
        return found

    def _fresh(self, counter: FollowedCounter, now: float) -> int | None:
        return counter.total if now - counter.updated_at <= self.stale_after else None


def _recent(states: Mapping[Key, State], now: float) -> dict[Key, State]:
    """For an incomplete response: keeps assets that it does not list, for a limited time."""
    return {key: state for key, state in states.items() if now - state.seen <= FORGET_AFTER_SECONDS}


def is_countable(config: StreamConfig | None) -> bool:
    """Whether a stream's sequence grows by what is published to it, and by nothing else."""
    return config is not None and not (
        config.mirror or config.sourced or config.delete_markers or config.schedules
    )


def _grows_otherwise(config: StreamConfig | None) -> bool:
    """Whether more than publishes grow the sequence; False while the config is unknown."""
    return config is not None and not is_countable(config)


def _acks(row: Consumer) -> bool:
    """Old servers also subscribe to acks of consumers without acks."""
    return row.config is not None and row.config.ack_policy != "none"


def _pulls(row: Consumer) -> bool:
    """Servers also subscribe to pull requests of push consumers, to reject them."""
    return row.config is not None and row.config.kind == "pull"


def _new_state(row: Stream, leader_id: str, *, from_birth: bool) -> _StreamState:
    state = _StreamState(row, leader_id, from_birth)
    if from_birth:
        state.bounds.start_at_zero(0)
    return state


def _update_row(state: _StreamState, row: Stream, leader_id: str) -> None:
    before = state.row
    restarted = before.leader == row.leader and leader_id != state.leader_id
    if was_recreated(before.created, row.created):
        state.bounds.start_at_zero(state.received.total)
    elif row.last_seq < before.last_seq or restarted or _grows_otherwise(row.config):
        # A restarted server may have lost messages: its sequence cannot be compared.
        state.bounds.forget_start()
    state.unchanged = row.last_seq == before.last_seq
    state.row, state.leader_id = row, leader_id


def _add_counts(state: _StreamState, counted: StreamLook, last_seq: int, now: float) -> None:
    row = state.row
    state.received.update(counted.counters, now, from_birth=state.from_birth)
    state.in_queue = bool(counted.in_queue)
    if row.config is None or not is_countable(row.config):
        return
    received = state.received.total
    state.bounds.observe(received, last_seq)
    clear = counted.in_queue is False and not row.config.atomic
    state.bounds.agree(received - row.last_seq if clear else None)


def _matches(counted: StreamLook, row: Stream) -> bool:
    """Whether the counts are of the current leader and stream."""
    return counted.leader == row.leader and not was_recreated(counted.created, row.created)


def _update_replies(
    state: _ConsumerState, counts: SubscriptionCounts, key: ConsumerKey, now: float, born: bool
) -> None:
    for counter, found in ((state.acks, counts.acks), (state.pulls, counts.pulls)):
        counters = found.get(key)
        if counters is not None:
            counter.update(counters, now, from_birth=born)


def _dedupe_hits(
    state: _StreamState, unstored: int | None, tap: TapCounts | None
) -> tuple[int | None, int | None]:
    key, config = (state.row.account, state.row.name), state.row.config
    if config is None or config.mirror:
        return None, None
    if tap is None or key[0] not in tap.accounts or config.no_ack:
        return state.hits.without_tap(unstored)
    return state.hits.with_tap(tap.duplicates.get(key, 0), tap.breaks, unstored)
