"""Redeliveries, losses and purges of a consumer behind a filter or gaps: bounds."""

from __future__ import annotations

from exporter.model import Consumer, ConsumerConfig
from exporter.signals import cohorts, loss_accounting
from exporter.signals.cohorts import Step, settled_only
from exporter.signals.coverage import is_unfiltered
from exporter.signals.state import ConsumerState, Observation, StreamView


def update_bounds(state: ConsumerState, before: Consumer, observation: Observation) -> None:
    row, view = observation.row, observation.view
    state.position = max(state.position, state.settled)
    redelivered, certain = loss_accounting.least_redelivered(before, row)
    state.redeliveries += redelivered
    if not certain:
        state.redelivered_bounded = observation.now
    if not view.shape.overwrites:
        _update_loss(state, before, observation)
    settled = _settled(state, before, row, view)
    state.settled, state.position = min(state.position, settled), settled


def _update_loss(state: ConsumerState, before: Consumer, observation: Observation) -> None:
    row, view = observation.row, observation.view
    width = state.lost_upper - state.lost
    refiltered = _was_refiltered(before.config, row.config)
    known = _is_known(row, view) and not refiltered
    # Of a stream near its limits, some may have been removed since it was polled.
    near = view.by_limits or view.near_limit
    if known and view.removed and not (near or _may_have_skipped(row)):
        # No more than left the stream: num_pending of a server can be wrong.
        purged = min(loss_accounting.least_gone(before, row), view.removed)
        state.note_gone(0, 0, purged, observation.now)
    if refiltered:
        state.settled = min(state.settled, loss_accounting.position(before))
        state.cohorts = ()
    passed = row.stream_first_seq - 1 > state.settled
    if not passed or view.by_limits == 0:
        state.cohorts = _only_newest(state, before, row, view)
        return
    step = _step(state, before, row, view, countable=known and _is_countable(before, row, view))
    kept = state.cohorts or (_first_cohort(state, step),)
    state.cohorts, lost, lost_upper = cohorts.follow(kept, step)
    state.note_gone(lost - state.lost, lost_upper - state.lost_upper, 0, observation.now)
    if state.lost_upper - state.lost != width:
        state.lost_bounded = observation.now


def _first_cohort(state: ConsumerState, step: Step) -> cohorts.Cohort:
    if state.polls == 1:  # nothing is counted before the first poll
        return cohorts.cohort_before(step, state.lost_upper)
    return settled_only(state.settled, state.lost_upper)


def _only_newest(
    state: ConsumerState, before: Consumer, row: Consumer, view: StreamView
) -> tuple[cohorts.Cohort, ...]:
    """While nothing is lost, the previous poll is all that a later loss is compared with."""
    if before.num_pending == 0 or not view.may_lose or state.new_leader:
        return ()
    countable = _is_known(row, view) and _is_countable(before, row, view)
    step = _step(state, before, row, view, countable=countable)
    return (cohorts.cohort_before(step, state.lost_upper),)


def _step(
    state: ConsumerState, before: Consumer, row: Consumer, view: StreamView, *, countable: bool
) -> Step:
    # With another leader than its stream, the consumer may know an older stream.
    together = row.leader == view.row.leader
    # Positional for speed, as in consumers.py.
    return Step(
        before,
        row,
        state.position,
        view.last_seq_before if together else view.last_seq_earlier,
        view.row.last_seq,
        row.stream_first_seq if together else min(before.stream_first_seq, row.stream_first_seq),
        view.by_limits,
        state.lost,
        state.lost_upper,
        countable,
        not state.new_leader,
    )


def _is_known(row: Consumer, view: StreamView) -> bool:
    return row.config is not None and view.row.config is not None and view.steady


def _is_countable(before: Consumer, row: Consumer, view: StreamView) -> bool:
    """Whether all that is gone was removed by limits, and num_pending can be compared."""
    config = row.config
    return (
        before.leader == row.leader
        and not view.purge_seen
        and not loss_accounting.was_moved(before, row)
        and config is not None
        and config.deliver_policy != "last_per_subject"
    )


def _was_refiltered(old: ConsumerConfig | None, new: ConsumerConfig | None) -> bool:
    if old is new or old is None or new is None:
        return False
    return old.filters != new.filters


def _may_have_skipped(row: Consumer) -> bool:
    """Before 2.10 a purge by subject moves a consumer without a filter to the end."""
    unfiltered = row.config is not None and is_unfiltered(row.config)
    at_the_end = row.num_pending == 0 and row.delivered_stream_seq >= row.stream_first_seq
    return unfiltered and at_the_end


def _settled(state: ConsumerState, before: Consumer, row: Consumer, view: StreamView) -> int:
    """Nothing up to this sequence waits."""
    found = loss_accounting.position(row)
    if _was_refiltered(before.config, row.config):
        return found
    if row.num_pending == 0 and before.leader == row.leader:
        last = view.row.last_seq if row.leader == view.row.leader else view.last_seq_before
        found = max(found, last)
    return max(state.position, found)
