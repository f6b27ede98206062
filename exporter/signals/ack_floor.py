"""Ack floor: its gap, how long it is unchanged, and whether exhausted messages hold it."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from exporter.model import Consumer, ConsumerConfig


class FloorState(Struct, gc=False):
    """Since when the floor is unchanged."""

    consumer_seq: int
    stream_seq: int
    since: float
    deliveries: int  # delivered.consumer_seq at that time
    given_up: bool = False  # an advisory named the message that holds the floor
    advisories: bool = False  # the last poll received advisories of the account


def next_floor_state(
    state: FloorState | None,
    row: Consumer,
    now: float,
    given_up: Collection[int] = (),
    *,
    advisories: bool = False,
) -> FloorState:
    """A floor that goes back (an R1 server was killed) counts as moved.

    `given_up`: stream sequences that ran out of max_deliver, as advisories reported.
    `advisories`: whether they are received now.
    """
    if state is None or _moved(state, row) or holds_nothing(row):
        state = FloorState(
            row.ack_floor_consumer_seq, row.ack_floor_stream_seq, now, row.delivered_consumer_seq
        )
    if given_up and row.ack_floor_stream_seq + 1 in given_up:
        state.given_up = True  # kept in the state: `given_up` holds only the last ones
    state.advisories = advisories
    return state


def _moved(state: FloorState, row: Consumer) -> bool:
    return (
        state.stream_seq != row.ack_floor_stream_seq
        or state.consumer_seq != row.ack_floor_consumer_seq
    )


def holds_nothing(row: Consumer) -> bool:
    """Whether nothing is unacked and the floor is at the last delivery: idle, not stalled."""
    return row.num_ack_pending == 0 and row.ack_floor_consumer_seq >= row.delivered_consumer_seq


def went_back(before: Consumer, row: Consumer) -> bool:
    """Whether the floor went back: a killed server forgets acks."""
    return (
        row.ack_floor_consumer_seq < before.ack_floor_consumer_seq
        or row.ack_floor_stream_seq < before.ack_floor_stream_seq
    )


def stalled_seconds(state: FloorState, row: Consumer, now: float) -> float:
    """Time since the floor last moved while something is unacked, else 0."""
    return now - state.since if row.num_ack_pending > 0 and now > state.since else 0.0


def floor_exhausted(state: FloorState, row: Consumer, now: float) -> int | None:
    """1 when messages that ran out of max_deliver hold the floor; None without max_deliver."""
    config = row.config
    if config is None or config.max_deliver is None or config.ack_policy == "none":
        return None
    if row.ack_floor_consumer_seq >= row.delivered_consumer_seq:
        return 0
    if row.delivered_stream_seq < row.stream_first_seq:
        return 0  # every delivered message was removed from the stream
    if state.given_up:
        return 1
    if config.max_deliver > 1 and row.num_redelivered == 0:
        return 0  # an exhausted message stays in num_redelivered
    if row.num_ack_pending == 0:
        # Every delivery was acked or exhausted, and the floor is still behind.
        return 1
    if state.advisories and row.num_redelivered <= row.num_ack_pending:
        # No advisory named it: it may wait out the delay of a nak, or its worker extends ack_wait.
        return 0
    given_up_after = whole_retry_seconds(config)
    went_on = row.delivered_consumer_seq > state.deliveries
    return int(given_up_after is not None and went_on and now - state.since > given_up_after)


def gap(row: Consumer) -> int:
    """Stream sequences between the ack floor and the last delivery; 0 when nothing is unacked.

    Servers before 2.14 report a floor of 0 until the first ack. Any server may report a floor
    below the first message of the stream.
    """
    if row.num_ack_pending == 0:
        return 0
    if row.ack_floor_consumer_seq == 0 and row.ack_floor_stream_seq == 0:
        return row.delivered_consumer_seq
    floor = max(row.ack_floor_stream_seq, row.stream_first_seq - 1)
    return max(0, row.delivered_stream_seq - floor)


def gap_deliveries(row: Consumer) -> int:
    """Deliveries between the ack floor and the last delivery; 0 when nothing is unacked."""
    if row.num_ack_pending == 0:
        return 0
    return max(0, row.delivered_consumer_seq - row.ack_floor_consumer_seq)


def gap_ratio(row: Consumer) -> float | None:
    """gap_deliveries as a share of max_ack_pending; None when that is unlimited."""
    limit = row.config.max_ack_pending if row.config else None
    return gap_deliveries(row) / limit if limit else None


def whole_retry_seconds(config: ConsumerConfig) -> float | None:
    """Time from the first delivery of a message until the server gives it up."""
    horizon = config.retry_horizon_seconds
    if horizon is None or config.ack_wait_seconds is None:
        return None
    last_wait = config.backoff_seconds[-1] if config.backoff_seconds else config.ack_wait_seconds
    return horizon + last_wait
