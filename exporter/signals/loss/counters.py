"""Updates the counters of a consumer with one more poll."""

from __future__ import annotations

from exporter import catalog
from exporter.model import Consumer
from exporter.signals.ack_floor import went_back
from exporter.signals.loss import accounting, filtered_redeliveries
from exporter.signals.loss.accounting import ANY_NUMBER, Interval
from exporter.signals.loss.bounds import unpurged, update_bounds
from exporter.signals.loss.filtered_redeliveries import Known
from exporter.signals.state import ConsumerState, Observation, StreamView


def update_counters(state: ConsumerState, observation: Observation) -> Consumer | None:
    """Returns the row of the previous poll; None for a new or reset consumer."""
    row, view = observation.row, observation.view
    before = _comparable(state, row, observation.now)
    if before is None:
        state.restart(row)
        if row.num_pending == 0 and row.leader == view.row.leader:
            state.settle(view.row.last_seq)
    counted_before = state.nothing_missing or _all_were_for_it(state, before, view)
    position = accounting.position(row)
    counted = nothing_missing(state, row, view, position) or (
        counted_before and _has_not_counted(state, before, row, view)
    )
    state.nothing_missing = counted
    known_before = state.redeliveries
    if before is not None:
        behind_end = state.set_back is None and state.position <= view.row.last_seq
        if not behind_end and _is_set_back(state, before, row, view):
            _forget_positions(state, observation)
        elif counted and counted_before and view.steady:
            if position < state.position:
                position = state.position
            _count_positions(state, before, observation, position)
        else:
            update_bounds(state, before, observation)
        if not view.shape.known or row.config is None:
            state.lost_bounded = observation.now
        state.new_leader = before.leader != row.leader
    state.missed = False
    state.polls += 1
    _update_finished(state, before, observation)
    _apply_filtered_count(state, before, observation, known_before)
    state.row = row
    return before


def nothing_missing(state: ConsumerState, row: Consumer, view: StreamView, position: int) -> bool:
    """Whether every sequence ahead of the consumer is a message for it.

    The configuration may be older than the stream, so num_pending must agree: with messages of the
    previous poll, because a consumer may be polled on another server than its stream.
    """
    # In full instead of in functions: this runs for every consumer that moves.
    if state.shape is not view.shape or state.config is not row.config:
        state.compare_subjects(row, view)
    waits_up_to = position + row.num_pending
    if not state.counts_messages or waits_up_to < view.last_seq_before:
        return False
    if state.covered_from > position:
        return False  # stored before its subjects were those of now
    return view.gapless or waits_up_to >= view.row.last_seq


def _all_were_for_it(state: ConsumerState, before: Consumer | None, view: StreamView) -> bool:
    """Whether as many waited at the previous poll as the stream holds by now.

    This proves filters that match the configured subjects for what was stored before the first poll.
    """
    if before is None or state.covered_from <= state.position or not state.counts_messages:
        return False
    if before.num_pending < view.row.last_seq - state.position:
        return False
    state.covered_from = state.position
    return True


def _comparable(state: ConsumerState, row: Consumer, now: float) -> Consumer | None:
    before = state.row
    if before is None:
        return None
    if before.leader != row.leader and before.leader and row.leader:
        state.add(catalog.CONSUMER_LEADER_CHANGES, 1, now)
    if accounting.was_reset(before, row):
        state.add(catalog.CONSUMER_RECREATED, 1, now)
        return None
    return before


def _is_set_back(state: ConsumerState, before: Consumer, row: Consumer, view: StreamView) -> bool:
    """Whether the stream uses sequences again that this consumer had passed.

    Some servers keep the old position until the stream reaches it: until it moves, it says nothing.
    """
    if state.set_back is None and state.position > view.row.last_seq:
        state.set_back = before.delivered_stream_seq
    if state.set_back is None:
        return False
    if row.delivered_stream_seq != state.set_back:
        state.set_back = None
    return True


def _forget_positions(state: ConsumerState, observation: Observation) -> None:
    first, position = (
        observation.row.stream_first_seq - 1,
        accounting.position(observation.row),
    )
    state.position = state.settled = first if state.set_back is not None else position
    state.cohorts, state.nothing_missing = (), False
    state.redelivered_bounded = state.lost_bounded = observation.now


