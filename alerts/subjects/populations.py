"""The assets that a rule covers: durable, not paused, not new."""

from __future__ import annotations

from alerts import thresholds
from alerts.queries import happened_within, highest, holds, latest
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Regex

_PRESENCE = "10m"  # long enough for a restart of the exporter to leave no gap


def in_service(when: Expression) -> Expression:
    """Without ephemeral and paused consumers."""
    return when.unless(holds(catalog.CONSUMER_INFO, durable="false")).unless(
        latest(catalog.CONSUMER_PAUSED).equals(1)
    )


def without_buckets(when: Expression) -> Expression:
    """Without key-value and object streams: they overwrite by design and have no consumers."""
    return when.unless(holds(catalog.STREAM_INFO, kind=Regex("kv|object")))


def settled_consumer(when: Expression) -> Expression:
    return _settled(when, catalog.CONSUMER_UP, catalog.CONSUMER_RECREATED)


def settled_stream(when: Expression) -> Expression:
    return _settled(when, catalog.STREAM_UP, catalog.STREAM_RECREATED)


def _settled(when: Expression, up: Metric, recreated: Metric) -> Expression:
    """Known for a while and not recreated since. Rules with a longer `for` need no such check."""
    known = highest(up, _PRESENCE, offset=thresholds.YOUNG_ASSET)
    return when.where(known).unless(happened_within(recreated, thresholds.YOUNG_ASSET))
