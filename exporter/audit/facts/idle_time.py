"""How long a stream or consumer has been idle, as far as its row reports it."""

from __future__ import annotations

from datetime import datetime

from exporter.model import Consumer, Stream


def age(time: datetime | None, now: float) -> float | None:
    return None if time is None else now - time.timestamp()


def stream_idle_seconds(row: Stream, now: float) -> float | None:
    """Since the last stored message, or since the creation of a stream that never had one."""
    if row.last_time is not None:
        return age(row.last_time, now)
    return age(row.created, now) if row.last_seq == 0 else None


def consumer_idle_seconds(row: Consumer, now: float) -> float | None:
    """Since the last delivery, or since the creation of a consumer without any delivery.

    None after a restart: servers do not persist the time of the last delivery.
    """
    if row.last_delivery is not None:
        return age(row.last_delivery, now)
    return age(row.created, now) if row.delivered_consumer_seq == 0 else None
