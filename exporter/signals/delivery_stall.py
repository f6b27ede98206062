"""Messages wait and none is delivered, or no new one: since when?"""

from __future__ import annotations

from msgspec import Struct

from exporter.model import Consumer


class DeliveryState(Struct, gc=False):
    deliveries: int
    position: int
    since: float  # the last time a delivery was seen, or nothing was waiting
    new_since: float  # the same for messages that were not sent before


def next_delivery_state(track: DeliveryState | None, row: Consumer, now: float) -> DeliveryState:
    delivered, position = row.delivered_consumer_seq, row.delivered_stream_seq
    if track is None or row.paused or row.num_pending == 0:
        return DeliveryState(delivered, position, now, now)
    if track.deliveries != delivered:
        track.deliveries, track.since = delivered, now
    if track.position != position:
        track.position, track.new_since = position, now
    return track


def stalled_seconds(track: DeliveryState, row: Consumer, now: float) -> float:
    """0 when paused or caught up."""
    if row.paused or row.num_pending == 0:
        return 0.0
    return now - track.since if now > track.since else 0.0
