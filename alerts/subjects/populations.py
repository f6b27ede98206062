"""The assets that a rule covers: durable, not paused, not new."""

from __future__ import annotations

from alerts import thresholds
from alerts.open_alerts import MEMORY
from alerts.queries import happened_within, holds, last_reported, latest
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.selectors import Regex, Selector


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
    """Known for a while and not recreated since. Rules with a longer `for` need no such check.

    Where the system was not observed a while ago, nothing shows that an asset is new."""
    known = Selector(up, offset=thresholds.YOUNG_ASSET)
    ages = Selector(catalog.SNAPSHOT_AGE_SECONDS, offset=thresholds.YOUNG_ASSET).folded("min")
    unobserved = last_reported(catalog.SNAPSHOT_AGE_SECONDS, MEMORY).unless(
        ages < thresholds.SNAPSHOT_AGE
    )
    return (
        when.where(known)
        .or_(when.where(unobserved))
        .unless(happened_within(recreated, thresholds.YOUNG_ASSET))
    )
