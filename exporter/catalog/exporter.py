"""The exporter itself."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import SYSTEM
from exporter.metric import Origin, Subject

_EVENT = Origin.EVENT

_exporter = partial(define, subject=Subject.EXPORTER, labels=SYSTEM, origin=Origin.SELF)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

UP = _exporter("up",
    "1 when every request of the last poll got a complete response. Do not use it as a guard in a "
    "rule: it is 0 when a server is down. Use snapshot_age_seconds.")
SNAPSHOT_AGE_SECONDS = _exporter("snapshot_age_seconds",
    "Age of the data served for this system. After three poll intervals the measured series are "
    "dropped. Use it as the guard in rules.")
FIRST_SNAPSHOT_TIMESTAMP_SECONDS = _exporter("first_snapshot_timestamp_seconds",
    "Time of the first data of this system since the exporter was started. For some minutes after "
    "it not every condition can be judged, and rules keep open alerts open.")
POLL_DURATION_SECONDS = _exporter("poll_duration_seconds",
    "Duration of the last poll, from its first request to the rendered exposition.")
POLL_ERRORS = _exporter("poll_errors_total",
    "Errors while polling, by request and by reason from a closed list. "
    "A reason that never occurred has no series.",
    labels=(*SYSTEM, "request", "reason"))
SERVERS_EXPECTED = _exporter("servers_expected",
    "Servers that should respond: the configured number, else the maximum of the last hour.")
SERVERS_RESPONDING = _exporter("servers_responding",
    "Servers that responded in the last poll.")
REQUEST_SUCCESS = _exporter("request_success",
    "1 when the request got a complete response in the last poll that made it, else 0. "
    "Series that depend on a failed request are absent.",
    labels=(*SYSTEM, "request"))
REQUEST_DURATION_SECONDS = _exporter("request_duration_seconds",
    "Duration of the request in the last poll that made it, successful or not.",
    labels=(*SYSTEM, "request"))
REQUEST_SKIPPED = _exporter("request_skipped",
    "1 while a request is skipped on purpose: it would cost the server too much (ceiling), is "
    "not permitted (permission), or its response would be too large (size).",
    labels=(*SYSTEM, "request", "reason"))
PUBLISH_ACK_TAP_ACTIVE = _exporter("publish_ack_tap_active",
    "1 while the publish-ack tap is subscribed, 0 when it is configured and is not. "
    "Absent when it is not configured.",
    origin=_EVENT)
PUBLISH_ACK_TAP_DROPPED = _exporter("publish_ack_tap_dropped_total",
    "Messages that the publish-ack tap dropped because it was too slow. While it grows, counts of "
    "duplicates and rejections are too low.",
    origin=_EVENT)
EVENTS_DROPPED = _exporter("events_dropped_total",
    "Events dropped because they name too many streams or consumers that no poll reports, or too "
    "many error codes: a client sends invented ones; or because they came faster than they were "
    "read. Absent before the first.",
    origin=_EVENT)
ADVISORIES_CONNECTED_TIMESTAMP_SECONDS = _exporter("advisories_connected_timestamp_seconds",
    "Time since when advisories have been received without interruption. "
    "Absent while not subscribed: event counters are then unchanged and prove nothing.",
    origin=_EVENT)
CONFIG_LAST_RELOAD_SUCCESS = _exporter("config_last_reload_success",
    "1 when the last load of the configuration succeeded. 0 when it failed: the previous "
    "configuration is still in use.",
    labels=())
CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS = _exporter("config_last_reload_timestamp_seconds",
    "Time of the last successful load of the configuration.",
    labels=())
FORECAST_FILE_SUCCESS = _exporter("forecast_file_success",
    "1 when the file with the rollups' forecasts is served. 0 when it is missing, unreadable, "
    "invalid, or older than a week: its forecasts are then absent. "
    "Absent when no file is configured.",
    labels=())
CONDITIONS_UNJUDGED = _exporter("conditions_unjudged",
    "Consumers, streams and servers of which a condition cannot be judged, by the reason: watched "
    "too briefly, or what it needs is not visible. They have no series of that condition, which "
    "does not mean that it does not hold.",
    labels=(*SYSTEM, "condition", "reason"),
    purpose="For an operator who wants to know what the exporter cannot see.")
CONDITION_THRESHOLD = _exporter("condition_threshold",
    "Threshold by which the exporter judges conditions (its setting thresholds): seconds, ratios "
    "or numbers.",
    labels=(*SYSTEM, "threshold"))
IGNORED_ASSETS = _exporter("ignored_assets",
    "Streams and consumers whose owner mutes alerts or audit checks in the metadata "
    "(io.streamgauge.ignore).",
    labels=(*SYSTEM, "asset"),
    purpose="For an operator who wants to know what is muted; own rules can limit it.")
SERIES = _exporter("series",
    "Series served for this system, after filters, levels and the series limit.")
SERIES_DROPPED = _exporter("series_dropped_total",
    "Series dropped because of the series limit, added up over the polls. "
    "While it grows, the exposition is incomplete.")
METADATA_DROPPED_VALUES = _exporter("metadata_dropped_values",
    "Metadata values without a series, by the reason: limit (above the setting metadata.max_series) or "
    "text (empty, longer than 128 characters, or not printable). Absent while metadata.keys is empty.",
    labels=(*SYSTEM, "reason"),
    purpose="For an operator who misses a value in stream_metadata_info or consumer_metadata_info.")
HISTORY_DROPPED_ASSETS = _exporter("history_dropped_assets",
    "Unwell streams, consumers and servers without charts on the status pages: the history of a "
    "system holds at most 1,000 assets.",
    purpose="For an operator who misses the charts of an unwell asset.")
HTTP_DROPPED_CONNECTIONS = _exporter("http_dropped_connections_total",
    "Connections closed before their request was complete: evicted (at the maximum a new one "
    "replaces the oldest without a request), refused (all are busy), timeout (the headers did not "
    "arrive in time), handshake (TLS failed), accept (the system has no descriptor left).",
    labels=("reason",),
    purpose="For an engineer whose scrapes fail: whether clients that send nothing fill the server.")
LOG_LINES_DROPPED = _exporter("log_lines_dropped_total",
    "Log lines that could not be written, for example because the disk is full. "
    "Absent before the first.",
    labels=(),
    purpose="For an engineer who misses lines in the log of the exporter.")
BUILD_INFO = _exporter("build_info",
    "Versions of the exporter and of Python as labels; the value is always 1.",
    labels=("version", "python"))
WEB_INFO = _exporter("web_info",
    "Addresses for links as labels; the value is always 1. Where external_url is empty, alerts use "
    "scheme and the address that Prometheus scrapes.",
    labels=("external_url", "grafana_url", "scheme"))
