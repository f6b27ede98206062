"""All rows; longer sequences of events are in the scenarios."""

from __future__ import annotations

from promtool import rows_consumer, rows_owners, rows_stream, rows_system
from promtool.alert_row import Row

ROWS: tuple[Row, ...] = (
    *rows_consumer.DELIVERY,
    *rows_consumer.ACKS,
    *rows_stream.STATE,
    *rows_stream.COPIES,
    *rows_stream.PUBLISHING,
    *rows_owners.OWNERS,
    *rows_system.SPACE,
    *rows_system.SERVERS,
    *rows_system.EXPORTER,
)