def _has_not_counted(
    state: ConsumerState, before: Consumer | None, row: Consumer, view: StreamView
) -> bool:
    """Whether a new leader reports no backlog although every sequence ahead is a message for it."""
    if before is None or before.leader == row.leader or row.num_pending:
        return False
    return state.counts_messages and state.covered_from <= state.position and view.gapless


def _count_positions(
    state: ConsumerState, before: Consumer, observation: Observation, position: int
) -> None:
    row, view, position_before = observation.row, observation.view, state.position
    if view.unused and position >= view.row.last_seq:
        position_before += view.unused
    state.settled, state.position, state.cohorts = position_before, position, ()
    state.waited = None
    deliveries = row.delivered_consumer_seq - before.delivered_consumer_seq
    passed = row.stream_first_seq - 1 - position_before
    skipped, state.skipped = state.skipped, 0
    if deliveries == position - position_before and passed <= 0 and not skipped:
        return  # as for most consumers: nothing but first deliveries
    unknown = state.missed and view.may_lose  # how many were removed by limits meanwhile
    # Positional for speed, as in consumers.py.
    interval = Interval(
        position_before,
        position,
        ANY_NUMBER if unknown else view.by_limits,
        view.purge_seen or unknown,
        view.gaps,
        view.acks_remove,
        view.last_seq_before if _may_store_others(row, view) else None,
        view.gaps_before,
    )
    changes = accounting.by_position(before, row, interval)
    state.redeliveries += changes.redelivered
    # What it skipped since its stream was polled, limits may have removed just before.
    most = max(changes.lost_most, min(changes.lost_most + skipped, interval.by_limits))
    state.skipped = max(0, position - position_before - deliveries - max(0, passed))
    purged = changes.purged
    if purged and unpurged(before, row, view):
        state.unexplained += purged
        most, purged = most + purged, 0
    state.note_gone(changes.lost, most, purged, observation.now)
    if not changes.redelivered_certain:
        state.redelivered_bounded = observation.now
    if changes.lost != most:
        state.lost_bounded = observation.now


def _may_store_others(row: Consumer, view: StreamView) -> bool:
    """Whether the sequences between two polls may not be messages for this consumer."""
    return view.shape.stored_elsewhere or (row.config is not None and bool(row.config.filters))


def _update_finished(
    state: ConsumerState, before: Consumer | None, observation: Observation
) -> None:
    row = observation.row
    if before is not None and (
        went_back(before, row)
        or row.delivered_stream_seq < before.delivered_stream_seq
        or _was_reopened(before, row)
    ):
        state.finished = min(state.finished, row.ack_floor_stream_seq)
    if row.num_ack_pending == 0:
        done = row.delivered_stream_seq
        moved = before is not None and before.leader != row.leader  # it may not have counted yet
        if row.num_pending == 0 and observation.view.last_seq_before > done and not moved:
            done = observation.view.last_seq_before
        if done > state.finished:
            state.finished = done


def _was_reopened(before: Consumer, row: Consumer) -> bool:
    """Whether more messages became unacked than were delivered.

    A 2.9 leader that steps down briefly forgets its deliveries; the next leader knows them.
    """
    sent = row.delivered_consumer_seq - before.delivered_consumer_seq
    return row.num_ack_pending - before.num_ack_pending > sent


def _apply_filtered_count(
    state: ConsumerState, before: Consumer | None, observation: Observation, known_before: int
) -> None:
    """A count of the messages that pass the filter makes redeliveries exact."""
    counts = observation.events.counts
    filtered = counts.get(state.key) if counts else None
    if filtered is None:
        return
    then = None if before is None else Known(before.delivered_consumer_seq, known_before)
    now = Known(
        observation.row.delivered_consumer_seq,
        state.redeliveries,
        observation.now,
        state.redelivered_bounded,
    )
    state.counts = filtered_redeliveries.next_count_state(state.counts, filtered, then, now)
    if state.counts is not None:
        state.redeliveries = max(state.redeliveries, state.counts.total)
