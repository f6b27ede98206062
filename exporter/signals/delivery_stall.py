"""Time since the last delivery while messages are pending."""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer


class DeliveryState(Struct, gc=False):
    deliveries: int
    position: int
    since: float  # last poll with a delivery, or without pending messages
    new_since: float  # the same for first deliveries only


def next_delivery_state(state: DeliveryState | None, row: Consumer, now: float) -> DeliveryState:
    delivered, position = row.delivered_consumer_seq, row.delivered_stream_seq
    if state is None or row.paused or row.num_pending == 0:
        return DeliveryState(delivered, position, now, now)
    if state.deliveries != delivered:
        state.deliveries, state.since = delivered, now
    if state.position != position:
        state.position, state.new_since = position, now
    return state


def stalled_seconds(state: DeliveryState, row: Consumer, now: float) -> float:
    """0 when paused or caught up."""
    if row.paused or row.num_pending == 0:
        return 0.0
    return now - state.since if now > state.since else 0.0
