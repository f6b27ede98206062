"""Metrics of other programs that boards show: of Prometheus, its rules and client libraries."""

from __future__ import annotations

from exporter.metric import Kind
from streamgauge.promql.selectors import TARGET, ExternalSeries

ALERTS = ExternalSeries(
    "ALERTS",
    Kind.GAUGE,
    ("alertname", "alertstate", "severity", "system", "account", "stream", "consumer", "server"),
    scraped=False,
)


def _recorded(name: str, *labels: str) -> ExternalSeries:
    return ExternalSeries(name, Kind.GAUGE, ("system", "account", *labels))


# Of our recording rules: the worst and busiest of many, one value a minute.
LAG_OF_WORST = _recorded("streamgauge:consumer_lag_seconds:worst10", "stream", "consumer")
REDELIVERY_OF_WORST = _recorded(
    "streamgauge:consumer_redelivery_ratio:worst10", "stream", "consumer"
)
DELIVERIES_OF_BUSIEST = _recorded("streamgauge:consumer_deliveries:busiest10", "stream", "consumer")
STORED_OF_BUSIEST = _recorded("streamgauge:stream_stored_messages:busiest10", "stream")
TARGET_UP = ExternalSeries("up", Kind.GAUGE, TARGET)
SCRAPE_DURATION = ExternalSeries("scrape_duration_seconds", Kind.GAUGE, TARGET)
SCRAPE_SAMPLES = ExternalSeries("scrape_samples_scraped", Kind.GAUGE, TARGET)
PROCESS_CPU = ExternalSeries("process_cpu_seconds_total", Kind.COUNTER, TARGET)
PROCESS_MEMORY = ExternalSeries("process_resident_memory_bytes", Kind.GAUGE, TARGET)
PROCESS_FILES = ExternalSeries("process_open_fds", Kind.GAUGE, TARGET)
PROCESS_FILES_LIMIT = ExternalSeries("process_max_fds", Kind.GAUGE, TARGET)

ALL = (
    ALERTS,
    LAG_OF_WORST,
    REDELIVERY_OF_WORST,
    DELIVERIES_OF_BUSIEST,
    STORED_OF_BUSIEST,
    TARGET_UP,
    SCRAPE_DURATION,
    SCRAPE_SAMPLES,
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_FILES,
    PROCESS_FILES_LIMIT,
)
