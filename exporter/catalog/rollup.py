"""Forecasts and the rollup."""

from __future__ import annotations

from functools import partial

from exporter.catalog.definition import define
from exporter.catalog.labels import ACCOUNT, SERVER, STREAM
from exporter.metric import Origin, Subject

_rollup = partial(define, subject=Subject.ROLLUP, labels=(), origin=Origin.ROLLUP)

# An entry is a name, its help text and one line of facts; the formatter would spread the facts.
# fmt: off

FORECAST_STREAM_BYTES = _rollup("forecast_stream_bytes",
    "Expected size of the stream after the horizon, by quantile: half of "
    "the outcomes should be below 0.5. Only for streams that have a limit.",
    labels=(*STREAM, "horizon", "quantile"))
FORECAST_STREAM_MESSAGES = _rollup("forecast_stream_messages",
    "Expected messages in the stream after the horizon, by quantile. "
    "Only for streams that have a limit.",
    labels=(*STREAM, "horizon", "quantile"))
FORECAST_SERVER_STORAGE_USED_BYTES = _rollup("forecast_server_storage_used_bytes",
    "Expected JetStream file storage in use on the server after the horizon, by quantile.",
    labels=(*SERVER, "horizon", "quantile"))
FORECAST_ACCOUNT_STORAGE_USED_BYTES = _rollup("forecast_account_storage_used_bytes",
    "Expected file storage in use by the account after the horizon, by quantile. "
    "Only for accounts that have a limit.",
    labels=(*ACCOUNT, "horizon", "quantile"))
FORECAST_STREAM_FULL_TIMESTAMP_SECONDS = _rollup("forecast_stream_full_timestamp_seconds",
    "Time when the stream is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*STREAM, "limit", "quantile"))
FORECAST_SERVER_FULL_TIMESTAMP_SECONDS = _rollup("forecast_server_full_timestamp_seconds",
    "Time when the server is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*SERVER, "limit", "quantile"))
FORECAST_ACCOUNT_FULL_TIMESTAMP_SECONDS = _rollup("forecast_account_full_timestamp_seconds",
    "Time when the account is expected to reach the limit in the label. Quantile 0.9 is the highest "
    "level, so the earliest date. Absent when it is beyond the horizon.",
    labels=(*ACCOUNT, "limit", "quantile"))
FORECAST_AS_OF_TIMESTAMP_SECONDS = _rollup("forecast_as_of_timestamp_seconds",
    "End of the newest day in the forecasts' input. A rollup may succeed without a newer day: "
    "forecasts without data of the last week are absent, and this series stays.")
ROLLUP_LAST_SUCCESS_TIMESTAMP_SECONDS = _rollup("rollup_last_success_timestamp_seconds",
    "Time of the last successful rollup. An old one means that all forecasts are stale.")
REPORT_LAST_SUCCESS_TIMESTAMP_SECONDS = _rollup("report_last_success_timestamp_seconds",
    "Time when the monthly report was last written and, with --send, delivered everywhere. "
    "Absent before the first success.")
