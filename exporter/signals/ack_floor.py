"""Does the ack floor stand still, and does live work hold it or a message that was given up?"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from exporter.model import Consumer, ConsumerConfig


class FloorState(Struct, gc=False):
    """Since when the floor stands where it stands."""

    consumer_seq: int
    stream_seq: int
    since: float
    deliveries: int  # delivered.consumer_seq at that time
    given_up: bool = False  # an advisory named the message that holds it


def next_floor_state(
    track: FloorState | None, row: Consumer, now: float, given_up: Collection[int] = ()
) -> FloorState:
    """The floor may also go back (an R1 server killed): that is a movement like any other.

    `given_up`: the stream sequences of messages that the server gave up, as far as heard.
    """
    if track is None or _moved(track, row) or holds_nothing(row):
        track = FloorState(
            row.ack_floor_consumer_seq, row.ack_floor_stream_seq, now, row.delivered_consumer_seq
        )
    if given_up and row.ack_floor_stream_seq + 1 in given_up:
        track.given_up = True  # remembered: only the latest are told
    return track


def _moved(track: FloorState, row: Consumer) -> bool:
    return (
        track.stream_seq != row.ack_floor_stream_seq
        or track.consumer_seq != row.ack_floor_consumer_seq
    )


def holds_nothing(row: Consumer) -> bool:
    """Nothing unacked and nothing left behind: an idle floor is not a stalled one."""
    return row.num_ack_pending == 0 and row.ack_floor_consumer_seq >= row.delivered_consumer_seq


def went_back(before: Consumer, row: Consumer) -> bool:
    """A server that was killed forgets acks; messages are unacked again without being sent."""
    return (
        row.ack_floor_consumer_seq < before.ack_floor_consumer_seq
        or row.ack_floor_stream_seq < before.ack_floor_stream_seq
    )


def stalled_seconds(track: FloorState, row: Consumer, now: float) -> float:
    """Time since the floor last moved while something is unacked, else 0."""
    return now - track.since if row.num_ack_pending > 0 and now > track.since else 0.0


def floor_exhausted(track: FloorState, row: Consumer, now: float) -> int | None:
    """1 when messages that ran out of max_deliver hold the floor; None without max_deliver."""
    config = row.config
    if config is None or config.max_deliver is None or config.ack_policy == "none":
        return None
    if row.ack_floor_consumer_seq >= row.delivered_consumer_seq:
        return 0
    if row.delivered_stream_seq < row.stream_first_seq:
        return 0  # all that was ever delivered has left the stream
    if track.given_up:
        return 1
    if config.max_deliver > 1 and row.num_redelivered == 0:
        return 0  # a message given up stays in the server's list of redelivered ones
    if row.num_ack_pending == 0:
        # Everything delivered was acked or given up, and still the floor lies behind.
        return 1
    given_up_after = whole_retry_seconds(config)
    went_on = row.delivered_consumer_seq > track.deliveries
    return int(given_up_after is not None and went_on and now - track.since > given_up_after)


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
    """From a message's first delivery until the server gives it up."""
    horizon = config.retry_horizon_seconds
    if horizon is None or config.ack_wait_seconds is None:
        return None
    last_wait = config.backoff_seconds[-1] if config.backoff_seconds else config.ack_wait_seconds
    return horizon + last_wait
