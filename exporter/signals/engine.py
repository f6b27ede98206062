"""All signals of one system: what a snapshot says in the light of those before it.

Pure: fed with snapshots, keeps what the next one needs, asks nobody and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.model import Snapshot
from exporter.signals.consumers import bare_signals, consumer_signals
from exporter.signals.events_input import NO_EVENTS, ConsumerKey, EventsInput, StreamKey
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals
from exporter.signals.state import ConsumerState, Look, StreamState, StreamView
from exporter.signals.stream_changes import divergence
from exporter.signals.unchanged import resting_signals, standing_signals

__all__ = ["ConsumerKey", "SignalState", "Signals", "StreamKey", "StreamSignals"]

# What partial answers do not name may still be there, but not for ever.
FORGET_AFTER_SECONDS = 3600.0

Track = TypeVar("Track", StreamState, ConsumerState)
Key = TypeVar("Key", StreamKey, ConsumerKey)


@dataclass(slots=True)
class SignalState:
    """Keeps the tracks of one system; what a complete answer no longer names is forgotten."""

    _streams: dict[StreamKey, StreamState] = field(default_factory=dict)
    _consumers: dict[ConsumerKey, ConsumerState] = field(default_factory=dict)

    def update(self, snapshot: Snapshot, heard: EventsInput | None = None) -> Signals:
        clocks = {s.name: s.clock.offset_seconds for s in snapshot.servers if s.clock}
        views = self._look_at_streams(snapshot, clocks)
        consumers = self._look_at_consumers(snapshot, views, heard or NO_EVENTS)
        if snapshot.complete:
            self._note_removed(consumers)
        self._forget(snapshot, consumers)
        return Signals(consumers, self._stream_signals(snapshot, views))

    def _look_at_streams(
        self, snapshot: Snapshot, clocks: Mapping[str, float]
    ) -> dict[StreamKey, StreamView]:
        views: dict[StreamKey, StreamView] = {}
        for row in snapshot.streams:
            key = (row.account, row.name)
            track = self._streams.get(key)
            if track is None:
                if not row.up:
                    continue
                track = self._streams[key] = StreamState(row)
            track.seen = snapshot.taken
            if row.up:
                # Without a measured offset, our own clock is the best guess.
                views[key] = track.look(row, snapshot.taken + clocks.get(row.leader, 0.0))
        return views

    def _look_at_consumers(
        self, snapshot: Snapshot, views: Mapping[StreamKey, StreamView], heard: EventsInput
    ) -> dict[ConsumerKey, ConsumerSignals]:
        now, tracks = snapshot.taken, self._consumers
        # Of these more may be known than their rows say.
        told_of = heard.counts.keys() | heard.exhausted.keys()
        found: dict[ConsumerKey, ConsumerSignals] = {}
        for row in snapshot.consumers:
            key = (row.account, row.stream, row.name)
            track = tracks.get(key)
            if track is None:
                track = tracks[key] = ConsumerState(key)
            seen, track.seen = track.seen, now
            view = views.get((row.account, row.stream))
            # Under the key that the track holds: one for all polls instead of one for each.
            if view is None or not row.up:
                found[track.key] = bare_signals(track, row, now)
            else:
                look = Look(row, view, now, heard)
                found[track.key] = _signals(track, look, seen, by_row=key not in told_of)
        return found

    def _note_removed(self, present: Mapping[ConsumerKey, ConsumerSignals]) -> None:
        """A durable that was there and is gone, while its stream is still there."""
        if len(present) == len(self._consumers):
            return
        gone = Counter(
            (account, stream)
            for (account, stream, name), track in self._consumers.items()
            if track.durable and (account, stream, name) not in present
        )
        for key, number in gone.items():
            if key in self._streams:
                self._streams[key].consumers_removed += number

    def _forget(self, snapshot: Snapshot, present: Mapping[ConsumerKey, ConsumerSignals]) -> None:
        oldest = snapshot.taken if snapshot.complete else snapshot.taken - FORGET_AFTER_SECONDS
        self._streams = _kept(self._streams, oldest)
        if len(self._consumers) > len(present):
            self._consumers = _kept(self._consumers, oldest)

    def _stream_signals(
        self, snapshot: Snapshot, views: Mapping[StreamKey, StreamView]
    ) -> dict[StreamKey, StreamSignals]:
        named = ((row.account, row.name) for row in snapshot.streams)
        return {
            key: _told(self._streams[key], views.get(key)) for key in named if key in self._streams
        }


def _signals(track: ConsumerState, look: Look, seen: float, *, by_row: bool) -> ConsumerSignals:
    """With as little work as will do. `seen`: when it was looked at before; `by_row`: nothing more
    is known of it than its row says."""
    told = None
    if by_row and track.rests:
        told = resting_signals(track, look.row, look.view)
    elif by_row and seen <= look.now < track.until:
        told = standing_signals(track, look)
    return consumer_signals(track, look) if told is None else told


def _kept(tracks: dict[Key, Track], oldest: float) -> dict[Key, Track]:
    return {key: track for key, track in tracks.items() if track.seen >= oldest}


def _told(track: StreamState, view: StreamView | None) -> StreamSignals:
    return StreamSignals(
        track.recreated,
        track.regressions,
        track.leader_changes,
        track.purged,
        track.consumers_removed,
        divergence(view.row) if view else (),
        _dedupe_ids(view) if view else None,
    )


def _dedupe_ids(view: StreamView) -> int | None:
    """Messages stored within the window: no more ids than that are held."""
    config = view.row.config
    if config is None or config.duplicate_window_seconds is None or config.mirror:
        return None
    return view.times.stored_since(view.server_now - config.duplicate_window_seconds, view.row)
