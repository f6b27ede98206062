"""What one more look at a consumer adds to its counters, and what the next look needs to know."""

from __future__ import annotations

from exporter.model import Consumer, ConsumerConfig
from exporter.signals import filtered_redeliveries, loss_accounting
from exporter.signals.ack_floor import went_back
from exporter.signals.filtered_redeliveries import Known
from exporter.signals.loss_accounting import Accounted, Interval
from exporter.signals.state import ConsumerState, Look


def count(track: ConsumerState, look: Look) -> Consumer | None:
    """Brings the track up to date; gives the look before, unless the consumer begins anew."""
    row, view = look.row, look.view
    before = _comparable(track, row)
    if before is None:
        track.begin_anew(row)
    nothing_missing = track.by_position(row, view) and loss_accounting.nothing_missing_ahead(
        row, view.row, gapless=view.gapless
    )
    known_before = track.redeliveries
    if before is not None:
        interval = _interval(track, before, look, nothing_missing=nothing_missing)
        happened = loss_accounting.account(before, row, interval)
        if happened is not loss_accounting.NOTHING:
            _add(track, happened, look.now)
        track.position = interval.position
    track.nothing_missing = nothing_missing
    track.looks += 1
    _note_finished(track, before, look)
    _use_count(track, before, look, known_before)
    track.row = row
    return before


def _comparable(track: ConsumerState, row: Consumer) -> Consumer | None:
    before = track.row
    if before is None:
        return None
    if before.leader != row.leader and before.leader and row.leader:
        track.leader_changes += 1
    if loss_accounting.was_reset(before, row):
        track.recreated += 1
        return None
    return before


def _interval(
    track: ConsumerState, before: Consumer, look: Look, *, nothing_missing: bool
) -> Interval:
    view, position = look.view, loss_accounting.position(look.row)
    # Positional, as in consumers.py: one is made for every consumer that moved.
    return Interval(
        track.position,
        # It may go back on a server that led before (a purge is not replicated): that is no move.
        max(track.position, position),
        nothing_missing and track.nothing_missing and view.steady,
        view.limits_may_remove,
        view.removed,
        view.acks_remove,
        _was_refiltered(before.config, look.row.config),
    )


def _was_refiltered(old: ConsumerConfig | None, new: ConsumerConfig | None) -> bool:
    if old is new or old is None or new is None:
        return False
    return old.filters != new.filters


def _add(track: ConsumerState, happened: Accounted, now: float) -> None:
    track.redeliveries += happened.redelivered
    track.lost += happened.lost
    track.purged += happened.purged
    if not happened.redelivered_certain:
        track.redelivered_bounded = now
    if not happened.lost_certain:
        track.lost_bounded = now


def _note_finished(track: ConsumerState, before: Consumer | None, look: Look) -> None:
    row = look.row
    if before is not None and (
        went_back(before, row)
        or row.delivered_stream_seq < before.delivered_stream_seq
        or _was_reopened(before, row)
    ):
        track.finished = min(track.finished, row.ack_floor_stream_seq)
    if row.num_ack_pending == 0:
        done = row.delivered_stream_seq
        if row.num_pending == 0 and look.view.last_seq_before > done:
            done = look.view.last_seq_before
        if done > track.finished:
            track.finished = done


def _was_reopened(before: Consumer, row: Consumer) -> bool:
    """More is unacked than was sent since: a leader that steps down forgets, for a moment, what it
    sent (2.9), and the next one knows it again."""
    sent = row.delivered_consumer_seq - before.delivered_consumer_seq
    return row.num_ack_pending - before.num_ack_pending > sent


def _use_count(
    track: ConsumerState, before: Consumer | None, look: Look, known_before: int
) -> None:
    """A count of the messages that pass the filter makes redeliveries exact."""
    heard = look.heard.counts.get(track.key)
    if heard is None:
        return
    then = None if before is None else Known(before.delivered_consumer_seq, known_before)
    now = Known(
        look.row.delivered_consumer_seq, track.redeliveries, look.now, track.redelivered_bounded
    )
    track.counts = filtered_redeliveries.follow(track.counts, heard, then, now)
    if track.counts is not None:
        track.redeliveries = max(track.redeliveries, track.counts.total)
