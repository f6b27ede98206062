"""Recorded series of the boards: of many thousand consumers and streams the few that are shown.

Each is ranked within its account, so that a board that shows one account has its own worst."""

from __future__ import annotations

from alerts.queries import by_replica, samples
from alerts.rule import Group, Recording
from exporter import catalog
from streamgauge.promql.expression import Expression, Labels

_FEW = 10
_WINDOW = "5m"
_OF_CONSUMER: Labels = ("stream", "consumer")
_OF_STREAM: Labels = ("stream",)


def _first(ranked: Expression, apart: Labels) -> Expression:
    """Each replica ranks its own, and only those are folded: it costs a tenth of folding all."""
    return ranked.top(_FEW, apart=apart).folded()


LAG = Recording(
    "streamgauge:consumer_lag_seconds:worst10",
    _first(by_replica(catalog.CONSUMER_LAG_SECONDS) > 0, _OF_CONSUMER),
    "Lag of the ten consumers of an account that lag most.",
)
REDELIVERY = Recording(
    "streamgauge:consumer_redelivery_ratio:worst10",
    _first(by_replica(catalog.CONSUMER_REDELIVERY_RATIO) > 0, _OF_CONSUMER),
    "Share of redeliveries of the ten consumers of an account with most.",
)
DELIVERED = Recording(
    "streamgauge:consumer_deliveries:busiest10",
    _first(samples(catalog.CONSUMER_DELIVERIES, "rate", _WINDOW), _OF_CONSUMER),
    "Deliveries per second of the ten busiest consumers of an account, over five minutes.",
)
STORED = Recording(
    "streamgauge:stream_stored_messages:busiest10",
    _first(samples(catalog.STREAM_STORED_MESSAGES, "rate", _WINDOW), _OF_STREAM),
    "Messages stored per second of the ten busiest streams of an account, over five minutes.",
)

GROUPS = (
    Group("streamgauge.boards.recorded", (LAG, REDELIVERY, DELIVERED, STORED), interval="1m"),
)
