"""A small month for tests of the report: one healthy stream, consumer and server."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

from support.rollups.literal_rollups import LiteralRollups, month_days

from exporter import catalog as c
from spark_rollups.report.main import build_report
from spark_rollups.report.model import Report, Table
from spark_rollups.report.month import Month
from spark_rollups.report.render import csv_files, json_parts

OCTOBER: Final = month_days(2026, 10)
NOVEMBER: Final = month_days(2026, 11)
BOTH: Final = OCTOBER + NOVEMBER
MONTH: Final = Month(2026, 11)
LAST: Final = date(2026, 11, 30)
MADE: Final = datetime(2026, 12, 1, 6, 30, tzinfo=UTC)
GIB: Final = 2.0**30
STREAM: Final = {"account": "APP", "stream": "ORDERS"}
CONSUMER: Final = {**STREAM, "consumer": "billing"}
SERVER: Final = {"server": "n1"}
DAY: Final = 86_400.0
# Of a forecast: the stream is full within the next quarter.
DATES: Final = {
    "outlook": "act", "earliest": date(2026, 12, 20), "likely": date(2027, 1, 2), "not_before": None,
}  # fmt: skip


def healthy() -> LiteralRollups:
    """Two months without findings."""
    rollups = LiteralRollups()
    _stream(rollups)
    _consumer(rollups)
    _server(rollups)
    rollups.gauge(c.UP, BOTH, 1)
    rollups.gauge(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, BOTH, 1)
    rollups.gauge(c.PUBLISH_ACK_TAP_ACTIVE, BOTH, 1)
    rollups.forecast(LAST, **forecast())
    return rollups


def _stream(rollups: LiteralRollups) -> None:
    rollups.gauge(c.STREAM_UP, BOTH, 1, **STREAM)
    rollups.gauge(c.STREAM_BYTES, BOTH, lambda day: (10 + day / 10) * GIB, **STREAM)
    rollups.gauge(c.STREAM_MAX_BYTES, BOTH, 40 * GIB, **STREAM)
    rollups.gauge(c.STREAM_MESSAGES, BOTH, 1_000_000, **STREAM)
    rollups.counter(c.STREAM_STORED_MESSAGES, BOTH, 50_000, **STREAM)
    rollups.counter(c.STREAM_PUBLISHES_RECEIVED, BOTH, 50_000, **STREAM)
    rollups.counter(c.STREAM_PUBLISHES_UNSTORED, BOTH, 0, **STREAM)
    info = {"discard": "new", "retention": "limits", "storage": "file"}
    rollups.gauge(c.STREAM_INFO, BOTH, 1, labels=info, **STREAM)
    checks = {"check": "no-limits", "severity": "info"}
    rollups.gauge(c.STREAM_CONFIG_FINDINGS, OCTOBER, 0, labels=checks, **STREAM)


def _consumer(rollups: LiteralRollups) -> None:
    rollups.gauge(c.CONSUMER_UP, BOTH, 1, **CONSUMER)
    rollups.gauge(c.CONSUMER_LAG_SECONDS, BOTH, 1, high=5, low=0, **CONSUMER)
    rollups.gauge(c.CONSUMER_NUM_PENDING, BOTH, 10, high=100, **CONSUMER)
    rollups.gauge(c.CONSUMER_NUM_ACK_PENDING, BOTH, 20, high=300, **CONSUMER)
    rollups.gauge(c.CONSUMER_MAX_ACK_PENDING, BOTH, 1000, **CONSUMER)
    rollups.gauge(c.CONSUMER_ACK_WAIT_SECONDS, BOTH, 30, **CONSUMER)
    rollups.counter(c.CONSUMER_DELIVERIES, BOTH, 50_000, **CONSUMER)
    rollups.counter(c.CONSUMER_REDELIVERIES, BOTH, 10, **CONSUMER)
    rollups.counter(c.CONSUMER_LOST_MESSAGES, BOTH, 0, **CONSUMER)
    rollups.gauge(c.CONSUMER_DEAD_LETTER_CAPTURED, BOTH, 1, **CONSUMER)
    rollups.states(c.CONSUMER_VERDICT, BOTH, {0: 80_000, 1: 6_400}, **CONSUMER)
    rollups.quantile(c.CONSUMER_LAG_SECONDS, BOTH, 2, **CONSUMER)


def _server(rollups: LiteralRollups) -> None:
    rollups.gauge(c.SERVER_UP, BOTH, 1, **SERVER)
    rollups.gauge(c.SERVER_STORAGE_USED_BYTES, BOTH, 30 * GIB, **SERVER)
    rollups.gauge(c.SERVER_STORAGE_MAX_BYTES, BOTH, 100 * GIB, **SERVER)
    rollups.gauge(c.SERVER_START_TIMESTAMP_SECONDS, BOTH, 1.7e9, **SERVER)
    rollups.gauge(c.SERVER_CLOCK_OFFSET_SECONDS, BOTH, 0.01, high=0.02, low=-0.01, **SERVER)
    rollups.gauge(c.SERVER_CLOCK_UNCERTAINTY_SECONDS, BOTH, 0.002, **SERVER)
    rollups.counter(c.SERVER_API_REQUESTS, BOTH, 1000, **SERVER)
    rollups.counter(c.SERVER_API_ERRORS, BOTH, 0, **SERVER)
    rollups.counter(c.SERVER_SLOW_CONSUMERS, BOTH, 0, **SERVER)
    rollups.gauge(c.SERVER_INFO, BOTH, 1, labels={"version": "2.15.1"}, **SERVER)


def forecast(**changes: Any) -> dict[str, Any]:
    """A forecast of the bytes of the stream that reaches no limit; `changes` override columns."""
    ahead = {
        f"level_{h}d_q{q}": (16 + h / 30 + (q - 50) / 40) * GIB
        for h in (7, 30, 90)
        for q in (10, 50, 90)
    }
    return {
        "subject": "stream", "metric": c.STREAM_BYTES.name, "limit_metric": c.STREAM_MAX_BYTES.name,
        "limit_name": "bytes", "system": "prod", **STREAM, "level": 16 * GIB, "limit": 40 * GIB,
        "outlook": "not before", "not_before": date(2027, 2, 28), "model": "linear increments",
        "error": 0.02, "linear_error": 0.06, "growth_per_day": 0.1 * GIB, "days": 60, **ahead, **changes,
    }  # fmt: skip


def report_of(rollups: LiteralRollups) -> Report:
    return build_report(rollups, MONTH, MADE)


def csv_texts(report: Report) -> dict[str, str]:
    return {name: "".join(parts) for name, parts in csv_files(report)}


def json_text(report: Report) -> str:
    return "".join(json_parts(report))


def table_of(report: Report, key: str) -> Table:
    (found,) = [table for table in report.tables() if table.key == key]
    return found


def rows_of(report: Report, key: str) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries."""
    table = table_of(report, key)
    names = [column.key for column in table.all_columns]
    return [dict(zip(names, row.values, strict=True)) for row in table.rows]


