"""Whether workers extend ack_wait: they are at work on long jobs.

No field counts in-progress acks. They show in two places:

- delivered.last_active moves without a delivery. A nak with a delay moves it too, but only once
  per delivery: so two moves are needed.
- The server received more ack-type replies than explain the messages that were finished or refused.

A sample of an ack later than ack_wait is no sign: it may be a late ack that no redelivery preceded.
"""

from __future__ import annotations

from math import inf

from msgspec import Struct

from exporter.model import Consumer
from exporter.signals.window import Point
from exporter.tempo import scaled

# Acks are counted once a minute.
FRESH_SECONDS = scaled(90.0)
_FRESH_ACK_WAITS = 1.5
_MIN_SIGNS = 2


class Counted(Struct, frozen=True, gc=False):
    """A count of ack-type replies, with the values of the same poll."""

    acks: int
    deliveries: int
    redeliveries: int
    unacked: int
    naks: int


class WorkState(Struct, gc=False):
    signs: int = 0  # of in-progress acks, each fresh when the next one came
    at: float = -inf  # when the last sign was seen
    counted: Counted | None = None


def next_work_state(
    state: WorkState | None, before: Consumer | None, row: Consumer, now: Point
) -> WorkState | None:
    """`before`: the row of the previous poll. None while nothing is unacked."""
    if row.num_ack_pending == 0:
        return None
    shown = before is not None and _was_touched(before, row)
    if state is None and not shown and now.acks is None:
        return None
    state = state or WorkState()
    if now.acks is not None and (state.counted is None or state.counted.acks != now.acks):
        counted = Counted(now.acks, now.deliveries, now.redeliveries, row.num_ack_pending, now.naks)
        shown = shown or (state.counted is not None and _unexplained(state.counted, counted) > 0)
        state.counted = counted
    if shown:
        state.signs = state.signs + 1 if now.at <= fresh_until(state, row) else 1
        state.at = now.at
    return state


def _was_touched(before: Consumer, row: Consumer) -> bool:
    return (
        row.delivered_consumer_seq == before.delivered_consumer_seq
        and row.last_delivery != before.last_delivery
        and row.num_ack_pending == before.num_ack_pending  # else a message was given up
        and row.leader == before.leader
        and row.last_delivery is not None
        and before.last_delivery is not None
    )


def _unexplained(before: Counted, now: Counted) -> int:
    """Replies beyond one for each message that was finished, and one for each that was refused.

    Without advisories a refused message is like one whose ack_wait ended: redelivered. Where these
    are most of the replies, the rest says nothing: the counts are of different moments."""
    again = now.redeliveries - before.redeliveries
    finished = (now.deliveries - before.deliveries - again) - (now.unacked - before.unacked)
    replies, refused = now.acks - before.acks, max(again, now.naks - before.naks)
    return 0 if 2 * refused > replies else replies - finished - refused


def fresh_until(state: WorkState, row: Consumer) -> float:
    """A worker extends ack_wait before it ends."""
    wait = row.config.ack_wait_seconds if row.config else None
    return state.at + FRESH_SECONDS + _FRESH_ACK_WAITS * (wait or 0.0)


def at_work_until(state: WorkState | None, row: Consumer) -> tuple[float, float]:
    """Until when in-progress acks show work, and until when a single sign leaves it open."""
    if state is None or state.signs == 0:
        return -inf, -inf
    fresh = fresh_until(state, row)
    return (fresh, -inf) if state.signs >= _MIN_SIGNS else (-inf, fresh)
