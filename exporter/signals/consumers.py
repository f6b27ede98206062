"""All signals of one consumer."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from exporter import catalog
from exporter.model import MALFORMED, Consumer
from exporter.signals import ack_floor, delivery_stall, loss_accounting
from exporter.signals.counter_update import update_counters
from exporter.signals.events_input import ConsumerKey
from exporter.signals.lag import first_unfinished, lag_seconds, measurement_holds
from exporter.signals.redelivery_cause import Cause, redelivery_cause
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.state import NEVER, ConsumerState, Observation, StreamView
from exporter.signals.unchanged import keep_result
from exporter.signals.verdict import Evidence, Verdict, verdict
from exporter.signals.window import WINDOW_SECONDS, Point, redelivery_ratio

__all__ = ["ConsumerSignals", "bare_signals", "consumer_signals"]


def bare_signals(state: ConsumerState, row: Consumer, now: float) -> ConsumerSignals:
    """For a consumer without a leader, or with a stream that has none: nothing new is known."""
    state.result, state.idle, state.valid_until = None, False, NEVER
    if not row.up:
        _set_verdict(state, None if row.reason == MALFORMED else Verdict.NO_LEADER, now)
    return ConsumerSignals(
        state.redeliveries,
        state.total(catalog.CONSUMER_RECREATED),
        state.total(catalog.CONSUMER_LEADER_CHANGES),
        state.verdict,
        state.verdict_since,
        ack_floor_gap=ack_floor.gap(row) if row.up else None,
        ack_floor_gap_deliveries=ack_floor.gap_deliveries(row) if row.up else None,
        ack_floor_gap_ratio=ack_floor.gap_ratio(row) if row.up else None,
    )


class _Derived(Struct, frozen=True, gc=False):
    """Values of this poll that several signals need."""

    stalled: float
    no_new: float
    floor_stalled: float
    floor_exhausted: int | None
    point: Point
    unfinished: int | None


def consumer_signals(state: ConsumerState, observation: Observation) -> ConsumerSignals:
    before = update_counters(state, observation)
    derived = _derive(state, observation)
    evidence = _evidence(state, observation.row, derived) if state.polls > 1 else None
    _set_verdict(state, None if evidence is None else verdict(evidence), observation.now)
    result = _result(state, observation, derived, before)
    keep_result(state, before, observation, result, evidence)
    return result


def _derive(state: ConsumerState, observation: Observation) -> _Derived:
    row, now = observation.row, observation.now
    given_up = observation.events.exhausted.get(state.key, ())
    listening = state.key[0] in observation.events.listening
    floor = state.floor = ack_floor.next_floor_state(
        state.floor, row, now, given_up, advisories=listening
    )
    exhausted = ack_floor.floor_exhausted(floor, row, now)
    deliveries = state.deliveries = delivery_stall.next_delivery_state(state.deliveries, row, now)
    point = _point(state, observation)
    state.window.note(point)
    return _Derived(
        delivery_stall.stalled_seconds(deliveries, row, now),
        now - deliveries.new_since if now > deliveries.new_since else 0.0,
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
    return Point(
        observation.now,
        row.delivered_consumer_seq,
        state.redeliveries,
        state.lost,
        row.num_pending + row.num_ack_pending,
        row.ack_floor_consumer_seq,
        events.acks.get(state.key),
        events.naks.get(state.key, 0),
    )


def _evidence(state: ConsumerState, row: Consumer, derived: _Derived) -> Evidence:
    config = row.config
    push = config is not None and config.kind == "push"
    deadline, without_pull, deliveries = delivery_stall.NO_WORKER_SECONDS, inf, state.deliveries
    # No deadline is shorter. A push consumer that is not bound needs no learned one.
    if derived.stalled > deadline and not push and deliveries is not None:
        deadline = delivery_stall.no_worker_deadline(deliveries)
        without_pull = delivery_stall.without_pull_seconds(deliveries, derived.point.at)
    # Positional here and below: keyword arguments take twice as long, for every consumer.
    return Evidence(
        row.paused,
        row.push_bound if push else row.num_waiting > 0,
        row.num_pending,
        row.num_ack_pending,
        config.max_ack_pending if config else None,
        config.ack_wait_seconds if config else None,
        derived.stalled,
        derived.no_new,
        derived.floor_stalled,
        bool(derived.floor_exhausted),
        state.window.points,
        derived.point,
        deadline,
        without_pull,
    )


def _set_verdict(state: ConsumerState, found: Verdict | None, now: float) -> None:
    if found is not state.verdict:
        state.verdict, state.verdict_since = found, now


def _result(
    state: ConsumerState, observation: Observation, derived: _Derived, before: Consumer | None
) -> ConsumerSignals:
    row, now, view, first = (
        observation.row,
        observation.now,
        observation.view,
        state.window.points[0],
    )
    can_lose, counted = not view.shape.overwrites, state.nothing_missing
    lag, lag_exact, blocking = _lag(state.key, observation, derived)
    return ConsumerSignals(
        state.redeliveries,
        state.total(catalog.CONSUMER_RECREATED),
        state.total(catalog.CONSUMER_LEADER_CHANGES),
        state.verdict,
        state.verdict_since,
        redelivery_ratio(first, derived.point),
        int(_redeliveries_are_exact(state, row, now)),
        _cause(state, observation, derived)
        if derived.point.redeliveries > first.redeliveries
        else None,
        state.lost if can_lose else None,
        state.purged,
        loss_accounting.waiting_loss(row) if can_lose and counted else None,
        int(counted and now - state.lost_bounded > WINDOW_SECONDS) if can_lose else None,
        lag,
        lag_exact,
        headroom_seconds(lag, view.row.config),
        headroom_ratio(derived.unfinished, view.row) if view.near_limit else None,
        derived.stalled,
        derived.floor_stalled,
        derived.floor_exhausted,
        _ahead(before, view),
        blocking,
        derived.unfinished,
        ack_floor.gap(row),
        ack_floor.gap_deliveries(row),
        ack_floor.gap_ratio(row),
    )


def _cause(state: ConsumerState, observation: Observation, derived: _Derived) -> Cause | None:
    listening = state.key[0] in observation.events.listening
    past, row = state.window.points, observation.row
    return redelivery_cause(past, derived.point, row.num_redelivered, listening=listening)


def _redeliveries_are_exact(state: ConsumerState, row: Consumer, now: float) -> bool:
    """Whether the count is exact over the whole window, and so are its rate and ratio."""
    if loss_accounting.never_redelivers(row.config):
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
    unfinished, view = derived.unfinished, observation.view
    measurement = observation.events.lags.get(key)
    if (
        measurement is not None
        and unfinished is not None
        and measurement_holds(measurement, unfinished)
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
