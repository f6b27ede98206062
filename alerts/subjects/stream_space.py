"""Streams, servers and accounts that are full or will be full."""

from __future__ import annotations

from alerts import thresholds
from alerts.annotations import DURATION, PERCENT, SERVER, STREAM, SYSTEM, judged_by, query_value
from alerts.open_alerts import until_it_ends
from alerts.queries import (
    MISSED_SCRAPES,
    condition_age,
    holds,
    judged,
    lasting,
    latest,
    recorded,
    time_until,
)
from alerts.rule import Alert, Board, Group, Recording, Severity
from exporter import catalog
from exporter.metric import Metric
from streamgauge.promql.expression import Expression
from streamgauge.promql.functions import with_label
from streamgauge.promql.selectors import Regex

_START = catalog.STREAM_CONDITION_START_TIMESTAMP_SECONDS
_FILLED = query_value(
    catalog.STREAM_FILL_RATIO,
    ", with {{ . | first | value | humanizePercentage }} of its limit used",
)
# The owner wants publishers to wait when it is full.
_back_pressure = holds(catalog.STREAM_INFO, back_pressure="true")
_ACCOUNT = "Account {{ $labels.account }} (" + SYSTEM + ")"
_TIER = "{{ with $labels.tier }} (tier {{ . }}){{ end }}"


def _used(used: Metric, limit: Metric, name: str) -> Expression:
    return with_label(latest(used).over(latest(limit)), "limit", name)


ACCOUNT_USED = Recording(
    "streamgauge:account_used:ratio",
    _used(catalog.ACCOUNT_STORAGE_USED_BYTES, catalog.ACCOUNT_STORAGE_LIMIT_BYTES, "storage").or_(
        _used(catalog.ACCOUNT_MEMORY_USED_BYTES, catalog.ACCOUNT_MEMORY_LIMIT_BYTES, "memory")
    ),
    "Share of an account's storage or memory limit in use, by tier; the label limit names which. "
    "Absent where there is no limit.",
)
SERVER_USED = Recording(
    "streamgauge:server_used:ratio",
    _used(catalog.SERVER_STORAGE_USED_BYTES, catalog.SERVER_STORAGE_MAX_BYTES, "storage").or_(
        _used(catalog.SERVER_MEMORY_USED_BYTES, catalog.SERVER_MEMORY_MAX_BYTES, "memory")
    ),
    "Share of the file storage or memory limit of JetStream on a server in use; the label limit "
    "names which.",
)
_account_used = recorded(ACCOUNT_USED.record, ACCOUNT_USED.value.labels)
# Not by `for`: it would begin again when Prometheus restarts, and page a second time.
_account_full = (
    recorded(ACCOUNT_USED.record, ACCOUNT_USED.value.labels, "5m", "min_over_time")
    >= thresholds.ACCOUNT_FULL_RATIO
).where(recorded(ACCOUNT_USED.record, ACCOUNT_USED.value.labels, "5m", offset="5m"))
_server_used = recorded(SERVER_USED.record, SERVER_USED.value.labels)

STREAM_FULL = Alert(
    name="StreamFull",
    severity=Severity.CRITICAL,
    when=until_it_ends(
        "StreamFull",
        lasting(_START, "full", thresholds.STREAM_FULL),
        condition_age(_START, "full"),
    ).unless(_back_pressure),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A stream is full and rejects new messages.",
    description=f"{STREAM} has been full for {DURATION} and rejects new messages (discard new)"
    f"{_FILLED}. Publishes fail.",
    condition="For <stream_full>, at least <stream_full_ratio> of max_bytes or max_msgs is used, "
    "with discard new (condition full). A work queue or interest stream that goes on storing "
    "messages as old ones are finished is back pressure, and does not count. Nor where the owner set "
    "io.streamgauge.back-pressure.",
    board=Board.CAPACITY,
)

