"""The metrics of hourly tables, forecasts, trends, states and quantiles.

To add a metric, add it to a list here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from exporter import catalog
from exporter.metric import Metric


class Forecasted(NamedTuple):
    """A level and its limit; `limit_name` is the label `limit` of the forecast."""

    metric: str
    limit: str
    subject: str
    limit_name: str


def _forecasted(level: Metric, limit: Metric, limit_name: str) -> Forecasted:
    return Forecasted(level.name, limit.name, level.subject.value, limit_name)


def _names(*metrics: Metric) -> tuple[str, ...]:
    return tuple(metric.name for metric in metrics)


FORECASTED: Final = (
    _forecasted(catalog.STREAM_BYTES, catalog.STREAM_MAX_BYTES, "bytes"),
    _forecasted(catalog.STREAM_MESSAGES, catalog.STREAM_MAX_MESSAGES, "messages"),
    _forecasted(catalog.SERVER_STORAGE_USED_BYTES, catalog.SERVER_STORAGE_MAX_BYTES, "storage"),
    _forecasted(catalog.SERVER_MEMORY_USED_BYTES, catalog.SERVER_MEMORY_MAX_BYTES, "memory"),
    _forecasted(catalog.ACCOUNT_STORAGE_USED_BYTES, catalog.ACCOUNT_STORAGE_LIMIT_BYTES, "storage"),
    _forecasted(catalog.ACCOUNT_MEMORY_USED_BYTES, catalog.ACCOUNT_MEMORY_LIMIT_BYTES, "memory"),
)

# Trends use the daily table.
TRENDED: Final = _names(
    catalog.CONSUMER_NUM_PENDING,
    catalog.CONSUMER_NUM_ACK_PENDING,
    catalog.CONSUMER_LAG_SECONDS,
    catalog.CONSUMER_REDELIVERY_RATIO,
    catalog.CONSUMER_EXHAUSTED_MESSAGES,
    catalog.STREAM_DEDUPE_WINDOW_MESSAGES,
    catalog.STREAM_CONSUMERS,
    catalog.STREAM_EPHEMERAL_CONSUMERS,
    catalog.ACCOUNT_STREAMS,
    catalog.ACCOUNT_CONSUMERS,
    catalog.SERVER_HA_ASSETS,
    catalog.SERVER_STREAM_LEADERS,
    catalog.SERVER_CONSUMER_LEADERS,
    catalog.SERVER_PROCESS_MEMORY_BYTES,
)

# Forecasts use the levels of hours; the archive has the hours of all metrics.
HOURLY: Final = tuple(each.metric for each in FORECASTED)

# A condition has a series only while it holds; its value is when it began. The other metric exists
# while the subject is watched: the time without it is unknown.
CONDITIONS: Final = {
    condition.name: watched.name
    for condition, watched in (
        (catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, catalog.CONSUMER_VERDICT),
        (catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS, catalog.STREAM_UP),
        (catalog.SERVER_CONDITION_START_TIMESTAMP_SECONDS, catalog.SERVER_UP),
    )
}

# The table `states` has the time in each of their values, of conditions the time in which they hold.
STATES: Final = (*CONDITIONS, *CONDITIONS.values(), catalog.CONSUMER_REDELIVERY_CAUSE.name)

# Quantiles are computed from samples.
QUANTILES: Final = _names(
    catalog.CONSUMER_LAG_SECONDS,
    catalog.CONSUMER_NUM_PENDING,
    catalog.CONSUMER_NUM_ACK_PENDING,
    catalog.CONSUMER_REDELIVERY_RATIO,
)
