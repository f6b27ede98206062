"""All signals of one system, from its snapshots.

Pure: it makes no requests and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from msgspec.structs import replace

from exporter import catalog
from exporter.model import Consumer, Server, Snapshot, Stream
from exporter.signals.clock import clock_offsets, on_exporter_clock
from exporter.signals.conditions.held import Held
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.conditions.servers import judge_servers, servers_down
from exporter.signals.conditions.streams import (
    StreamConditions,
    StreamFacts,
    judge_streams,
    unfinished_messages,
)
from exporter.signals.conditions.words import Unjudged
from exporter.signals.consumers import bare_signals, consumer_signals
from exporter.signals.event_count import Events
from exporter.signals.events_input import NO_EVENTS, ConsumerKey, EventsInput, StreamKey
from exporter.signals.loss.accounting import was_moved
from exporter.signals.removed import KEEP_REMOVED, RemovedAssets
from exporter.signals.results import ConsumerSignals, Signals, StreamSignals
from exporter.signals.state import ConsumerState, Observation, StreamState, StreamView
from exporter.signals.stream_changes import divergence, was_recreated
from exporter.signals.unchanged import idle_signals, unchanged_signals

__all__ = ["ConsumerKey", "SignalState", "Signals", "StreamKey", "StreamSignals"]

# An asset that incomplete responses do not list is kept for this time.
FORGET_AFTER_SECONDS = 3600.0

State = TypeVar("State", StreamState, ConsumerState)
Key = TypeVar("Key", StreamKey, ConsumerKey)


def _no_removed() -> RemovedAssets[Any, Any]:
    return RemovedAssets(KEEP_REMOVED)


@dataclass(slots=True)
class SignalState:
    """State of all streams and consumers; removes those that a complete poll does not list."""

    limits: Limits = DEFAULT_LIMITS
    _streams: dict[StreamKey, StreamState] = field(default_factory=dict)
    _consumers: dict[ConsumerKey, ConsumerState] = field(default_factory=dict)
    _stream_conditions: dict[StreamKey, StreamConditions] = field(default_factory=dict)
    _server_conditions: dict[str, Held] = field(default_factory=dict)
    _removed_streams: RemovedAssets[StreamKey, Stream] = field(default_factory=_no_removed)
    _removed_durables: RemovedAssets[ConsumerKey, Consumer] = field(default_factory=_no_removed)
    # Apart from the durable ones, which many short-lived consumers would displace.
    _removed_ephemerals: RemovedAssets[ConsumerKey, Consumer] = field(default_factory=_no_removed)
    _taken: float = float("-inf")  # of the previous snapshot
    _order: list[ConsumerState] = field(default_factory=list)  # as in the previous snapshot

    def update(self, snapshot: Snapshot, events: EventsInput | None = None) -> Signals:
        for memory in self._removed:
            memory.expire(snapshot.taken)
        clocks = clock_offsets(snapshot.servers)
        _, server_unjudged = self.judge_servers(snapshot.servers, snapshot.taken)
        views = self._with_purges(snapshot, self._observe_streams(snapshot, clocks))
        consumers = self._observe_consumers(snapshot, views, clocks, events or NO_EVENTS)
        if snapshot.complete:
            self._note_removed(consumers, snapshot.taken)
        self._forget(snapshot, consumers)
        streams, stream_unjudged = self._judge_streams(snapshot, clocks)
        return Signals(
            consumers,
            self._stream_signals(snapshot, views),
            _events_of(self._consumers, snapshot.taken),
            _events_of(self._streams, snapshot.taken),
            streams,
            self._server_conditions,
            stream_unjudged,
            server_unjudged,
            _count_unjudged(consumers, stream_unjudged, server_unjudged),
            sum(memory.dropped for memory in self._removed),
        )

    def judge_servers(
        self, servers: tuple[Server, ...], now: float
    ) -> tuple[dict[str, Held], dict[str, Unjudged]]:
        """Also for a poll without any response: then all servers are down."""
        found = judge_servers(self._server_conditions, servers, now, self.limits)
        self._server_conditions = found[0]
        return found

    def _judge_streams(
        self, snapshot: Snapshot, clocks: Mapping[str, float]
    ) -> tuple[dict[StreamKey, Held], dict[StreamKey, Unjudged]]:
        def stored(account: str, name: str) -> float | None:
            state = self._streams.get((account, name))
            # A mirror often has the name of its origin, which is in another domain.
            if state is None or state.row.origins:
                return None
            return on_exporter_clock(state.row.last_time, state.row.leader, clocks)

        down = servers_down(self._server_conditions)
        unfinished = unfinished_messages(snapshot.streams, snapshot.consumers)
        origins = {(row.account, each.name) for row in snapshot.streams for each in row.origins}

        def facts(row: Stream) -> StreamFacts:
            return StreamFacts(
                snapshot.taken,
                down,
                divergence(row),
                on_exporter_clock(row.created, row.leader, clocks),
                on_exporter_clock(row.last_time, row.leader, clocks),
                lambda origin: stored(row.account, origin),
                self.limits,
                is_origin=(row.account, row.name) in origins,
                unfinished=unfinished.get((row.account, row.name)),
            )

        kept, found, unjudged = judge_streams(self._stream_conditions, snapshot.streams, facts)
        if snapshot.complete:
            self._stream_conditions = kept
        else:  # what this poll does not list is unknown
            self._stream_conditions |= kept
        return found, unjudged

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
                events = self._removed_streams.events(key)
                # One that is back is compared with its last row: recreated, restored or the same.
                state = StreamState(self._removed_streams.take(key) or row)
                state.resume(events)
                self._streams[key] = state
            state.seen = snapshot.taken
            if row.up:
                # Without a measured offset, use the exporter's clock.
                views[key] = state.observe(row, snapshot.taken + clocks.get(row.leader, 0.0))
        return views

    def _with_purges(
        self, snapshot: Snapshot, views: dict[StreamKey, StreamView]
    ) -> dict[StreamKey, StreamView]:
        """Where limits removed messages, one consumer that a purge moved shows it for all."""
        limited = {key for key, view in views.items() if view.by_limits and not view.purge_seen}
        if not limited:
            return views
        for row in snapshot.consumers:
            stream = (row.account, row.stream)
            if stream in limited:
                state = self._consumers.get((*stream, row.name))
                before = state.row if state is not None else None
                if before is not None and row.up and was_moved(before, row):
                    views[stream] = replace(views[stream], purge_seen=True)
                    limited.discard(stream)
        return views

    def _observe_consumers(
        self,
        snapshot: Snapshot,
        views: Mapping[StreamKey, StreamView],
        clocks: Mapping[str, float],
        events: EventsInput,
    ) -> dict[ConsumerKey, ConsumerSignals]:
        now, previous = snapshot.taken, self._taken
        self._taken = now
        # Events may add to the rows of these consumers.
        with_events = events.counts.keys() | events.exhausted.keys()
        states = self._states_of(snapshot.consumers)
        results: list[ConsumerSignals] = []
        account = stream = view = None
        for row, state in zip(snapshot.consumers, states, strict=True):
            if row.stream != stream or row.account != account:  # rows of a stream follow each other
                account, stream = row.account, row.stream
                view = views.get((account, stream))
            seen, state.seen = state.seen, now
            if seen < previous:
                state.missed = True
            if view is None or not row.up:
                state.missed |= view is not None
                results.append(bare_signals(state, row, now))
                continue
            result = None
            if not with_events or state.key not in with_events:
                if state.idle:
                    result = idle_signals(state, row, view)
                elif seen <= now < state.valid_until:
                    result = unchanged_signals(state, row, view, now, events, self.limits)
            if result is None:
                if state.row is None:
                    state.add(catalog.CONSUMER_RECREATED, self._is_back_recreated(row), now)
                seen_now = Observation(row, view, now, events, clocks, self.limits)
                result = consumer_signals(state, seen_now)
            results.append(result)
        return dict(zip([state.key for state in states], results, strict=True))

    def _states_of(self, rows: tuple[Consumer, ...]) -> list[ConsumerState]:
        """Sources list consumers in the same order, so that most need no search."""
        states, order = self._consumers, self._order
        if len(order) != len(rows):
            order = [ConsumerState(("", "", ""))] * len(rows)
        found = []
        for row, likely in zip(rows, order, strict=True):
            if likely.row is row:
                found.append(likely)
                continue
            key = (row.account, row.stream, row.name)
            state = likely if likely.key == key else states.get(key)
            if state is None:
                state = states[key] = ConsumerState(key)
                state.resume(self._events_before(key))
            found.append(state)
        self._order = found
        return found

    def _note_removed(self, present: Mapping[ConsumerKey, ConsumerSignals], now: float) -> None:
        """Counts durable consumers that are gone while their stream still exists."""
        if len(present) == len(self._consumers):
            return
        gone = Counter(
            (account, stream)
            for (account, stream, name), state in self._consumers.items()
            if state.durable and (account, stream, name) not in present
        )
        for key, number in gone.items():
            stream = self._streams.get(key)
            if stream is not None and stream.seen == now:
                stream.add(catalog.STREAM_CONSUMERS_REMOVED, number, now)

    def _forget(self, snapshot: Snapshot, present: Mapping[ConsumerKey, ConsumerSignals]) -> None:
        oldest = snapshot.taken if snapshot.complete else snapshot.taken - FORGET_AFTER_SECONDS
        for stream, gone in _not_since(self._streams, oldest):
            del self._streams[stream]
            self._removed_streams.remember(stream, gone.row, gone.events, snapshot.taken)
        if len(self._consumers) <= len(present):
            return
        for consumer, state in _not_since(self._consumers, oldest):
            del self._consumers[consumer]
            if state.row is not None:
                self._removed_memory(state).remember(
                    consumer, state.row, state.events, snapshot.taken
                )

    def _removed_memory(self, state: ConsumerState) -> RemovedAssets[ConsumerKey, Consumer]:
        return self._removed_durables if state.durable else self._removed_ephemerals

    def _events_before(self, key: ConsumerKey) -> Events | None:
        return self._removed_durables.events(key) or self._removed_ephemerals.events(key)

    def _is_back_recreated(self, row: Consumer) -> bool:
        key = (row.account, row.stream, row.name)
        before = [memory.take(key) for memory in (self._removed_durables, self._removed_ephemerals)]
        return any(one is not None and was_recreated(one.created, row.created) for one in before)

    @property
    def _removed(self) -> tuple[RemovedAssets[Any, Any], ...]:
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


def _count_unjudged(
    consumers: Mapping[ConsumerKey, ConsumerSignals],
    streams: Mapping[StreamKey, Unjudged],
    servers: Mapping[str, Unjudged],
) -> Counter[tuple[str, str]]:
    # Most consumers have none: no generator for them.
    of_consumers = [one.unjudged for one in consumers.values() if one.unjudged]
    return Counter(chain.from_iterable((*of_consumers, *streams.values(), *servers.values())))


def _events_of(states: Mapping[Key, State], now: float) -> dict[Key, Events]:
    """Of the assets that this poll lists."""
    return {
        key: state.events
        for key, state in states.items()
        if state.events is not None and state.seen == now
    }


def _not_since(states: dict[Key, State], oldest: float) -> list[tuple[Key, State]]:
    return [(key, state) for key, state in states.items() if state.seen < oldest]


def _stream_result(state: StreamState, view: StreamView | None) -> StreamSignals:
    return StreamSignals(
        state.total(catalog.STREAM_RECREATED),
        state.total(catalog.STREAM_SEQUENCE_REGRESSIONS),
        state.total(catalog.STREAM_LEADER_CHANGES),
        state.total(catalog.STREAM_PURGED_MESSAGES),
        state.total(catalog.STREAM_CONSUMERS_REMOVED),
        divergence(view.row) if view else (),
        _dedupe_window_messages(view) if view else None,
    )


def _dedupe_window_messages(view: StreamView) -> int | None:
    """Which of them have an id is not known."""
    config = view.row.config
    if config is None or config.duplicate_window_seconds is None or config.mirror:
        return None
    return view.times.stored_since(view.server_now - config.duplicate_window_seconds, view.row)
