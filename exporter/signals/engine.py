"""All signals of one system, from its snapshots.

Pure: it makes no requests and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from exporter.model import Consumer, Snapshot
from exporter.signals.consumers import bare_signals, consumer_signals
from exporter.signals.events_input import NO_EVENTS, ConsumerKey, EventsInput, StreamKey
from exporter.signals.removed import KEEP_REMOVED, RemovedAssets
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals
from exporter.signals.state import ConsumerState, Observation, StreamState, StreamView
from exporter.signals.stream_changes import divergence
from exporter.signals.unchanged import idle_signals, unchanged_signals

__all__ = ["ConsumerKey", "SignalState", "Signals", "StreamKey", "StreamSignals"]

# An asset that incomplete responses do not list is kept for this time.
FORGET_AFTER_SECONDS = 3600.0

State = TypeVar("State", StreamState, ConsumerState)
Key = TypeVar("Key", StreamKey, ConsumerKey)


def _no_removed() -> RemovedAssets[Any]:
    return RemovedAssets(KEEP_REMOVED)


@dataclass(slots=True)
class SignalState:
    """State of all streams and consumers; removes those that a complete poll does not list."""

    _streams: dict[StreamKey, StreamState] = field(default_factory=dict)
    _consumers: dict[ConsumerKey, ConsumerState] = field(default_factory=dict)
    _removed_streams: RemovedAssets[StreamKey] = field(default_factory=_no_removed)
    _removed_durables: RemovedAssets[ConsumerKey] = field(default_factory=_no_removed)
    # Apart from the durable ones, which many short-lived consumers would displace.
    _removed_ephemerals: RemovedAssets[ConsumerKey] = field(default_factory=_no_removed)

    def update(self, snapshot: Snapshot, events: EventsInput | None = None) -> Signals:
        for memory in self._removed:
            memory.expire(snapshot.taken)
        clocks = {s.name: s.clock.offset_seconds for s in snapshot.servers if s.clock}
        views = self._observe_streams(snapshot, clocks)
        consumers = self._observe_consumers(snapshot, views, events or NO_EVENTS)
        if snapshot.complete:
            self._note_removed(consumers)
        self._forget(snapshot, consumers)
        dropped = sum(memory.dropped for memory in self._removed)
        return Signals(consumers, self._stream_signals(snapshot, views), dropped)

    def _observe_streams(
        self, snapshot: Snapshot, clocks: Mapping[str, float]
    ) -> dict[StreamKey, StreamView]:
        views: dict[StreamKey, StreamView] = {}
        for row in snapshot.streams:
            key = (row.account, row.name)
            state = self._streams.get(key)
            if state is None:
                if not row.up:
                    continue
                state = self._streams[key] = StreamState(row)
                removed = self._removed_streams
                state.recreated = removed.recreated(key) + removed.take(key, row.created)
            state.seen = snapshot.taken
            if row.up:
                # Without a measured offset, use the exporter's clock.
                views[key] = state.observe(row, snapshot.taken + clocks.get(row.leader, 0.0))
        return views

    def _observe_consumers(
        self, snapshot: Snapshot, views: Mapping[StreamKey, StreamView], events: EventsInput
    ) -> dict[ConsumerKey, ConsumerSignals]:
        now, states = snapshot.taken, self._consumers
        # Events may add to the rows of these consumers.
        with_events = events.counts.keys() | events.exhausted.keys()
        found: dict[ConsumerKey, ConsumerSignals] = {}
        for row in snapshot.consumers:
            key = (row.account, row.stream, row.name)
            state = states.get(key)
            if state is None:
                state = states[key] = ConsumerState(key)
                state.recreated = self._recreated_before(key)
            seen, state.seen = state.seen, now
            view = views.get((row.account, row.stream))
            # The key object of the state: one for all polls instead of a new one per poll.
            if view is None or not row.up:
                found[state.key] = bare_signals(state, row, now)
            else:
                if state.row is None:
                    state.recreated += self._is_back_recreated(row)
                observation = Observation(row, view, now, events)
                found[state.key] = _signals(
                    state, observation, seen, row_only=key not in with_events
                )
        return found

    def _note_removed(self, present: Mapping[ConsumerKey, ConsumerSignals]) -> None:
        """Counts durable consumers that are gone while their stream still exists."""
        if len(present) == len(self._consumers):
            return
        gone = Counter(
            (account, stream)
            for (account, stream, name), state in self._consumers.items()
            if state.durable and (account, stream, name) not in present
        )
        for key, number in gone.items():
            if key in self._streams:
                self._streams[key].consumers_removed += number

    def _forget(self, snapshot: Snapshot, present: Mapping[ConsumerKey, ConsumerSignals]) -> None:
        oldest = snapshot.taken if snapshot.complete else snapshot.taken - FORGET_AFTER_SECONDS
        for stream, gone in _not_since(self._streams, oldest):
            del self._streams[stream]
            created = gone.row.created
            self._removed_streams.remember(stream, created, gone.recreated, snapshot.taken)
        if len(self._consumers) <= len(present):
            return
        for consumer, state in _not_since(self._consumers, oldest):
            del self._consumers[consumer]
            if state.row is not None:
                self._removed_memory(state).remember(
                    consumer, state.row.created, state.recreated, snapshot.taken
                )

    def _removed_memory(self, state: ConsumerState) -> RemovedAssets[ConsumerKey]:
        return self._removed_durables if state.durable else self._removed_ephemerals

    def _recreated_before(self, key: ConsumerKey) -> int:
        return max(self._removed_durables.recreated(key), self._removed_ephemerals.recreated(key))

    def _is_back_recreated(self, row: Consumer) -> bool:
        key = (row.account, row.stream, row.name)
        durable = self._removed_durables.take(key, row.created)
        return self._removed_ephemerals.take(key, row.created) or durable

    @property
    def _removed(self) -> tuple[RemovedAssets[Any], ...]:
        return self._removed_streams, self._removed_durables, self._removed_ephemerals

    def _stream_signals(
        self, snapshot: Snapshot, views: Mapping[StreamKey, StreamView]
    ) -> dict[StreamKey, StreamSignals]:
        named = ((row.account, row.name) for row in snapshot.streams)
        return {
            key: _stream_result(self._streams[key], views.get(key))
            for key in named
            if key in self._streams
        }


def _signals(
    state: ConsumerState, observation: Observation, seen: float, *, row_only: bool
) -> ConsumerSignals:
    """Reuses the result of the previous poll where possible.

    `seen`: time of the previous poll; `row_only`: no events are known for the consumer.
    """
    result = None
    if row_only and state.idle:
        result = idle_signals(state, observation.row, observation.view)
    elif row_only and seen <= observation.now < state.valid_until:
        result = unchanged_signals(state, observation)
    return consumer_signals(state, observation) if result is None else result


def _not_since(states: dict[Key, State], oldest: float) -> list[tuple[Key, State]]:
    return [(key, state) for key, state in states.items() if state.seen < oldest]


def _stream_result(state: StreamState, view: StreamView | None) -> StreamSignals:
    return StreamSignals(
        state.recreated,
        state.regressions,
        state.leader_changes,
        state.purged,
        state.consumers_removed,
        divergence(view.row) if view else (),
        _dedupe_ids(view) if view else None,
    )


def _dedupe_ids(view: StreamView) -> int | None:
    """Messages stored within the duplicate window: an upper bound of the ids."""
    config = view.row.config
    if config is None or config.duplicate_window_seconds is None or config.mirror:
        return None
    return view.times.stored_since(view.server_now - config.duplicate_window_seconds, view.row)
