"""Conditions on shares: of the deliveries, of max_ack_pending, of the retention.

They warn before work stops. Each poll judges them, but for the headroom from one row alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from exporter.model import Consumer, ConsumerConfig, StreamConfig
from exporter.signals.ack_floor import exhausted_messages, gap_deliveries
from exporter.signals.conditions.held import Held, still_held
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.conditions.words import Condition
from exporter.signals.state import ConsumerState, Headroom, Observation
from exporter.signals.window import Point, finished
from exporter.tempo import scaled

# One that holds needs so much less to go on: shares of a few minutes move by chance.
_HELD = 0.5
_LATE_HELD = 0.8
# The trend of the headroom is judged over this time.
_TREND_SECONDS = scaled(300.0)
# Naks explain so many of the redeliveries.
_NAKED = 0.8
# So many of the new messages must be finished while naks are part of the work.
_WORKED_OFF = 0.5
# A message that comes again no faster than this waits for something, it does not spin.
_GENTLE_SECONDS = scaled(30.0, 0.0)

_GRAVITY = {word: rank for rank, word in enumerate(Condition)}


class Shares(Struct, frozen=True, gc=False):
    """One poll, besides the row."""

    point: Point
    headroom: float | None  # share of the retention that is left
    floor_exhausted: bool
    listening: bool  # nak advisories are received
    limits: Limits = DEFAULT_LIMITS


def update_ratios(state: ConsumerState, observation: Observation, shares: Shares) -> None:
    row = observation.row
    if row.config is None:
        return  # what held may still hold
    found = (*_found(state, row, row.config, shares),)
    if found or state.ratios:
        state.ratios = still_held(state.ratios, found)


def update_headroom(
    state: ConsumerState, left: float | None, now: float, limits: Limits = DEFAULT_LIMITS
) -> None:
    """For a poll in which only ages changed."""
    least = limits.retention_headroom_ratio
    if state.headroom is None and (left is None or left >= least):
        return  # as for most consumers
    others = tuple(each for each in state.ratios if each[0] != Condition.HEADROOM_LOW)
    found = (*others, *_of_headroom(state, left, now, least))
    if found != state.ratios:
        state.ratios = still_held(state.ratios, found)


def all_conditions(state: ConsumerState) -> Held:
    """The gravest first."""
    if not state.ratios:
        return state.conditions
    both = (*state.conditions, *state.ratios)
    return tuple(sorted(both, key=lambda each: _GRAVITY[Condition(each[0])]))


def lowest_share(
    seconds: float | None, ratio: float | None, config: StreamConfig | None
) -> float | None:
    """What is left of the retention: by age, by size, or the less of both. Buckets overwrite."""
    if config is None or config.kind != "stream":
        return None
    if seconds is None or not config.max_age_seconds:
        return ratio
    by_age = seconds / config.max_age_seconds
    return by_age if ratio is None else min(by_age, ratio)


def _found(
    state: ConsumerState, row: Consumer, config: ConsumerConfig, shares: Shares
) -> Iterator[tuple[str, float]]:
    now, first = shares.point.at, state.window.points[0]
    if shares.headroom is not None or state.headroom is not None:
        least = shares.limits.retention_headroom_ratio
        yield from _of_headroom(state, shares.headroom, now, least)
    if row.num_redelivered > row.num_ack_pending and exhausted_messages(row):
        yield Condition.MESSAGES_ABANDONED, now
    if shares.point.redeliveries > first.redeliveries:
        yield from _of_redeliveries(state, first, shares, config)
    if row.num_ack_pending:
        yield from _of_unacked(row, config, shares)
    if row.paused and row.num_pending:
        yield Condition.PAUSED_BACKLOG, now


def _of_headroom(
    state: ConsumerState, left: float | None, now: float, least: float
) -> Iterator[tuple[str, float]]:
    """Low and falling, or nothing left. A consumer that stays far behind on purpose is not falling."""
    if left is None or left >= least:
        state.headroom = None
        return
    trend = state.headroom
    if trend is None:
        trend = state.headroom = Headroom(now, now, left)
    elif now - trend.at >= _TREND_SECONDS or now < trend.at:
        trend.falls = left < trend.left
        trend.at, trend.left = now, left
        if not trend.falls:
            trend.since = now
    if trend.falls or left <= 0.0:
        yield Condition.HEADROOM_LOW, trend.since


def _of_redeliveries(
    state: ConsumerState, first: Point, shares: Shares, config: ConsumerConfig
) -> Iterator[tuple[str, float]]:
    point, limits, held = shares.point, shares.limits, {word for word, _ in state.ratios}
    deliveries = point.deliveries - first.deliveries
    if deliveries < limits.deliveries_least:
        return
    naks = point.naks - first.naks
    most = limits.ack_wait_ratio * (config.ack_wait_seconds or 0.0)
    late = _acks_are_late(state, point, most, held=Condition.ACKS_LATE in held)
    if late and not naks:
        yield Condition.ACKS_LATE, point.at
    if _is_worked_off(state, first, shares):
        return
    if naks > _least(limits.nak_ratio, Condition.NAK_LOOP in held) * deliveries:
        yield Condition.NAK_LOOP, point.at
    least = _least(limits.redelivery_ratio, Condition.REDELIVERY_HIGH in held)
    if not (late and not naks) and point.redeliveries - first.redeliveries > least * deliveries:
        yield Condition.REDELIVERY_HIGH, point.at


def _least(ratio: float, held: bool) -> float:
    return _HELD * ratio if held else ratio


def _acks_are_late(state: ConsumerState, now: Point, most: float, *, held: bool) -> bool:
    """Little's law: mean time to ack = messages in flight / rate of deliveries."""
    if not most:
        return False
    points = (*state.window.points, now)
    in_flight = sum(before.unacked * (after.at - before.at) for before, after in pairwise(points))
    deliveries = now.deliveries - points[0].deliveries
    return in_flight / deliveries > (_LATE_HELD * most if held else most)


def _is_worked_off(state: ConsumerState, first: Point, shares: Shares) -> bool:
    """Naks are part of the work, as with a delay that makes a schedule: they explain what comes again,
    messages are finished as new ones come, none spins, and the backlog does not grow."""
    now = shares.point
    repeats = now.redeliveries - first.redeliveries
    if not shares.listening or now.naks - first.naks < _NAKED * repeats:
        return False
    new, done = now.first_deliveries - first.first_deliveries, finished(first, now)
    spins = repeats * _GENTLE_SECONDS > (new + now.unacked) * (now.at - first.at)
    grows = any(word == Condition.FALLING_BEHIND for word, _ in state.conditions)
    return done > 0 and done >= _WORKED_OFF * new and not spins and not grows


def _of_unacked(
    row: Consumer, config: ConsumerConfig, shares: Shares
) -> Iterator[tuple[str, float]]:
    most, gap = config.max_ack_pending, gap_deliveries(row)
    limits, now = shares.limits, shares.point.at
    if not shares.floor_exhausted and (
        gap > limits.ack_floor_gap_deliveries
        or (most and gap > limits.ack_floor_gap_windows * most)
    ):
        yield Condition.ACK_FLOOR_GAP_HIGH, now
    if (
        most
        and most >= limits.ack_pending_window_least
        and row.num_ack_pending >= limits.ack_pending_ratio * most
        and not config.thresholds.limit("outstanding-ack-critical")
    ):
        yield Condition.ACK_PENDING_HIGH, now
