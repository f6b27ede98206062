"""Ack floor: its gap, how long it is unchanged, and whether exhausted messages hold it."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from exporter.model import Consumer


class FloorState(Struct, gc=False):
    """Since when the floor is unchanged."""

    consumer_seq: int
    stream_seq: int
    since: float
    given_up: bool = False  # an advisory named the message that holds the floor
    others: int = 0  # later messages that advisories named
    # Deliveries when none of them was unacked although the floor was behind.
    ended: int | None = None


def next_floor_state(
    state: FloorState | None,
    row: Consumer,
    now: float,
    given_up: Collection[int] = (),
    *,
    since: float | None = None,
) -> FloorState:
    """A floor that goes back (an R1 server was killed) counts as moved.

    `given_up`: stream sequences that ran out of max_deliver, as advisories reported.
    `since`: for the first poll of a consumer, since when its floor is unchanged.
    """
    if state is None or _moved(state, row) or holds_nothing(row):
        start = now if since is None else since
        state = FloorState(row.ack_floor_consumer_seq, row.ack_floor_stream_seq, start)
    if given_up:
        held = row.ack_floor_stream_seq + 1
        # Both are kept: `given_up` holds only the last ones.
        state.given_up = state.given_up or held in given_up
        state.others = max(state.others, sum(seq > held for seq in given_up))
    if row.num_ack_pending == 0:
        state.ended = row.delivered_consumer_seq if _ended_behind(row) else None
    elif state.ended is not None and row.num_ack_pending > row.delivered_consumer_seq - state.ended:
        state.ended = None  # a leader that stepped down had forgotten unacked messages
    return state


def _ended_behind(row: Consumer) -> bool:
    """Without unacked messages: whether the floor is behind because of exhausted ones.

    A new leader may not know of a purge. An exhausted message stays in num_redelivered.
    """
    if row.ack_floor_consumer_seq >= row.delivered_consumer_seq or row.config is None:
        return False
    return row.config.max_deliver == 1 or row.num_redelivered > 0


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


def floor_exhausted(state: FloorState, row: Consumer, passed: int = 0) -> int | None:
    """1 when messages that ran out of max_deliver hold the floor; None without max_deliver.

    Proved, not guessed: a message that waits out the delay of a nak holds the floor as long. A
    message that was redelivered and is not unacked ran out of max_deliver. It may be another one:
    `passed` are behind the floor, since it was last level with the deliveries.
    """
    config = row.config
    if config is None or config.max_deliver is None or config.ack_policy == "none":
        return None
    if row.ack_floor_consumer_seq >= row.delivered_consumer_seq:
        return 0
    if row.delivered_stream_seq < row.stream_first_seq:
        return 0  # every delivered message was removed from the stream
    if state.given_up or state.ended is not None:
        return 1
    return int(row.num_redelivered - passed - state.others > row.num_ack_pending)


def exhausted_messages(row: Consumer) -> int | None:
    """Messages that reached max_deliver and are still stored: at least. None without max_deliver."""
    most = row.config.max_deliver if row.config else None
    if not most or most == 1:
        return None
    # Fast path: most rows have no redelivered messages.
    return max(0, row.num_redelivered - row.num_ack_pending) if row.num_redelivered else 0


def gap(row: Consumer) -> int:
    """Stream sequences between the ack floor and the last delivery; 0 when nothing is unacked.

    Servers before 2.14 report a floor of 0 until the first ack. Any server may report a floor
    below the first message of the stream.
    """
    if row.num_ack_pending == 0:
        return 0
    if row.ack_floor_consumer_seq == 0 and row.ack_floor_stream_seq == 0:
        return row.delivered_consumer_seq
    return max(
        0, row.delivered_stream_seq - max(row.ack_floor_stream_seq, row.stream_first_seq - 1)
    )


def gap_deliveries(row: Consumer) -> int:
    """Deliveries between the ack floor and the last delivery; 0 when nothing is unacked."""
    found = row.delivered_consumer_seq - row.ack_floor_consumer_seq
    return found if found > 0 and row.num_ack_pending else 0


def gaps(row: Consumer) -> tuple[int, int, float | None]:
    """In sequences, in deliveries, and these as a share of max_ack_pending, unless unlimited."""
    limit = row.config.max_ack_pending if row.config is not None else None
    if row.num_ack_pending == 0:
        return 0, 0, 0.0 if limit else None
    deliveries = gap_deliveries(row)
    return gap(row), deliveries, deliveries / limit if limit else None