STREAM_FILLING_UP = Alert(
    name="StreamFillingUp",
    severity=Severity.WARNING,
    when=lasting(_START, "filling", thresholds.STREAM_FILLING).unless(_back_pressure),
    for_="0s",
    keep_firing_for=MISSED_SCRAPES,
    summary="A stream will be full within hours.",
    description=f"{STREAM} will be full in less than "
    f"{judged_by(thresholds.STREAM_FILLING_HORIZON)} at the pace of the last "
    f"hours{_FILLED}. Then it rejects new messages.",
    condition="For <stream_filling>, more than <stream_filling_ratio> of max_bytes or max_msgs is "
    "used, with discard new, and the trend of up to 6 hours reaches the limit within "
    "<stream_filling_horizon> (condition filling).",
    board=Board.CAPACITY,
)

STREAM_FORECAST_FULL = Alert(
    name="StreamForecastFull",
    severity=Severity.WARNING,
    when=time_until(
        catalog.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS,
        by=(*catalog.STREAM, "limit"),
        quantile=Regex("0.5"),
    )
    < thresholds.FORECAST_HORIZON,
    for_="1h",
    summary="A stream is expected to be full soon.",
    description=f"{STREAM} is expected to reach its limit of {{{{ $labels.limit }}}} in {DURATION}.",
    condition="The median forecast of the rollups reaches the limit within <forecast_horizon>.",
    board=Board.CAPACITY,
)

SERVER_FORECAST_FULL = Alert(
    name="ServerForecastFull",
    severity=Severity.WARNING,
    when=time_until(
        catalog.FORECAST_SERVER_FULL_TIMESTAMP_SECONDS,
        by=(*catalog.SERVER, "limit"),
        quantile=Regex("0.5"),
    )
    < thresholds.FORECAST_HORIZON,
    for_="1h",
    summary="A server is expected to run out of JetStream storage soon.",
    description=f"{SERVER} is expected to reach its limit of {{{{ $labels.limit }}}} in {DURATION}.",
    condition="The median forecast of the rollups reaches the limit within <forecast_horizon>.",
    board=Board.CAPACITY,
)

SERVER_STORAGE_HIGH = Alert(
    name="ServerStorageHigh",
    severity=Severity.WARNING,
    when=_server_used > judged(thresholds.SERVER_STORAGE_RATIO),
    for_="15m",
    summary="JetStream on a server is close to its storage or memory limit.",
    description=f"{SERVER} uses {PERCENT} of the {{{{ $labels.limit }}}} limit of JetStream.",
    condition="More than <server_storage_ratio> of the file storage or memory limit of JetStream on "
    "the server is used.",
    board=Board.CAPACITY,
)

ACCOUNT_STORAGE_FULL = Alert(
    name="AccountStorageFull",
    severity=Severity.CRITICAL,
    when=_account_used.where(_account_full),
    for_="0s",
    summary="An account is at its JetStream limit: publishes will be rejected.",
    description=f"{_ACCOUNT} uses {PERCENT} of its {{{{ $labels.limit }}}} limit{_TIER}. At 100% every "
    "stream of the account rejects new messages.",
    condition="For 5 minutes, at least <account_full_ratio> of the account's storage or memory limit "
    "has been used.",
    board=Board.CAPACITY,
)

ACCOUNT_STORAGE_HIGH = Alert(
    name="AccountStorageHigh",
    severity=Severity.WARNING,
    when=_account_used >= thresholds.ACCOUNT_HIGH_RATIO,
    for_="15m",
    summary="An account is close to its JetStream limit.",
    description=f"{_ACCOUNT} uses {PERCENT} of its {{{{ $labels.limit }}}} limit{_TIER}.",
    condition="At least <account_high_ratio> of the account's storage or memory limit is used.",
    board=Board.CAPACITY,
)

GROUPS = (
    Group(
        "streamgauge.space",
        (
            ACCOUNT_USED,
            SERVER_USED,
            STREAM_FULL,
            ACCOUNT_STORAGE_FULL,
            STREAM_FILLING_UP,
            STREAM_FORECAST_FULL,
            SERVER_FORECAST_FULL,
            SERVER_STORAGE_HIGH,
            ACCOUNT_STORAGE_HIGH,
        ),
    ),
)