def with_everything(name: str) -> LiteralRollups:
    """A bad month with every figure and many tables; assets have this name."""
    rollups = healthy()
    consumer = {"account": name, "stream": name, "consumer": name}
    rollups.gauge(c.CONSUMER_UP, NOVEMBER, 1, **consumer)
    rollups.counter(c.CONSUMER_LOST_MESSAGES, NOVEMBER, 1, **consumer)
    for verdict in range(len(c.VERDICTS)):
        index = {**consumer, "consumer": f"{name} {verdict}"}
        rollups.gauge(c.CONSUMER_UP, NOVEMBER, 1, **index)
        rollups.states(c.CONSUMER_VERDICT, NOVEMBER, {3: 1.0, verdict: 99.0}, **index)
    rollups.gauge(c.SERVER_UP, NOVEMBER, 0.5, server=name)
    rollups.gauge(c.SERVER_CLOCK_OFFSET_SECONDS, NOVEMBER, 2, server=name)
    rollups.counter(c.STREAM_RECREATED, NOVEMBER, lambda day: day == 4, **STREAM)
    rollups.asof.clear()
    dates = {"earliest": date(2026, 12, 9), "likely": date(2026, 12, 10), "not_before": None}
    rollups.forecast(LAST, **forecast(outlook="act", **dates))
    rollups.forecast(LAST, **forecast(outlook="act", **dates, stream=name))
    return rollups
