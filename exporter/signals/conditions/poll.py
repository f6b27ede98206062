"""Judges one poll of a consumer, and keeps what the next poll needs of it."""

from __future__ import annotations

from math import inf

from exporter.model import MALFORMED, Consumer
from exporter.signals import ack_floor, delivery_stall
from exporter.signals.ack_floor import FloorState
from exporter.signals.conditions.backlog_trend import MIN_SECONDS, TREND_SECONDS, BacklogTrend
from exporter.signals.conditions.busy_hours import BusyHours
from exporter.signals.conditions.evidence import Evidence
from exporter.signals.conditions.first_sight import floor_unmoved_since, undelivered_since
from exporter.signals.conditions.judge import judge
from exporter.signals.conditions.rules import is_idle
from exporter.signals.conditions.words import Condition, Reason, Unjudged, unjudged
from exporter.signals.conditions.work_in_progress import at_work_until, next_work_state
from exporter.signals.delivery_stall import DeliveryState
from exporter.signals.retention import used_share
from exporter.signals.state import ConsumerState, Observation, StreamView
from exporter.signals.verdict import Verdict, verdict
from exporter.signals.window import Point

Stalls = tuple[FloorState, DeliveryState]


def update_stalls(state: ConsumerState, observation: Observation, *, first_seen: bool) -> Stalls:
    """Since when the ack floor is unchanged, and since when nothing is delivered."""
    row, now = observation.row, observation.now
    delivered = floor = None
    if first_seen:
        offset = observation.clocks.get(row.leader, 0.0)
        delivered = undelivered_since(row, observation.view, offset, now)
        floor = floor_unmoved_since(row, offset, now)
    exhausted = observation.events.exhausted
    given_up = exhausted.get(state.key, ()) if exhausted else ()
    state.floor = ack_floor.next_floor_state(state.floor, row, now, given_up, since=floor)
    if ack_floor.holds_nothing(row):
        state.passed = row.num_redelivered
    state.deliveries = delivery_stall.next_delivery_state(
        state.deliveries, row, now, since=delivered
    )
    return state.floor, state.deliveries


def judge_poll(
    state: ConsumerState,
    observation: Observation,
    before: Consumer | None,
    stalls: Stalls,
    point: Point,
    unfinished: int | None,
    *,
    exhausted: bool,
) -> tuple[Evidence | None, Unjudged, Verdict]:
    """`before`: the row of the previous poll; `stalls` and `point`: of this one."""
    row = observation.row
    if state.busy_hours is None:
        state.busy_hours = BusyHours.since(point.at)
    if before is not None and row.delivered_consumer_seq != before.delivered_consumer_seq:
        state.busy_hours.note_delivery(point.at)
    _update_trend(state, observation.view, row, point, unfinished)
    state.work = next_work_state(state.work, before, row, point)
    if is_surely_well(state, row, before, stalls, point):
        return None, (), Verdict.OK
    evidence = _gather(state, observation, before, stalls, point, exhausted=exhausted)
    state.conditions, missing = judge(evidence, state.conditions)
    found = verdict(state.conditions, paused=row.paused, idle=is_idle(evidence))
    return evidence, missing, found


def is_surely_well(
    state: ConsumerState, row: Consumer, before: Consumer | None, stalls: Stalls, point: Point
) -> bool:
    """Whether it got and finished messages since the last poll, so that no rule can hold.

    For most busy consumers: it is cheaper than the rules.
    """
    floor, deliveries = stalls
    first, now, trend = state.window.points[0], point.at, state.trend
    return (
        not state.conditions
        and point.redeliveries == first.redeliveries
        and point.lost == first.lost
        and point.lost_upper == first.lost_upper
        and before is not None
        and point.deliveries != before.delivered_consumer_seq
        and (deliveries.since == deliveries.new_since == now)
        and (row.num_ack_pending == 0 or floor.since == now)
        and (trend is None or (trend.since is None and _rising_since(trend, now) is None))
        and row.config is not None
        and not row.paused
    )


def _gather(
    state: ConsumerState,
    observation: Observation,
    before: Consumer | None,
    stalls: Stalls,
    point: Point,
    *,
    exhausted: bool,
) -> Evidence:
    row, limits = observation.row, observation.limits
    config = row.config
    floor, deliveries = stalls
    push = None if config is None else config.kind == "push"
    deadline, unpulled = delivery_stall.NO_WORKER_SECONDS, -inf
    # No deadline is shorter. A push consumer that is not bound needs no learned one.
    if row.num_pending and not push and point.at - deliveries.since > deadline:
        deadline, unpulled = delivery_stall.no_worker_deadline(deliveries), deliveries.pulled
    reachable, busy = row.push_bound if push else row.num_waiting > 0, False
    if row.num_pending and not reachable and state.busy_hours is not None:
        busy = state.busy_hours.share(deliveries.since) > limits.consumer_busy_ratio
    trend = state.trend
    # Positional, here and in other places: keyword arguments take twice as long, for every consumer.
    return Evidence(
        row.paused,
        push,
        reachable,
        row.num_pending,
        row.num_ack_pending,
        config.max_ack_pending if config else None,
        config.ack_wait_seconds if config else None,
        deliveries.since,
        deliveries.new_since,
        floor.since,
        exhausted,
        state.window.points,
        point,
        unpulled,
        deadline,
        *at_work_until(state.work, row),
        point.acks is not None or _would_show_work(before, row),
        None if trend is None else trend.since,
        None if trend is None else _rising_since(trend, point.at),
        (config.notes.long_jobs or 0.0) if config else 0.0,
        config.notes.idle_schedule if config else None,
        busy,
        limits,
    )


def _would_show_work(before: Consumer | None, row: Consumer) -> bool:
    """Whether a move of delivered.last_active would be seen: no delivery hides it."""
    return (
        before is not None
        and row.last_delivery is not None
        and row.delivered_consumer_seq == before.delivered_consumer_seq
    )


def _update_trend(
    state: ConsumerState, view: StreamView, row: Consumer, point: Point, unfinished: int | None
) -> None:
    """Only while there is a backlog."""
    if row.paused or (row.num_pending == 0 and not _holds_backlog(row)):
        state.trend = None
        return
    points = state.window.points
    if len(points) == 1 and (state.trend is None or point.at - points[0].at >= TREND_SECONDS):
        state.trend = None  # nothing changes: a backlog without a worker needs no trend
        return
    state.trend = state.trend or BacklogTrend()
    state.trend.note(
        point, points[0], lambda: used_share(unfinished, view.times, view.row, view.server_now)
    )


def _holds_backlog(row: Consumer) -> bool:
    """Without max_ack_pending, clients may hold all of the backlog."""
    if row.num_ack_pending == 0 or row.config is None:
        return False
    return row.config.max_ack_pending is None


def _rising_since(trend: BacklogTrend, now: float) -> float | None:
    start = trend.at[0]
    return start if now - start < MIN_SECONDS and trend.rises else None


def judge_without_leader(state: ConsumerState, row: Consumer, now: float) -> Unjudged:
    """Nothing new is known: what was true stays true, until a response shows otherwise."""
    known = tuple(each for each in state.conditions if each[0] != Condition.NO_LEADER)
    if row.up:
        state.conditions = known
        return unjudged(Reason.NO_STREAM, *dict(known))
    if row.reason == MALFORMED:
        return unjudged(Reason.MALFORMED, *dict(state.conditions))
    since = dict(state.conditions).get(Condition.NO_LEADER, now)
    state.conditions = ((Condition.NO_LEADER, since), *known)
    return unjudged(Reason.NO_LEADER, *dict(known))
