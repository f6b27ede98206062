"""Annotations of the graphs: restarts, elections, recreations, restores, purges, alerts."""

from __future__ import annotations

from dashboards import external_metrics
from dashboards.panels.colours import BAD, INFO, PAUSED, WARN
from dashboards.panels.model import Annotation
from dashboards.queries import Scope
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.selectors import Regex

# All our alerts have this prefix. The watchdog always fires while rules are loaded.
ALERT_NAMES = Regex("JetStream.+")
WATCHDOG = "JetStreamWatchdog"
_MILLISECONDS = 1000


def server_restarts(scope: Scope) -> Annotation:
    started = scope.now(catalog.SERVER_START_TIMESTAMP_SECONDS) * _MILLISECONDS
    return Annotation("Server restarts", started, "{{server}} started", INFO, value_is_time=True)


def _happened(
    scope: Scope, counter: Metric, name: str, title: str, colour: str, *, enabled: bool = True
) -> Annotation:
    when = scope.now(catalog.EVENT_TIMES[counter]) * _MILLISECONDS
    return Annotation(name, when, title, colour, enabled, value_is_time=True)


def stream_events(scope: Scope) -> tuple[Annotation, ...]:
    return (
        # Disabled by default: a stream that changes its leader often would shade every graph.
        _happened(scope, catalog.STREAM_LEADER_CHANGES, "Elections",
                  "{{stream}}: new leader", INFO, enabled=False),
        _happened(scope, catalog.STREAM_RECREATED, "Streams recreated",
                  "{{stream}}: deleted and recreated", WARN),
        _happened(scope, catalog.STREAM_RESTORES, "Restores",
                  "{{stream}}: restored from a backup", PAUSED),
        _happened(scope, catalog.STREAM_PURGED_MESSAGES, "Purges",
                  "{{stream}}: purged", PAUSED),
        _happened(scope, catalog.STREAM_SEQUENCE_REGRESSIONS, "Sequence went back",
                  "{{stream}}: acknowledged messages are lost", BAD),
    )  # fmt: skip


def consumer_recreations(scope: Scope) -> Annotation:
    return _happened(
        scope,
        catalog.CONSUMER_RECREATED,
        "Consumers recreated",
        "{{stream}}/{{consumer}}: recreated or reset",
        WARN,
    )


def firing_alerts(scope: Scope) -> Annotation:
    """Disabled by default: an alert that fires for hours would shade every graph."""
    firing = scope.now(external_metrics.ALERTS, alertstate="firing", alertname=ALERT_NAMES)
    return Annotation("Alerts", firing, "{{alertname}} {{stream}} {{consumer}}", BAD, enabled=False)
