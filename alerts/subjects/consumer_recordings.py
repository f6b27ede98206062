"""Recorded series of every consumer: how busy it was."""

from __future__ import annotations

from alerts.queries import increase, latest, recorded
from alerts.rule import Group, Recording
from exporter import catalog
from streamgauge.promql.expression import Expression

_BUSY = "streamgauge:consumer_busy:bool30m"
_SHARE = "streamgauge:consumer_busy:share1d"


def _share() -> Expression:
    """The share of a day. It stays constant while messages wait and none is delivered: a stall must
    not make the consumer idle. It needs half a day of data, or a new nightly job counts as busy."""
    recent = recorded(_BUSY, catalog.CONSUMER, "15m")
    day = recorded(_BUSY, catalog.CONSUMER, "1d", "avg_over_time")
    half_a_day_ago = recorded(_BUSY, catalog.CONSUMER, "1h", offset="12h")
    kept = recorded(_SHARE, catalog.CONSUMER, "1h")
    stalled = kept.where(recent.equals(0)).where(latest(catalog.CONSUMER_NUM_PENDING) > 0)
    return stalled.or_(day.where(half_a_day_ago))


BUSY = Recording(
    _BUSY,
    increase(catalog.CONSUMER_DELIVERIES, "30m").is_above(0),
    "1 when the consumer had a delivery within the last half hour, else 0.",
)
SHARE = Recording(
    _SHARE,
    _share(),
    "Share of the last day's half hours in which the consumer had deliveries. It stays constant while "
    "messages wait and none is delivered. Absent before half a day of data.",
)
busy_share: Expression = recorded(_SHARE, catalog.CONSUMER, "15m")

GROUPS = (Group("streamgauge.consumer.recorded", (BUSY, SHARE), interval="5m"),)
