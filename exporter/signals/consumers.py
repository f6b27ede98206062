"""The signals of one consumer, drawn together from the rules of this folder."""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer
from exporter.signals import ack_floor, delivery_stall, loss_accounting
from exporter.signals.counter_update import count
from exporter.signals.events_input import ConsumerKey
from exporter.signals.lag import first_unfinished, lag_seconds, reading_holds
from exporter.signals.redelivery_cause import Cause, redelivery_cause
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.state import NEVER, ConsumerState, Look, StreamView
from exporter.signals.unchanged import keep_told
from exporter.signals.verdict import Evidence, Verdict, verdict
from exporter.signals.window import WINDOW_SECONDS, Point, redelivery_ratio

__all__ = ["ConsumerSignals", "bare_signals", "consumer_signals"]


def bare_signals(track: ConsumerState, row: Consumer, now: float) -> ConsumerSignals:
    """Without a leader of its own, or of its stream, nothing new can be told."""
    track.told, track.rests, track.until = None, False, NEVER
    if not row.up:
        _judge(track, Verdict.NO_LEADER, now)
    return ConsumerSignals(
        track.redeliveries,
        track.recreated,
        track.leader_changes,
        track.verdict,
        track.verdict_since,
        ack_floor_gap=ack_floor.gap(row) if row.up else None,
        ack_floor_gap_deliveries=ack_floor.gap_deliveries(row) if row.up else None,
        ack_floor_gap_ratio=ack_floor.gap_ratio(row) if row.up else None,
    )


class _State(Struct, frozen=True, gc=False):
    """How the consumer stands at this look."""

    stalled: float
    no_new: float
    floor_stalled: float
    floor_exhausted: int | None
    point: Point
    unfinished: int | None


def consumer_signals(track: ConsumerState, look: Look) -> ConsumerSignals:
    before = count(track, look)
    state = _state(track, look)
    evidence = _evidence(track, look.row, state) if track.looks > 1 else None
    _judge(track, None if evidence is None else verdict(evidence), look.now)
    told = _told(track, look, state, before)
    keep_told(track, before, look, told, evidence)
    return told


def _state(track: ConsumerState, look: Look) -> _State:
    row, now = look.row, look.now
    given_up = look.heard.exhausted.get(track.key, ())
    floor = track.floor = ack_floor.next_floor_state(track.floor, row, now, given_up)
    exhausted = ack_floor.floor_exhausted(floor, row, now)
    deliveries = track.deliveries = delivery_stall.next_delivery_state(track.deliveries, row, now)
    point = _point(track, look)
    track.window.note(point)
    return _State(
        delivery_stall.stalled_seconds(deliveries, row, now),
        now - deliveries.new_since if now > deliveries.new_since else 0.0,
        ack_floor.stalled_seconds(floor, row, now),
        exhausted,
        point,
        first_unfinished(
            row, track.finished, floor_exhausted=bool(exhausted), began=_began(track, look)
        ),
    )


def _began(track: ConsumerState, look: Look) -> int | None:
    """Up to where the consumer was surely sent nothing, for one that never acked.

    None where its own numbers tell: each delivery moved its position by one.
    """
    row, view = look.row, look.view
    if row.num_ack_pending == 0 or row.ack_floor_consumer_seq > 0:
        return None
    if view.gapless and track.by_position(row, view):
        return None
    if row.config is None or row.config.deliver_policy != "new" or row.created is None:
        return 0
    since = view.times.stored_since(row.created.timestamp(), view.row)
    return view.row.last_seq - since


def _point(track: ConsumerState, look: Look) -> Point:
    row, heard = look.row, look.heard
    return Point(
        look.now,
        row.delivered_consumer_seq,
        track.redeliveries,
        track.lost,
        row.num_pending + row.num_ack_pending,
        row.ack_floor_consumer_seq,
        heard.acks.get(track.key),
        heard.naks.get(track.key, 0),
    )


def _evidence(track: ConsumerState, row: Consumer, state: _State) -> Evidence:
    config = row.config
    push = config is not None and config.kind == "push"
    # Here and below positional on purpose: with names it takes twice as long, for every consumer.
    return Evidence(
        row.paused,
        row.push_bound if push else row.num_waiting > 0,
        row.num_pending,
        row.num_ack_pending,
        config.max_ack_pending if config else None,
        config.ack_wait_seconds if config else None,
        state.stalled,
        state.no_new,
        state.floor_stalled,
        bool(state.floor_exhausted),
        track.window.points,
        state.point,
    )


def _judge(track: ConsumerState, found: Verdict | None, now: float) -> None:
    if found is not track.verdict:
        track.verdict, track.verdict_since = found, now


def _told(
    track: ConsumerState, look: Look, state: _State, before: Consumer | None
) -> ConsumerSignals:
    row, now, view, first = look.row, look.now, look.view, track.window.points[0]
    loses, counted = not view.shape.overwrites, track.nothing_missing
    lag, lag_exact, blocking = _lag(track.key, look, state)
    return ConsumerSignals(
        track.redeliveries,
        track.recreated,
        track.leader_changes,
        track.verdict,
        track.verdict_since,
        redelivery_ratio(first, state.point),
        int(_redeliveries_are_exact(track, row, now)),
        _cause(track, look, state) if state.point.redeliveries > first.redeliveries else None,
        track.lost if loses else None,
        track.purged,
        loss_accounting.waiting_loss(row) if loses and counted else None,
        int(counted and now - track.lost_bounded > WINDOW_SECONDS) if loses else None,
        lag,
        lag_exact,
        headroom_seconds(lag, view.row.config),
        headroom_ratio(state.unfinished, view.row) if view.crowded else None,
        state.stalled,
        state.floor_stalled,
        state.floor_exhausted,
        _ahead(before, view),
        blocking,
        state.unfinished,
        ack_floor.gap(row),
        ack_floor.gap_deliveries(row),
        ack_floor.gap_ratio(row),
    )


def _cause(track: ConsumerState, look: Look, state: _State) -> Cause | None:
    listening = track.key[0] in look.heard.listening
    past, row = track.window.points, look.row
    return redelivery_cause(past, state.point, row.num_redelivered, listening=listening)


def _redeliveries_are_exact(track: ConsumerState, row: Consumer, now: float) -> bool:
    """All of them within the window, so that a rate or a ratio of it is exact."""
    if loss_accounting.never_sends_again(row.config):
        return True
    if track.nothing_missing and now - track.redelivered_bounded > WINDOW_SECONDS:
        return True
    counts = track.counts
    if counts is None or counts.count.deliveries != row.delivered_consumer_seq:
        return False
    return now - counts.bounded > WINDOW_SECONDS


def _lag(
    key: ConsumerKey, look: Look, state: _State
) -> tuple[float | None, int | None, int | None]:
    """The lag, whether it was read from the message itself, and that message's sequence."""
    unfinished, view = state.unfinished, look.view
    reading = look.heard.lags.get(key)
    if (
        reading is not None
        and unfinished is not None
        and reading_holds(reading, unfinished)
        # Behind a message that was given up, nobody knows which one is the first in flight.
        and not (state.floor_exhausted and look.row.num_ack_pending > 0)
    ):
        return max(0.0, view.server_now - reading.stored), 1, reading.seq
    return *lag_seconds(unfinished, view.times, view.row, view.server_now), None


def _ahead(before: Consumer | None, view: StreamView) -> int | None:
    """Only while there is something: two requests asked at different times must not raise it."""
    if before is None or before.delivered_stream_seq <= view.row.last_seq:
        return None
    return before.delivered_stream_seq - view.row.last_seq
