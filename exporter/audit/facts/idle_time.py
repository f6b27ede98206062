"""For how long nothing has happened, as far as a row tells it."""

from __future__ import annotations

from datetime import datetime

from exporter.model import Consumer, Stream


def age(moment: datetime | None, now: float) -> float | None:
    return None if moment is None else now - moment.timestamp()


def stored_nothing_for(row: Stream, now: float) -> float | None:
    """Since the last message, or since its creation if there never was one; None: not known."""
    if row.last_time is not None:
        return age(row.last_time, now)
    return age(row.created, now) if row.last_seq == 0 else None


def delivered_nothing_for(row: Consumer, now: float) -> float | None:
    """Servers forget the last delivery when they restart; that there was none at all they know."""
    if row.last_delivery is not None:
        return age(row.last_delivery, now)
    return age(row.created, now) if row.delivered_consumer_seq == 0 else None
