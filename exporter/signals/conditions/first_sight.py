"""Since when a consumer stalls, at its first poll: by the server's own times where they show it."""

from __future__ import annotations

from datetime import datetime

from exporter.model import Consumer
from exporter.signals.state import StreamView


def undelivered_since(row: Consumer, view: StreamView, offset: float, now: float) -> float:
    """The later of the last delivery and the time of the first pending message.

    `offset`: clock of the consumer's leader minus the exporter's. After a restart a server does
    not know its last delivery: then since this poll.
    """
    last = row.created if row.delivered_consumer_seq == 0 else row.last_delivery
    if row.num_pending == 0 or row.paused or last is None:
        return now
    waiting = max(row.delivered_stream_seq + 1, row.stream_first_seq)
    stored = view.times.time_of(waiting, view.row, view.server_now)
    if stored is None:
        return now
    return min(now, max(last.timestamp() - offset, stored - (view.server_now - now)))


def floor_unmoved_since(row: Consumer, offset: float, now: float) -> float:
    """The last ack or delivery: the floor did not move later, nor was its message sent later."""
    if row.num_ack_pending == 0 or row.last_delivery is None:
        return now
    last: datetime = row.last_delivery
    if row.ack_floor_consumer_seq > 0:
        if row.last_ack is None:
            return now
        last = max(last, row.last_ack)
    return min(now, last.timestamp() - offset)
