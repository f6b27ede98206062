"""Reuses the result of the previous poll for idle and unchanged consumers.

Most consumers of a large system are idle or have a backlog without a worker. Their results stay
the same but for ages. Every other consumer gets a full evaluation.
"""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from exporter.model import Consumer
from exporter.signals import ack_floor
from exporter.signals.conditions.evidence import Evidence
from exporter.signals.conditions.limits import Limits
from exporter.signals.conditions.ratios import all_conditions, lowest_share, update_headroom
from exporter.signals.conditions.rules import seconds_to_deadlines
from exporter.signals.delivery_stall import known_while_idle
from exporter.signals.events_input import EventsInput
from exporter.signals.lag import lag_seconds
from exporter.signals.loss.counters import nothing_missing
from exporter.signals.results import ConsumerSignals
from exporter.signals.retention import headroom_ratio, headroom_seconds
from exporter.signals.state import NEVER, ConsumerState, Observation, StreamView
from exporter.signals.verdict import Verdict
from exporter.signals.window import WINDOW_SECONDS

# Differences of large floats are not exact: this close to a deadline, evaluate in full.
_SLACK_SECONDS = 0.001


def idle_signals(state: ConsumerState, row: Consumer, view: StreamView) -> ConsumerSignals | None:
    """The previous result of an idle consumer; None if a value changed."""
    before = state.row
    if (
        before is None
        or row.num_pending
        or row.num_ack_pending
        or row.paused
        or (row is not before and not _same_position(before, row))
        or not view.steady
        or (view.row.last_seq > state.position and not view.gapless)
    ):
        return None
    state.row = row
    if view.last_seq_before > state.finished:
        if state.finished > state.settled:
            state.settled = state.finished  # nothing waited in the previous poll either
        state.finished = view.last_seq_before
    return state.result


def unchanged_signals(
    state: ConsumerState,
    row: Consumer,
    view: StreamView,
    now: float,
    events: EventsInput,
    limits: Limits,
) -> ConsumerSignals | None:
    """The previous result with new ages; None if more than ages may have changed."""
    before = state.row
    # Sources return the same object for a row without changes: nothing to compare.
    if row is not before and (
        before is None or not _same_position(before, row) or not _same_backlog(before, row)
    ):
        return None
    if not (view.still or _stream_unchanged(state, row, view)) or _has_new_events(state, events):
        return None
    return _with_new_ages(state, row, view, now, limits)


def _same_position(before: Consumer, row: Consumer) -> bool:
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


def _same_backlog(before: Consumer, row: Consumer) -> bool:
    return (
        row.num_pending == before.num_pending
        and row.num_ack_pending == before.num_ack_pending
        and row.ack_floor_stream_seq == before.ack_floor_stream_seq
        and row.paused == before.paused
        and row.push_bound == before.push_bound
        and (row.num_waiting > 0) == (before.num_waiting > 0)
        # It moves with in-progress acks.
        and (row.num_ack_pending == 0 or row.last_delivery == before.last_delivery)
    )


def _stream_unchanged(state: ConsumerState, row: Consumer, view: StreamView) -> bool:
    """The stream may grow, but no conclusion about it may change."""
    if not view.steady or view.removed or view.shape is not state.shape:
        return False
    if not state.counts_messages:
        return True
    reached, before_first = row.delivered_stream_seq, row.stream_first_seq - 1
    if before_first > reached:
        reached = before_first
    if state.nothing_missing and row.num_pending >= view.row.last_seq - reached:
        return True  # as for nearly all, without the comparisons of a full evaluation
    return state.nothing_missing is nothing_missing(state, row, view, reached)


def _has_new_events(state: ConsumerState, events: EventsInput) -> bool:
    """Whether events add something to the row."""
    key, newest = state.key, state.window.points[-1]
    if not (events.lags or events.acks or events.naks):
        return newest.acks is not None or newest.naks != 0
    return (
        key in events.lags
        or events.acks.get(key) != newest.acks
        or events.naks.get(key, 0) != newest.naks
    )


