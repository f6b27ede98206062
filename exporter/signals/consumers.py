"""The signals of one consumer, drawn together from the rules of this folder."""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer
from exporter.signals import accounting, ack_floor, stall
from exporter.signals.cause import redelivery_cause
from exporter.signals.counting import count
from exporter.signals.lag import first_unfinished, reading_holds
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.told import ConsumerSignals
from exporter.signals.tracks import ConsumerTrack, Look, StreamView
from exporter.signals.verdict import Evidence, Verdict, verdict
from exporter.signals.window import WINDOW_SECONDS, Point, redelivery_ratio

__all__ = ["ConsumerSignals", "bare_signals", "consumer_signals", "resting_signals"]


def bare_signals(track: ConsumerTrack, now: float, *, up: bool) -> ConsumerSignals:
    """Without a leader of its own, or of its stream, nothing new can be told."""
    track.rest = None
    if not up:
        _judge(track, Verdict.NO_LEADER, now)
    return ConsumerSignals(
        track.redeliveries,
        track.recreated,
        track.leader_changes,
        track.verdict,
        track.verdict_since,
    )


def resting_signals(
    track: ConsumerTrack, row: Consumer, view: StreamView
) -> ConsumerSignals | None:
    """What was told the last time, if nothing stirred since: most consumers rest most of the time."""
    told, before = track.rest, track.row
    if (
        told is None
        or before is None
        or row.delivered_consumer_seq != before.delivered_consumer_seq
        or row.num_pending
        or row.num_ack_pending
        or row.delivered_stream_seq != before.delivered_stream_seq
        or row.stream_first_seq != before.stream_first_seq
        or row.ack_floor_consumer_seq != before.ack_floor_consumer_seq
        or row.num_redelivered != before.num_redelivered
        or row.paused
        or row.config is not before.config
        or row.leader != before.leader
        or row.created != before.created
        or not view.steady
        or (view.row.last_seq > track.position and not view.gapless)
    ):
        return None
    track.row = row
    track.finished = max(track.finished, view.last_seq_before)
    return told


class _State(Struct, frozen=True, gc=False):
    """How the consumer stands at this look."""

    stalled: float
    no_new: float
    floor_stalled: float
    floor_exhausted: int | None
    point: Point
    unfinished: int | None


def consumer_signals(track: ConsumerTrack, look: Look) -> ConsumerSignals:
    before = count(track, look)
    state = _state(track, look)
    found = verdict(_evidence(track, look.row, state)) if track.looks > 1 else None
    _judge(track, found, look.now)
    told = _told(track, look, state, before)
    _let_rest(track, told, look.now)
    return told


def _state(track: ConsumerTrack, look: Look) -> _State:
    row, now = look.row, look.now
    given_up = look.heard.exhausted.get(look.key, ())
    floor = track.floor = ack_floor.track_floor(track.floor, row, now, given_up)
    exhausted = ack_floor.floor_exhausted(floor, row, now)
    deliveries = track.deliveries = stall.track_deliveries(track.deliveries, row, now)
    point = _point(track, look)
    track.window.note(point)
    return _State(
        stall.stalled_seconds(deliveries, row, now),
        max(0.0, now - deliveries.new_since),
        ack_floor.stalled_seconds(floor, row, now),
        exhausted,
        point,
        first_unfinished(
            row, track.finished, floor_exhausted=bool(exhausted), began=_began(track, look)
        ),
    )


def _began(track: ConsumerTrack, look: Look) -> int | None:
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


def _point(track: ConsumerTrack, look: Look) -> Point:
    row, heard = look.row, look.heard
    return Point(
        look.now,
        row.delivered_consumer_seq,
        track.redeliveries,
        track.lost,
        row.num_pending + row.num_ack_pending,
        row.ack_floor_consumer_seq,
        heard.acks.get(look.key),
        heard.naks.get(look.key, 0),
    )


