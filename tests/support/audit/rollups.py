"""Writes rollups of yesterday from literal numbers, in the format of `streamgauge rollup`."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from support.rollups.delta_tables import ALL_HOURS, write_rollups

from exporter import catalog
from exporter.metric import Metric
from spark_rollups.rollup.tables.schemas import QUANTILES

Row = dict[str, Any]


def yesterday() -> date:
    return datetime.now(UTC).date() - timedelta(days=1)


def daily_row(metric: Metric | str, stream: str, consumer: str = "", **numbers: Any) -> Row:
    """The daily row of one series."""
    day = yesterday()
    moment = datetime.combine(day, datetime.min.time(), UTC)
    plain = dict.fromkeys(("min", "max", "sum", "first", "last"), 0.0)
    return {
        "metric": metric if isinstance(metric, str) else metric.name,
        "kind": "gauge",
        "system": "nats",
        "account": "APP",
        "stream": stream,
        "consumer": consumer,
        "server": "",
        "labels": [],
        "day": day,
        "count": 5760,
        "hours": 24,
        **plain,
        "first_hour": moment,
        "last_hour": moment,
        "increase": None,
        "resets": 0,
        "hour_bits": ALL_HOURS,
        **numbers,
    }


def acks(stream: str, consumer: str, **seconds: float) -> list[Row]:
    """A thousand sampled acks; `below_30=900`: 900 of them took at most 30 s."""
    name = catalog.CONSUMER_ACK_SECONDS.name + "_bucket"
    bounds = {key.removeprefix("below_"): amount for key, amount in seconds.items()}
    return [
        daily_row(name, stream, consumer, labels=[("le", bound)], increase=amount)
        for bound, amount in {**bounds, "+Inf": 1000.0}.items()
    ]


def in_flight(stream: str, consumer: str, p95: float) -> Row:
    whole = daily_row(catalog.CONSUMER_NUM_ACK_PENDING, stream, consumer)
    kept = {name: whole[name] for name in QUANTILES.names if name in whole}
    return {**kept, "p50": 0.0, "p95": p95, "p99": p95}


def write(folder: Path, daily: list[Row], quantiles: list[Row]) -> None:
    write_rollups(folder, {"daily": daily, "quantiles": quantiles})
