"""Consumers that stand still: what was told of them holds, and only ages grow.

Most consumers of a large system do so from one look to the next, whether they have nothing to do
or a backlog that nobody works on. Whatever is not surely still gets a whole look.
"""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from exporter.model import Consumer
from exporter.signals import ack_floor, delivery_stall
from exporter.signals.lag import lag_seconds
from exporter.signals.loss_accounting import nothing_missing_ahead
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.state import NEVER, ConsumerState, Look, StreamView
from exporter.signals.verdict import Evidence, Verdict, patience_left
from exporter.signals.window import WINDOW_SECONDS

# Differences of large floats are not exact: so near to a limit a whole look decides.
_SLACK_SECONDS = 0.001


def resting_signals(
    track: ConsumerState, row: Consumer, view: StreamView
) -> ConsumerSignals | None:
    """What was told the last time, if nothing stirred since: most consumers rest most of the time."""
    before = track.row
    if (
        before is None
        or row.num_pending
        or row.num_ack_pending
        or row.paused
        or not _unmoved(before, row)
        or not view.steady
        or (view.row.last_seq > track.position and not view.gapless)
    ):
        return None
    track.row = row
    if view.last_seq_before > track.finished:
        track.finished = view.last_seq_before
    return track.told


def standing_signals(track: ConsumerState, look: Look) -> ConsumerSignals | None:
    """What was told the last time, as old as it is now; None when more than ages may have changed."""
    row, before = look.row, track.row
    if (
        before is None
        or not _unmoved(before, row)
        or not _waits_as(before, row)
        or not _stream_stands(track, row, look.view)
        or _is_told_more(track, look)
    ):
        return None
    return _aged(track, look)


def _unmoved(before: Consumer, row: Consumer) -> bool:
    return (
        row.delivered_consumer_seq == before.delivered_consumer_seq
        and row.delivered_stream_seq == before.delivered_stream_seq
        and row.stream_first_seq == before.stream_first_seq
        and row.ack_floor_consumer_seq == before.ack_floor_consumer_seq
        and row.num_redelivered == before.num_redelivered
        and row.config is before.config
        and row.leader == before.leader
        and row.created == before.created
    )


def _waits_as(before: Consumer, row: Consumer) -> bool:
    return (
        row.num_pending == before.num_pending
        and row.num_ack_pending == before.num_ack_pending
        and row.ack_floor_stream_seq == before.ack_floor_stream_seq
        and row.paused == before.paused
        and row.push_bound == before.push_bound
        and (row.num_waiting > 0) == (before.num_waiting > 0)
    )


def _stream_stands(track: ConsumerState, row: Consumer, view: StreamView) -> bool:
    """It may grow, but nothing that was concluded of it may change."""
    if not view.steady or view.removed or view.shape is not track.shape:
        return False
    if not track.counts_messages or view.gapless:
        return track.nothing_missing is track.counts_messages
    return track.nothing_missing is nothing_missing_ahead(row, view.row, gapless=False)


def _is_told_more(track: ConsumerState, look: Look) -> bool:
    """Whether something was heard of it that its row does not say."""
    key, heard, newest = track.key, look.heard, track.window.points[-1]
    return (
        key in heard.lags
        or heard.acks.get(key) != newest.acks
        or heard.naks.get(key, 0) != newest.naks
    )


def _aged(track: ConsumerState, look: Look) -> ConsumerSignals | None:
    told, floor, deliveries = track.told, track.floor, track.deliveries
    if told is None or floor is None or deliveries is None:
        return None
    row, view, now, unfinished = look.row, look.view, look.now, told.unfinished_seq
    track.row = row
    # Where nothing waits, the time of waiting would begin now.
    if row.num_pending == 0 or row.paused:
        deliveries.since = deliveries.new_since = now
    if row.num_ack_pending == 0:
        if ack_floor.holds_nothing(row):
            floor.since = now
        if row.num_pending == 0 and view.last_seq_before > track.finished:
            track.finished = view.last_seq_before
    ahead = row.delivered_stream_seq - view.row.last_seq
    lag, lag_exact = lag_seconds(unfinished, view.times, view.row, view.server_now)
    return replace(
        told,
        lag=lag,
        lag_exact=lag_exact,
        blocking_stream_seq=None,
        headroom_seconds=headroom_seconds(lag, view.row.config),
        headroom_ratio=headroom_ratio(unfinished, view.row) if view.crowded else None,
        stalled=delivery_stall.stalled_seconds(deliveries, row, now),
        floor_stalled=ack_floor.stalled_seconds(floor, row, now),
        ahead=ahead if ahead > 0 else None,
    )


def keep_told(
    track: ConsumerState,
    before: Consumer | None,
    look: Look,
    told: ConsumerSignals,
    evidence: Evidence | None,
) -> None:
    """After a whole look: what of it the next one may use."""
    track.rests = _will_rest(track, told, look.now)
    track.until = NEVER
    if track.rests:
        track.told = told
        track.deliveries = None  # else the rest would count as a stall
        if ack_floor.holds_nothing(look.row):
            track.floor = None  # likewise
        return
    if before is not None and evidence is not None and _stood_still(before, look.row, evidence):
        track.until = look.now + _seconds_of_calm(track, look, evidence)
    track.told = told if track.until > look.now else None


def _will_rest(track: ConsumerState, told: ConsumerSignals, now: float) -> bool:
    """Whether time alone cannot change what is told."""
    if told.verdict is not Verdict.IDLE or told.ahead is not None:
        return False  # how far it is ahead changes with the stream alone
    newest_bound = max(track.redelivered_bounded, track.lost_bounded)
    if track.nothing_missing and now - newest_bound <= WINDOW_SECONDS:
        return False  # it becomes exact
    return track.counts is None or now - track.counts.bounded > WINDOW_SECONDS


def _stood_still(before: Consumer, row: Consumer, evidence: Evidence) -> bool:
    """Whether it stood still since the look before, and how it stands is all that has to be known."""
    first, newest, now = evidence.past[0], evidence.past[-1], evidence.now
    return (
        _unmoved(before, row)
        and _waits_as(before, row)
        and now.stands_as(newest)
        # Why messages come again depends on more than this row.
        and now.redeliveries == first.redeliveries
        # Where one that never acked began depends on its stream.
        and (row.num_ack_pending == 0 or row.ack_floor_consumer_seq > 0)
    )


def _seconds_of_calm(track: ConsumerState, look: Look, evidence: Evidence) -> float:
    """How long time alone changes nothing but ages."""
    now, points = look.now, evidence.past
    left = patience_left(evidence)
    left.append(track.redelivered_bounded + WINDOW_SECONDS - now)
    left.append(track.lost_bounded + WINDOW_SECONDS - now)
    if track.counts is not None:
        left.append(track.counts.bounded + WINDOW_SECONDS - now)
    if len(points) > 1:
        left.append(points[1].at + WINDOW_SECONDS - now)  # then the oldest one is forgotten
    if look.row.num_ack_pending > 0 and track.floor is not None and look.row.config is not None:
        given_up_after = ack_floor.whole_retry_seconds(look.row.config)
        if given_up_after is not None:
            left.append(track.floor.since + given_up_after - now)
    return min([one for one in left if one > -_SLACK_SECONDS], default=inf) - _SLACK_SECONDS