def _evidence(track: ConsumerTrack, row: Consumer, state: _State) -> Evidence:
    config = row.config
    push = config is not None and config.kind == "push"
    return Evidence(
        paused=row.paused,
        reachable=row.push_bound if push else row.num_waiting > 0,
        num_pending=row.num_pending,
        num_ack_pending=row.num_ack_pending,
        max_ack_pending=config.max_ack_pending if config else None,
        ack_wait_seconds=config.ack_wait_seconds if config else None,
        stalled_seconds=state.stalled,
        no_new_seconds=state.no_new,
        floor_stalled_seconds=state.floor_stalled,
        floor_exhausted=bool(state.floor_exhausted),
        past=track.window.points,
        now=state.point,
    )


def _judge(track: ConsumerTrack, found: Verdict | None, now: float) -> None:
    if found is not track.verdict:
        track.verdict, track.verdict_since = found, now


def _told(
    track: ConsumerTrack, look: Look, state: _State, before: Consumer | None
) -> ConsumerSignals:
    row, now, view, past = look.row, look.now, look.view, track.window.points
    loses = not view.overwrites
    counted = track.nothing_missing
    lag, lag_exact, blocking = _lag(look, state)
    listening = look.key[0] in look.heard.listening
    return ConsumerSignals(
        redeliveries=track.redeliveries,
        recreated=track.recreated,
        leader_changes=track.leader_changes,
        verdict=track.verdict,
        verdict_since=track.verdict_since,
        redelivery_ratio=redelivery_ratio(past[0], state.point),
        redelivery_exact=int(_redeliveries_are_exact(track, row, now)),
        redelivery_cause=redelivery_cause(
            past, state.point, row.num_redelivered, listening=listening
        ),
        lost=track.lost if loses else None,
        purged=track.purged,
        lost_waiting=accounting.waiting_loss(row) if loses and counted else None,
        lost_exact=int(counted and now - track.lost_bounded > WINDOW_SECONDS) if loses else None,
        lag=lag,
        lag_exact=lag_exact,
        headroom_seconds=headroom_seconds(lag, view.row.config),
        headroom_ratio=headroom_ratio(state.unfinished, view.row),
        stalled=state.stalled,
        floor_stalled=state.floor_stalled,
        floor_exhausted=state.floor_exhausted,
        ahead=_ahead(before, view),
        blocking_stream_seq=blocking,
        unfinished_seq=state.unfinished,
    )


def _redeliveries_are_exact(track: ConsumerTrack, row: Consumer, now: float) -> bool:
    """All of them within the window, so that a rate or a ratio of it is exact."""
    if accounting.never_sends_again(row.config):
        return True
    if track.nothing_missing and now - track.redelivered_bounded > WINDOW_SECONDS:
        return True
    counts = track.counts
    if counts is None or counts.count.deliveries != row.delivered_consumer_seq:
        return False
    return now - counts.bounded > WINDOW_SECONDS


def _lag(look: Look, state: _State) -> tuple[float | None, int | None, int | None]:
    """The lag, whether it was read from the message itself, and that message's sequence."""
    unfinished, view = state.unfinished, look.view
    if unfinished is None:
        return 0.0, 1, None
    reading = look.heard.lags.get(look.key)
    # Behind a message that was given up, nobody knows which one is the first in flight.
    guessed = bool(state.floor_exhausted) and look.row.num_ack_pending > 0
    if reading is not None and reading_holds(reading, unfinished) and not guessed:
        return max(0.0, view.server_now - reading.stored), 1, reading.seq
    stored = view.times.time_of(unfinished, view.row, view.server_now)
    return (None, None, None) if stored is None else (max(0.0, view.server_now - stored), 0, None)


def _ahead(before: Consumer | None, view: StreamView) -> int | None:
    """Only while there is something: two questions asked at different times must not raise it."""
    if before is None:
        return None
    return max(0, before.delivered_stream_seq - view.row.last_seq) or None


def _let_rest(track: ConsumerTrack, told: ConsumerSignals, now: float) -> None:
    """Keeps `told` for as long as nothing stirs, if time alone cannot change it."""
    newest_bound = max(track.redelivered_bounded, track.lost_bounded)
    becomes_exact = track.nothing_missing and now - newest_bound <= WINDOW_SECONDS
    if track.counts is not None:
        becomes_exact = becomes_exact or now - track.counts.bounded <= WINDOW_SECONDS
    rests = told.verdict is Verdict.IDLE and not becomes_exact
    track.rest = told if rests else None
    if rests:
        track.deliveries = None  # else the rest would count as a stall
