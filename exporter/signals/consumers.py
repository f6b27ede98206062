"""All signals of one consumer."""

from __future__ import annotations

from msgspec import Struct

from exporter import catalog
from exporter.model import MALFORMED, Consumer
from exporter.signals import ack_floor, delivery_stall
from exporter.signals.conditions.poll import (
    Stalls,
    judge_poll,
    judge_without_leader,
    update_stalls,
)
from exporter.signals.conditions.ratios import (
    Shares,
    all_conditions,
    lowest_share,
    update_ratios,
)
from exporter.signals.conditions.words import Reason, Unjudged, unjudged
from exporter.signals.events_input import ConsumerKey
from exporter.signals.lag import (
    first_unfinished,
    is_unfinished,
    lag_seconds,
    measurement_holds,
)
from exporter.signals.loss import accounting
from exporter.signals.loss.counters import update_counters
from exporter.signals.redelivery_cause import Cause, redelivery_cause
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.state import NEVER, ConsumerState, Observation, StreamView
from exporter.signals.unchanged import keep_result
from exporter.signals.verdict import Verdict
from exporter.signals.window import WINDOW_SECONDS, Point, redelivery_ratio

__all__ = ["ConsumerSignals", "bare_signals", "consumer_signals"]

_FIRST_POLL = unjudged(Reason.ONE_POLL)


def bare_signals(state: ConsumerState, row: Consumer, now: float) -> ConsumerSignals:
    """For a consumer without a leader, or with a stream that has none: nothing new is known."""
    state.result, state.idle, state.valid_until = None, False, NEVER
    missing = judge_without_leader(state, row, now)
    gap, deliveries, ratio = ack_floor.gaps(row) if row.up else (None, None, None)
    if not row.up:
        _set_verdict(state, None if row.reason == MALFORMED else Verdict.NO_LEADER, now)
    elif state.verdict is Verdict.NO_LEADER:
        _set_verdict(state, None, now)
    return ConsumerSignals(
        state.redeliveries,
        state.total(catalog.CONSUMER_RECREATED),
        state.total(catalog.CONSUMER_LEADER_CHANGES),
        state.verdict,
        state.verdict_since,
        ack_floor_gap=gap,
        ack_floor_gap_deliveries=deliveries,
        ack_floor_gap_ratio=ratio,
        conditions=all_conditions(state),
        unjudged=_without_held(state, missing),
    )


def _without_held(state: ConsumerState, missing: Unjudged) -> Unjudged:
    """A condition on a share that held goes on while it cannot be judged."""
    if not missing or not state.ratios:
        return missing
    held = dict(state.ratios)
    return tuple(each for each in missing if each[0] not in held)


class _Derived(Struct, frozen=True, gc=False):
    """Values of this poll that several signals need."""

    stalled: float
    floor_stalled: float
    floor_exhausted: int | None
    point: Point
    unfinished: int | None


def consumer_signals(state: ConsumerState, observation: Observation) -> ConsumerSignals:
    first_seen = state.row is None
    before = update_counters(state, observation)
    stalls = update_stalls(state, observation, first_seen=first_seen)
    derived = _derive(state, observation, stalls)
    evidence, missing, found = None, _FIRST_POLL, None
    if state.polls > 1:
        exhausted = bool(derived.floor_exhausted)
        judged = judge_poll(
            state,
            observation,
            before,
            stalls,
            derived.point,
            derived.unfinished,
            exhausted=exhausted,
        )
        evidence, missing, found = judged
    _set_verdict(state, found, observation.now)
    result = _result(state, observation, derived, before, missing)
    keep_result(state, before, observation, result, evidence)
    return result


def _derive(state: ConsumerState, observation: Observation, stalls: Stalls) -> _Derived:
    row, now, (floor, deliveries) = observation.row, observation.now, stalls
    exhausted = ack_floor.floor_exhausted(floor, row, state.passed)
    point = _point(state, observation)
    state.window.note(point)
    return _Derived(
        delivery_stall.stalled_seconds(deliveries, row, now),
        ack_floor.stalled_seconds(floor, row, now),
        exhausted,
        point,
        first_unfinished(
            row, state.finished, floor_exhausted=bool(exhausted), began=_began(state, observation)
        ),
    )


def _began(state: ConsumerState, observation: Observation) -> int | None:
    """Sequence up to which a consumer that never acked certainly received nothing.

    None where the consumer's own sequences show it: each delivery moved its position by one.
    """
    row, view = observation.row, observation.view
    if row.num_ack_pending == 0 or row.ack_floor_consumer_seq > 0:
        return None
    if view.gapless and state.by_position(row, view):
        return None
    if row.config is None or row.config.deliver_policy != "new" or row.created is None:
        return 0
    since = view.times.stored_since(row.created.timestamp(), view.row)
    return view.row.last_seq - since