def _with_new_ages(
    state: ConsumerState, row: Consumer, view: StreamView, now: float, limits: Limits
) -> ConsumerSignals | None:
    result, floor, deliveries = state.result, state.floor, state.deliveries
    if result is None or floor is None or deliveries is None:
        return None
    state.row = row
    # In full instead of in functions: this runs for most consumers of a large system.
    stalled = floor_stalled = 0.0
    if row.num_pending == 0 or row.paused:  # then the stall starts now
        deliveries.since = deliveries.new_since = deliveries.pulled = now
    else:
        if row.num_waiting > 0:
            deliveries.pulled = now
        if now > deliveries.since:
            stalled = now - deliveries.since
    if row.num_ack_pending > 0:
        if now > floor.since:
            floor_stalled = now - floor.since
    else:
        if row.ack_floor_consumer_seq >= row.delivered_consumer_seq:
            floor.since = now
        if row.num_pending == 0 and view.last_seq_before > state.finished:
            state.finished = view.last_seq_before
    unfinished, stream = result.unfinished_seq, view.row
    lag, lag_exact = lag_seconds(unfinished, view.times, stream, view.server_now)
    ahead = row.delivered_stream_seq - stream.last_seq
    left = headroom_seconds(lag, stream.config)
    ratio = headroom_ratio(unfinished, stream) if view.near_limit else None
    if left is not None or ratio is not None or state.headroom is not None:
        update_headroom(state, lowest_share(left, ratio, stream.config), now, limits)
    return replace(
        result,
        conditions=all_conditions(state) if state.ratios else state.conditions,
        lag=lag,
        lag_exact=lag_exact,
        blocking_stream_seq=None,
        headroom_seconds=left,
        headroom_ratio=ratio,
        stalled=stalled,
        floor_stalled=floor_stalled,
        ahead=ahead if ahead > 0 else None,
    )


def keep_result(
    state: ConsumerState,
    before: Consumer | None,
    observation: Observation,
    result: ConsumerSignals,
    evidence: Evidence | None,
) -> None:
    """After a full evaluation: keeps what the next poll may reuse."""
    state.idle = _stays_idle(state, result, observation.now)
    state.valid_until = NEVER
    if state.idle:
        state.result = result
        state.deliveries = known_while_idle(state.deliveries)
        if ack_floor.holds_nothing(observation.row):
            state.floor = None  # the same for the ack floor
        return
    if (
        before is not None
        and evidence is not None
        and (state.trend is None or state.trend.backlog[-1] == evidence.now.backlog)
        and _was_unchanged(before, observation.row, evidence)
    ):
        state.valid_until = observation.now + _seconds_unchanged(state, observation, evidence)
    state.result = result if state.valid_until > observation.now else None


def _stays_idle(state: ConsumerState, result: ConsumerSignals, now: float) -> bool:
    """Whether time alone cannot change the result."""
    if result.verdict is not Verdict.IDLE or result.ahead is not None:
        return False  # `ahead` changes with the stream alone
    if now - state.lost_bounded <= WINDOW_SECONDS:
        return False  # the count will become exact
    if state.nothing_missing and now - state.redelivered_bounded <= WINDOW_SECONDS:
        return False
    return state.counts is None or now - state.counts.bounded > WINDOW_SECONDS


def _was_unchanged(before: Consumer, row: Consumer, evidence: Evidence) -> bool:
    """Whether nothing changed since the previous poll and the result needs only this row."""
    first, newest, now = evidence.past[0], evidence.past[-1], evidence.now
    return (
        # Each poll without it makes a count inexact from then on.
        row.config is not None
        and _same_position(before, row)
        and _same_backlog(before, row)
        and now.same_values(newest)
        # The redelivery cause depends on more than this row.
        and now.redeliveries == first.redeliveries
        # The start of a consumer that never acked depends on its stream.
        and (row.num_ack_pending == 0 or row.ack_floor_consumer_seq > 0)
    )


def _seconds_unchanged(state: ConsumerState, observation: Observation, evidence: Evidence) -> float:
    """How long only ages change."""
    now, points = observation.now, evidence.past
    left = seconds_to_deadlines(evidence)
    left.append(state.redelivered_bounded + WINDOW_SECONDS - now)
    left.append(state.lost_bounded + WINDOW_SECONDS - now)
    if state.counts is not None:
        left.append(state.counts.bounded + WINDOW_SECONDS - now)
    if len(points) > 1:
        left.append(points[1].at + WINDOW_SECONDS - now)  # then the window drops its oldest point
    return min([one for one in left if one > -_SLACK_SECONDS], default=inf) - _SLACK_SECONDS
