"""Metrics of other programs that boards show: what Prometheus, its rules and a process say."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.metric import Kind

TARGET = ("job", "instance")  # Prometheus itself puts these on what it scrapes


@dataclass(frozen=True, slots=True)
class ForeignMetric:
    """A metric that is not ours: just enough to refuse what would mislead."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    of_a_target: bool = True  # False: made by Prometheus' rules, and so without job and instance


ALERTS = ForeignMetric(
    "ALERTS",
    Kind.GAUGE,
    ("alertname", "alertstate", "severity", "system", "account", "stream", "consumer", "server"),
    of_a_target=False,
)
TARGET_UP = ForeignMetric("up", Kind.GAUGE, TARGET)
SCRAPE_DURATION = ForeignMetric("scrape_duration_seconds", Kind.GAUGE, TARGET)
SCRAPE_SAMPLES = ForeignMetric("scrape_samples_scraped", Kind.GAUGE, TARGET)
PROCESS_CPU = ForeignMetric("process_cpu_seconds_total", Kind.COUNTER, TARGET)
PROCESS_MEMORY = ForeignMetric("process_resident_memory_bytes", Kind.GAUGE, TARGET)
PROCESS_FILES = ForeignMetric("process_open_fds", Kind.GAUGE, TARGET)
PROCESS_FILES_LIMIT = ForeignMetric("process_max_fds", Kind.GAUGE, TARGET)

ALL = (
    ALERTS,
    TARGET_UP,
    SCRAPE_DURATION,
    SCRAPE_SAMPLES,
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_FILES,
    PROCESS_FILES_LIMIT,
)