def _point(state: ConsumerState, observation: Observation) -> Point:
    row, events = observation.row, observation.events
    lost = upper = 0
    # As for most consumers, nothing was ever counted.
    if state.events is not None and not observation.view.shape.overwrites:
        lost, upper = state.lost, state.lost_upper - state.unexplained
    return Point(
        observation.now,
        row.delivered_consumer_seq,
        state.redeliveries,
        lost,
        row.num_pending + row.num_ack_pending,
        row.ack_floor_consumer_seq,
        # Most systems have none: no lookup then, here and below.
        events.acks.get(state.key) if events.acks else None,
        events.naks.get(state.key, 0) if events.naks else 0,
        upper,
        row.num_ack_pending,
    )


def _set_verdict(state: ConsumerState, found: Verdict | None, now: float) -> None:
    if found is not state.verdict:
        state.verdict, state.verdict_since = found, now


def _result(
    state: ConsumerState,
    observation: Observation,
    derived: _Derived,
    before: Consumer | None,
    missing: Unjudged,
) -> ConsumerSignals:
    row, now, view, first = (
        observation.row,
        observation.now,
        observation.view,
        state.window.points[0],
    )
    can_lose, counted = not view.shape.overwrites, state.nothing_missing
    lag, lag_exact, blocking = _lag(state.key, observation, derived)
    left = headroom_seconds(lag, view.row.config)
    ratio = headroom_ratio(derived.unfinished, view.row) if view.near_limit else None
    if state.polls > 1:
        _update_ratios(state, observation, derived, left, ratio)
    recreated, moved, lost, upper, purged = state.totals
    return ConsumerSignals(
        state.redeliveries,
        recreated,
        moved,
        state.verdict,
        state.verdict_since,
        redelivery_ratio(first, derived.point),
        int(_redeliveries_are_exact(state, row, now)),
        _cause(state, observation, derived)
        if derived.point.redeliveries > first.redeliveries
        else None,
        lost if can_lose else None,
        purged if can_lose else None,
        accounting.waiting_loss(row) if can_lose and counted else None,
        int(now - state.lost_bounded > WINDOW_SECONDS) if can_lose else None,
        lag,
        lag_exact,
        left,
        ratio,
        derived.stalled,
        derived.floor_stalled,
        derived.floor_exhausted,
        _ahead(before, view),
        blocking,
        derived.unfinished,
        *ack_floor.gaps(row),
        all_conditions(state),
        _without_held(state, missing),
        upper if can_lose else None,
    )


def _update_ratios(
    state: ConsumerState,
    observation: Observation,
    derived: _Derived,
    left: float | None,
    ratio: float | None,
) -> None:
    share = lowest_share(left, ratio, observation.view.row.config)
    listening = state.key[0] in observation.events.listening
    exhausted = bool(derived.floor_exhausted)
    update_ratios(
        state, observation, Shares(derived.point, share, exhausted, listening, observation.limits)
    )


def _cause(state: ConsumerState, observation: Observation, derived: _Derived) -> Cause | None:
    listening = state.key[0] in observation.events.listening
    past, row = state.window.points, observation.row
    return redelivery_cause(past, derived.point, row.num_redelivered, listening=listening)


def _redeliveries_are_exact(state: ConsumerState, row: Consumer, now: float) -> bool:
    """Whether the count is exact over the whole window, and so are its rate and ratio."""
    if accounting.never_redelivers(row.config):
        return True
    if state.nothing_missing and now - state.redelivered_bounded > WINDOW_SECONDS:
        return True
    counts = state.counts
    if counts is None or counts.count.deliveries != row.delivered_consumer_seq:
        return False
    return now - counts.bounded > WINDOW_SECONDS


def _lag(
    key: ConsumerKey, observation: Observation, derived: _Derived
) -> tuple[float | None, int | None, int | None]:
    """The lag, whether it comes from the message itself, and the sequence of that message."""
    unfinished, view, lags = derived.unfinished, observation.view, observation.events.lags
    measurement = lags.get(key) if lags and unfinished is not None else None
    if (
        measurement is not None
        and unfinished is not None
        and measurement_holds(measurement, unfinished)
        and is_unfinished(
            measurement,
            unfinished,
            observation.row,
            gapless=view.gapless or view.acks_remove,
        )
        # Behind an exhausted message, the first message in flight is unknown.
        and not (derived.floor_exhausted and observation.row.num_ack_pending > 0)
    ):
        return max(0.0, view.server_now - measurement.stored), 1, measurement.seq
    return *lag_seconds(unfinished, view.times, view.row, view.server_now), None


def _ahead(before: Consumer | None, view: StreamView) -> int | None:
    """Compares with the previous poll: the requests of one poll are made at different times."""
    if before is None or before.delivered_stream_seq <= view.row.last_seq:
        return None
    return before.delivered_stream_seq - view.row.last_seq
