"""Publishes received and not stored, acks and pulls: counters that outlive the servers' own.

A server counts what each of its subscriptions received. A new leader begins at 0 under a new
identity, so nothing is counted twice; what the old one received after the last look is missed.
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
from exporter.subscription_counts import (
    ConsumerKey,
    StreamKey,
    StreamObservation,
    SubscriptionCounts,
)

# Three looks, as often as they are made by default: what is older is dropped, never frozen.
STALE_AFTER_SECONDS = 180.0
# A server under load has received far more than it has stored. When the sequence stands still, all
# of it is done, but for a batch that may stay open for 10 s ...
RESTED_AFTER_SECONDS = 10.0
# ... and when it moves on, a wait of a minute would be one that no publisher waits for.
SETTLED_AFTER_SECONDS = 45.0
# What incomplete answers have not named for so long is gone, proven or not.
FORGET_AFTER_SECONDS = 3600.0


class TapCounts(Struct, frozen=True):
    """What the publish-ack tap has heard so far; there is none while it does not listen."""

    accounts: frozenset[str]
    duplicates: Mapping[StreamKey, int]
    breaks: int = 0  # how often it missed something


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
    row: Stream  # the last one that its leader gave
    leader_id: str
    from_birth: bool
    received: FollowedCounter = field(default_factory=FollowedCounter)
    bounds: UnstoredBounds = field(default_factory=UnstoredBounds)
    seen: float = 0.0  # time of the last snapshot that named it
    rests: bool = False  # no message was stored since the poll before
    in_queue: bool = False  # received messages were still waiting when it was looked at
    hits: DedupeHits = field(default_factory=DedupeHits)


@dataclass(slots=True)
class _ConsumerState:
    seen: float = 0.0
    acks: FollowedCounter = field(default_factory=FollowedCounter)
    pulls: FollowedCounter = field(default_factory=FollowedCounter)


Key = TypeVar("Key", bound=tuple[str, ...])
Track = TypeVar("Track", _StreamState, _ConsumerState)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Tells what is younger than we are, by the clocks of the servers."""

    started: float
    offsets: Mapping[str, float]

    def born_after_us(self, row: Stream | Consumer) -> bool:
        """Then all that its counters say happened since the exporter started."""
        offset = self.offsets.get(row.leader)
        if row.created is None or offset is None:
            return False
        return row.created.timestamp() - offset > self.started


@dataclass(slots=True)
class PublishState:
    """Fed with every snapshot, and with the counts that were read just before it, if any were."""

    stale_after: float = STALE_AFTER_SECONDS
    _started: float | None = None
    _looked: float | None = None
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
            self._looked = snapshot.taken
        offsets = {s.name: s.clock.offset_seconds for s in snapshot.servers if s.clock}
        clocks = _Clocks(self._started, offsets)
        streams = self._update_streams(counts, snapshot, clocks, tap)
        if counts is not None or self._looked is None:
            self._replies = self._update_consumers(counts, snapshot, clocks)
        elif snapshot.taken - self._looked > self.stale_after:
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
        looks = counts.streams if counts is not None else {}
        tracks = {} if snapshot.complete else _recent(self._streams, snapshot.taken)
        found: dict[StreamKey, StreamPublishes] = {}
        for row in snapshot.streams:
            key, leader_id = (row.account, row.name), ids.get(row.leader, "")
            track = self._streams.get(key)
            if track is None:
                if not row.up:
                    continue
                track = _new_track(row, leader_id, from_birth=clocks.born_after_us(row))
            tracks[key] = track
            track.seen = snapshot.taken
            if row.up:
                _note_row(track, row, leader_id)
                self._note_look(track, looks.get(key), snapshot.taken)
            found[key] = self._publishes(track, tap, snapshot.taken)
        self._streams = tracks
        return found

    def _note_look(self, track: _StreamState, look: StreamObservation | None, now: float) -> None:
        """First what the last look left open, then what this one adds."""
        row = track.row
        if look is not None and not _is_of(look, row):
            look = None
        last_seq = row.last_seq if look is None else min(look.last_seq, row.last_seq)
        age = now - track.received.looked
        rested = age >= RESTED_AFTER_SECONDS and track.rests
        if rested or (age >= SETTLED_AFTER_SECONDS and not track.in_queue):
            track.bounds.settle(track.received.total, last_seq)
        if look is not None:
            _take_look(track, look, last_seq, now)

    def _publishes(self, track: _StreamState, tap: TapCounts | None, now: float) -> StreamPublishes:
        received = self._fresh(track.received, now)
        known = received is not None and is_countable(track.row.config)
        unstored = track.bounds.unstored if known else None
        hits, exact = _dedupe_hits(track, unstored, tap)
        return StreamPublishes(received, unstored, hits, exact)

    def _update_consumers(
        self, counts: SubscriptionCounts | None, snapshot: Snapshot, clocks: _Clocks
    ) -> dict[ConsumerKey, ConsumerReplies]:
        captures = Captures.of(snapshot.streams, counts)
        if counts is None and captures.nobody:
            return {}
        tracks = {} if snapshot.complete else _recent(self._consumers, snapshot.taken)
        found: dict[ConsumerKey, ConsumerReplies] = {}
        for row in snapshot.consumers:
            key, captured = (row.account, row.stream, row.name), captures.captured(row)
            acks = pulls = None
            if counts is not None:
                track = tracks[key] = self._consumers.get(key) or _ConsumerState()
                track.seen = snapshot.taken
                _note_replies(track, counts, key, snapshot.taken, clocks.born_after_us(row))
                acks = self._fresh(track.acks, snapshot.taken) if _acks(row) else None
                pulls = self._fresh(track.pulls, snapshot.taken) if _pulls(row) else None
            if acks is not None or pulls is not None or captured is not None:
                found[key] = ConsumerReplies(acks, pulls, captured)
        self._consumers = tracks
        return found

    def _fresh(self, counter: FollowedCounter, now: float) -> int | None:
        return counter.total if now - counter.looked <= self.stale_after else None


