"""Updates the counters of a consumer with one more poll."""

from __future__ import annotations

from exporter import catalog
from exporter.model import Consumer, ConsumerConfig
from exporter.signals import filtered_redeliveries, loss_accounting
from exporter.signals.ack_floor import went_back
from exporter.signals.filtered_redeliveries import Known
from exporter.signals.loss_accounting import Accounted, Interval
from exporter.signals.state import ConsumerState, Observation


def update_counters(state: ConsumerState, observation: Observation) -> Consumer | None:
    """Returns the row of the previous poll; None for a new or reset consumer."""
    row, view = observation.row, observation.view
    before = _comparable(state, row, observation.now)
    if before is None:
        state.restart(row)
    nothing_missing = state.by_position(row, view) and loss_accounting.nothing_missing_ahead(
        row, view.row, gapless=view.gapless
    )
    known_before = state.redeliveries
    if before is not None:
        interval = _interval(state, before, observation, nothing_missing=nothing_missing)
        changes = loss_accounting.account(before, row, interval)
        if changes is not loss_accounting.NOTHING:
            _add(state, changes, observation)
        state.position = interval.position
    state.nothing_missing = nothing_missing
    state.polls += 1
    _update_finished(state, before, observation)
    _apply_filtered_count(state, before, observation, known_before)
    state.row = row
    return before


def _comparable(state: ConsumerState, row: Consumer, now: float) -> Consumer | None:
    before = state.row
    if before is None:
        return None
    if before.leader != row.leader and before.leader and row.leader:
        state.add(catalog.CONSUMER_LEADER_CHANGES, 1, now)
    if loss_accounting.was_reset(before, row):
        state.add(catalog.CONSUMER_RECREATED, 1, now)
        return None
    return before


def _interval(
    state: ConsumerState, before: Consumer, observation: Observation, *, nothing_missing: bool
) -> Interval:
    view, position = observation.view, loss_accounting.position(observation.row)
    # Positional for speed, as in consumers.py.
    return Interval(
        state.position,
        # It may go back on a former leader (a purge is not replicated): that is no move.
        max(state.position, position),
        nothing_missing and state.nothing_missing and view.steady,
        view.limits_may_remove,
        view.removed,
        view.acks_remove,
        _was_refiltered(before.config, observation.row.config),
    )


def _was_refiltered(old: ConsumerConfig | None, new: ConsumerConfig | None) -> bool:
    if old is new or old is None or new is None:
        return False
    return old.filters != new.filters


def _add(state: ConsumerState, changes: Accounted, observation: Observation) -> None:
    now = observation.now
    state.redeliveries += changes.redelivered
    if not observation.view.shape.overwrites:  # else it was removed by design
        state.add(catalog.CONSUMER_LOST_MESSAGES, changes.lost, now)
    state.add(catalog.CONSUMER_PURGED_MESSAGES, changes.purged, now)
    if not changes.redelivered_certain:
        state.redelivered_bounded = now
    if not changes.lost_certain:
        state.lost_bounded = now


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
        if row.num_pending == 0 and observation.view.last_seq_before > done:
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
    filtered = observation.events.counts.get(state.key)
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
