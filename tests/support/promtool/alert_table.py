"""All rows; longer sequences of events are in the scenarios."""

from __future__ import annotations

from support.promtool.alert_row import Row
from support.promtool.rows import consumers, owner_limits, streams, system

ROWS: tuple[Row, ...] = (
    *consumers.DELIVERY,
    *consumers.ACKS,
    *streams.STATE,
    *streams.COPIES,
    *streams.PUBLISHING,
    *owner_limits.OWNERS,
    *system.SPACE,
    *system.SERVERS,
    *system.EXPORTER,
)