def _recent(tracks: Mapping[Key, Track], now: float) -> dict[Key, Track]:
    """An incomplete answer proves nothing gone; but what none has named for long is forgotten."""
    return {key: track for key, track in tracks.items() if now - track.seen <= FORGET_AFTER_SECONDS}


def is_countable(config: StreamConfig | None) -> bool:
    """Whether a stream's sequence grows by what is published to it, and by nothing else."""
    return config is not None and not (
        config.mirror or config.sourced or config.delete_markers or config.schedules
    )


def _grows_otherwise(config: StreamConfig | None) -> bool:
    """Of a new stream the configuration may come later; that it is not known yet changes nothing."""
    return config is not None and not is_countable(config)


def _acks(row: Consumer) -> bool:
    """Old servers listen to acks of consumers that want none."""
    return row.config is not None and row.config.ack_policy != "none"


def _pulls(row: Consumer) -> bool:
    """Servers listen to pull requests for push consumers too, to refuse them."""
    return row.config is not None and row.config.kind == "pull"


def _new_track(row: Stream, leader_id: str, *, from_birth: bool) -> _StreamState:
    track = _StreamState(row, leader_id, from_birth)
    if from_birth:
        track.bounds.start_at_zero(0)
    return track


def _note_row(track: _StreamState, row: Stream, leader_id: str) -> None:
    before = track.row
    restarted = before.leader == row.leader and leader_id != track.leader_id
    if was_recreated(before.created, row.created):
        track.bounds.start_at_zero(track.received.total)
    elif row.last_seq < before.last_seq or restarted or _grows_otherwise(row.config):
        # A server that comes back may have lost messages: its sequence no longer fits to before.
        track.bounds.forget_start()
    track.rests = row.last_seq == before.last_seq
    track.row, track.leader_id = row, leader_id


def _take_look(track: _StreamState, look: StreamObservation, last_seq: int, now: float) -> None:
    row = track.row
    track.received.take(look.counters, now, from_birth=track.from_birth)
    track.in_queue = bool(look.in_queue)
    if row.config is None or not is_countable(row.config):
        return
    received = track.received.total
    track.bounds.look(received, last_seq)
    clear = look.in_queue is False and not row.config.atomic
    track.bounds.agree(received - row.last_seq if clear else None)


def _is_of(look: StreamObservation, row: Stream) -> bool:
    """A leader who was none before or after the look may not have had its subscription then."""
    return look.leader == row.leader and not was_recreated(look.created, row.created)


def _note_replies(
    track: _ConsumerState, counts: SubscriptionCounts, key: ConsumerKey, now: float, born: bool
) -> None:
    for counter, looks in ((track.acks, counts.acks), (track.pulls, counts.pulls)):
        counters = looks.get(key)
        if counters is not None:
            counter.take(counters, now, from_birth=born)


def _dedupe_hits(
    track: _StreamState, unstored: int | None, tap: TapCounts | None
) -> tuple[int | None, int | None]:
    key, config = (track.row.account, track.row.name), track.row.config
    if config is None or config.mirror:
        return None, None
    if tap is None or key[0] not in tap.accounts or config.no_ack:
        return track.hits.without_tap(unstored)
    return track.hits.with_tap(tap.duplicates.get(key, 0), tap.breaks, unstored)
