"""Redeliveries, losses and purges of a consumer behind a filter or gaps: bounds."""

from __future__ import annotations

from exporter.model import Consumer, ConsumerConfig
from exporter.signals.loss import accounting, cohorts
from exporter.signals.loss.accounting import ANY_NUMBER
from exporter.signals.loss.cohorts import Cohort, Step, settled_only
from exporter.signals.loss.coverage import is_unfiltered
from exporter.signals.state import ConsumerState, Observation, StreamView, Waited


def update_bounds(state: ConsumerState, before: Consumer, observation: Observation) -> None:
    row, view = observation.row, observation.view
    if state.settled > state.position:
        state.position = state.settled
    if row.delivered_consumer_seq != before.delivered_consumer_seq:
        redelivered, certain = accounting.least_redelivered(before, row)
        state.redeliveries += redelivered
        if not certain:
            state.redelivered_bounded = observation.now
    refiltered = before.config is not row.config and _was_refiltered(before.config, row.config)
    if not view.shape.overwrites:
        _update_loss(state, before, observation, refiltered=refiltered)
    settled = _settled(state, before, row, view, refiltered=refiltered)
    state.settled, state.position = min(state.position, settled), settled


def _update_loss(
    state: ConsumerState, before: Consumer, observation: Observation, *, refiltered: bool
) -> None:
    row, view = observation.row, observation.view
    if view.removed and not refiltered and not state.missed:
        _count_purged(state, before, observation)
    if refiltered:
        state.settled = min(state.settled, accounting.position(before))
        state.cohorts, state.waited = (), None
    by_limits = ANY_NUMBER if state.missed else view.by_limits
    unseen = view.removed > by_limits and unpurged(before, row, view)
    if unseen:
        by_limits = view.removed
    if row.stream_first_seq - 1 <= state.settled or not by_limits:
        state.cohorts = ()
        _note_waiting(state, before, row, view)
        return
    known = _is_known(row, view) and not refiltered and not state.missed
    countable = known and not unseen and _is_countable(before, row, view)
    step = _step(state, before, row, view, by_limits, countable=countable)
    kept = state.cohorts or (_first_cohort(state, step),)
    width, upper = state.lost_upper - state.lost, state.lost_upper
    state.cohorts, lost, lost_upper = cohorts.follow(kept, step)
    state.note_gone(lost - state.lost, lost_upper - state.lost_upper, 0, observation.now)
    state.waited = None
    if unseen:
        state.unexplained += max(0, state.lost_upper - upper - view.by_limits)
    if state.lost_upper - state.lost != width:
        state.lost_bounded = observation.now


def _first_cohort(state: ConsumerState, step: Step) -> Cohort:
    if state.polls == 1 and not state.missed:  # nothing is counted before the first poll
        return cohorts.cohort_before(step, state.lost_upper)
    waited = state.waited
    if waited is None:
        return settled_only(state.settled, state.lost_upper)
    least, most = _last_seqs(waited.row, waited.view)
    return Cohort(
        waited.row.num_pending,
        state.settled,
        least,
        most,
        waited.row.delivered_consumer_seq,
        state.lost,
        state.lost_upper,
        waited.countable and not cohorts.is_served(waited.row),
        _deleted_before(waited.row, waited.view),
    )


def _note_waiting(state: ConsumerState, before: Consumer, row: Consumer, view: StreamView) -> None:
    """While nothing is lost, the previous poll is all that a later loss is compared with."""
    if before.num_pending == 0 or not view.may_lose or state.new_leader or state.missed:
        state.waited = None
        return
    countable = (
        before.leader == row.leader
        # Before 2.10 a purge by subject moves it past stored messages.
        and not accounting.was_moved(before, row)
        and (not view.removed or (_is_known(row, view) and _is_countable(before, row, view)))
    )
    waited = state.waited
    if waited is None:
        state.waited = Waited(before, view, countable)
    else:
        waited.row, waited.view, waited.countable = before, view, countable


def _last_seqs(row: Consumer, view: StreamView) -> tuple[int, int]:
    """The stream's last sequence at the previous poll, as the consumer knew it: at least, at most.

    With another leader than its stream, the consumer may know an older stream.
    """
    together = row.leader == view.row.leader
    return (view.last_seq_before if together else view.last_seq_earlier), view.row.last_seq


def _deleted_before(row: Consumer, view: StreamView) -> int:
    """Up to the previous poll, as the consumer knew it."""
    return view.deleted_before if row.leader == view.row.leader else view.deleted_earlier


def _step(
    state: ConsumerState,
    before: Consumer,
    row: Consumer,
    view: StreamView,
    by_limits: int,
    *,
    countable: bool,
) -> Step:
    least, most = _last_seqs(row, view)
    together = row.leader == view.row.leader
    first, first_before = row.stream_first_seq, before.stream_first_seq
    # Positional for speed, as in consumers.py.
    return Step(
        before,
        row,
        state.position,
        least,
        most,
        first if together else min(first_before, first),
        first_before if together else 0,
        by_limits,
        state.lost,
        state.lost_upper,
        countable,
        not (state.new_leader or state.missed),
        view.deleted,
        _deleted_before(row, view),
    )


def unpurged(before: Consumer, row: Consumer, view: StreamView) -> bool:
    """Whether no purge removed what it lacks: a deletion, or limits that were changed and back."""
    return view.may_lose and not view.acks_remove and accounting.shows_no_purge(before, row)


def _is_known(row: Consumer, view: StreamView) -> bool:
    return row.config is not None and view.row.config is not None and view.steady


def _is_countable(before: Consumer, row: Consumer, view: StreamView) -> bool:
    """Whether all that is gone was removed by limits, and num_pending can be compared."""
    config = row.config
    return (
        before.leader == row.leader
        and not view.purge_seen
        and not accounting.was_moved(before, row)
        and config is not None
        and config.deliver_policy != "last_per_subject"
    )


def _was_refiltered(old: ConsumerConfig | None, new: ConsumerConfig | None) -> bool:
    if old is new or old is None or new is None:
        return False
    return old.filters != new.filters


def _count_purged(state: ConsumerState, before: Consumer, observation: Observation) -> None:
    row, view = observation.row, observation.view
    # Of a stream near its limits, some may have been removed since it was polled.
    if view.by_limits or view.near_limit or not _is_known(row, view):
        return
    if unpurged(before, row, view):
        return
    # No more than left the stream: num_pending of a server can be wrong.
    purged = min(accounting.least_gone(before, row), view.removed) - _skipped(before, row)
    if purged > 0:
        state.note_gone(0, 0, purged, observation.now)


def _skipped(before: Consumer, row: Consumer) -> int:
    """At most so many are still stored that a purge made the consumer pass.

    Before 2.10 a purge by subject moves a consumer of more subjects to the end.
    """
    config = row.config
    if config is None or row.delivered_stream_seq == before.delivered_stream_seq:
        return 0
    wide = is_unfiltered(config) or any("*" in each or ">" in each for each in config.filters)
    return max(0, row.delivered_stream_seq - row.stream_first_seq + 1) if wide else 0


def _settled(
    state: ConsumerState, before: Consumer, row: Consumer, view: StreamView, *, refiltered: bool
) -> int:
    """Nothing up to this sequence waits."""
    found = max(row.stream_first_seq - 1, row.delivered_stream_seq)
    if refiltered:
        return found
    if row.num_pending == 0 and before.leader == row.leader:
        last = view.row.last_seq if row.leader == view.row.leader else view.last_seq_before
        found = max(found, last)
    return max(state.position, found)
