"""The data of a month and the month before, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from alerts.quantity import Threshold
from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import (
    ACCOUNT,
    CONSUMER,
    SERVER,
    STREAM,
    SYSTEM,
    Assets,
    Floats,
    Name,
    Source,
)
from spark_rollups.report.facts.forecasts import (
    Forecast,
    Trend,
    forecasts_of,
    newest_snapshot,
    trends_of,
)
from spark_rollups.report.facts.reading import Kind, latest_labels, read_months
from spark_rollups.report.month import Month, Progress, ReportError, silent
from spark_rollups.rollup.tables.schemas import SNAPSHOT_TABLES

# Counters of streams whose days the report names, and the event that an increase means.
STREAM_COUNTERS: tuple[tuple[Metric, str], ...] = (
    (c.STREAM_RECREATED, "recreated"),
    (c.STREAM_SEQUENCE_REGRESSIONS, "went back"),
    (c.STREAM_RESTORES, "restored"),
    (c.STREAM_QUORUM_LOST, "lost its quorum"),
    (c.STREAM_CONSUMERS_REMOVED, "durable consumers removed"),
    (c.STREAM_PURGED_MESSAGES, "messages purged"),
    (c.STREAM_LEADER_CHANGES, "elections"),
)
STREAM_LIMITS: tuple[tuple[Metric, str], ...] = (
    (c.STREAM_MAX_BYTES, "max_bytes"),
    (c.STREAM_MAX_MESSAGES, "max_msgs"),
    (c.STREAM_MAX_AGE_SECONDS, "max_age"),
    (c.STREAM_REPLICAS, "replicas"),
)
# The metrics that the report reads.
CONSUMER_METRICS = (
    c.CONSUMER_UP, c.CONSUMER_NUM_PENDING, c.CONSUMER_NUM_ACK_PENDING, c.CONSUMER_LAG_SECONDS,
    c.CONSUMER_DELIVERIES, c.CONSUMER_REDELIVERIES, c.CONSUMER_REDELIVERY_EXACT,
    c.CONSUMER_LOST_MESSAGES, c.CONSUMER_LOST_EXACT, c.CONSUMER_PURGED_MESSAGES,
    c.CONSUMER_RETENTION_HEADROOM_RATIO, c.CONSUMER_RETENTION_HEADROOM_SECONDS,
    c.CONSUMER_EXHAUSTED_MESSAGES, c.CONSUMER_EXHAUSTED, c.CONSUMER_NAKS,
    c.CONSUMER_DEAD_LETTER_CAPTURED, c.CONSUMER_MAX_ACK_PENDING, c.CONSUMER_ACK_WAIT_SECONDS,
    c.CONSUMER_MAX_DELIVER, c.CONSUMER_RECREATED, c.CONSUMER_LEADER_CHANGES, c.CONSUMER_VERDICT,
)  # fmt: skip
STREAM_METRICS = (
    c.STREAM_UP, c.STREAM_BYTES, c.STREAM_MESSAGES, c.STREAM_MAX_BYTES, c.STREAM_MAX_MESSAGES,
    c.STREAM_MAX_AGE_SECONDS, c.STREAM_REPLICAS, c.STREAM_STORED_MESSAGES, c.STREAM_CONSUMERS,
    c.STREAM_PUBLISHES_RECEIVED, c.STREAM_PUBLISHES_UNSTORED, c.STREAM_DEDUPE_HITS,
    c.STREAM_DEDUPE_EXACT, c.STREAM_DEDUPE_WINDOW_MESSAGES,
    c.STREAM_DUPLICATE_WINDOW_SECONDS, c.STREAM_LOST_MESSAGES, c.STREAM_RECREATED,
    c.STREAM_SEQUENCE_REGRESSIONS, c.STREAM_LEADER_CHANGES, c.STREAM_RESTORES,
    c.STREAM_CONSUMERS_REMOVED, c.STREAM_PURGED_MESSAGES, c.STREAM_QUORUM_LOST,
    c.STREAM_CONFIG_FINDINGS, c.STREAM_EPHEMERAL_CONSUMERS,
)  # fmt: skip
SERVER_METRICS = (
    c.SERVER_UP, c.SERVER_HEALTHY, c.SERVER_CLOCK_OFFSET_SECONDS,
    c.SERVER_CLOCK_UNCERTAINTY_SECONDS, c.SERVER_START_TIMESTAMP_SECONDS, c.SERVER_CPU_RATIO,
    c.SERVER_PROCESS_MEMORY_BYTES, c.SERVER_SLOW_CONSUMERS, c.SERVER_STORAGE_USED_BYTES,
    c.SERVER_STORAGE_RESERVED_BYTES, c.SERVER_STORAGE_MAX_BYTES, c.SERVER_MEMORY_USED_BYTES,
    c.SERVER_MEMORY_RESERVED_BYTES, c.SERVER_MEMORY_MAX_BYTES, c.SERVER_HA_ASSETS, c.SERVER_STREAM_LEADERS,
    c.SERVER_API_REQUESTS, c.SERVER_API_ERRORS,
)  # fmt: skip
ACCOUNT_METRICS = (
    c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_RESERVED_BYTES, c.ACCOUNT_STORAGE_LIMIT_BYTES,
    c.ACCOUNT_MEMORY_USED_BYTES, c.ACCOUNT_MEMORY_RESERVED_BYTES, c.ACCOUNT_MEMORY_LIMIT_BYTES,
    c.ACCOUNT_STREAMS,
    c.ACCOUNT_CONSUMERS,
)  # fmt: skip
SYSTEM_METRICS = (
    c.UP, c.SNAPSHOT_AGE_SECONDS, c.SERIES_DROPPED, c.PUBLISH_ACK_TAP_ACTIVE,
    c.PUBLISH_ACK_TAP_DROPPED, c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, c.META_SIZE,
)  # fmt: skip


_STREAM_LEVELS = ((c.STREAM_BYTES, "last"), (c.STREAM_MESSAGES, "last"))
_SERVER_LEVELS = ((c.SERVER_STORAGE_USED_BYTES, "last"), (c.SERVER_MEMORY_USED_BYTES, "last"))
_ACCOUNT_LEVELS = ((c.ACCOUNT_STORAGE_USED_BYTES, "last"), (c.ACCOUNT_MEMORY_USED_BYTES, "last"))
_CHECK = ("check", "severity")
ACK_BUCKET = c.CONSUMER_ACK_SECONDS.name + "_bucket"
KINDS = {
    "consumers": Kind(
        CONSUMER, CONSUMER_METRICS,
        daily=((c.CONSUMER_LAG_SECONDS, "max"), (c.CONSUMER_LAG_SECONDS, "last"),
               (c.CONSUMER_LOST_MESSAGES, "increase"), (c.CONSUMER_RECREATED, "increase")),
    ),
    "streams": Kind(
        STREAM, STREAM_METRICS, history=_STREAM_LEVELS,
        daily=(*_STREAM_LEVELS, *((metric, "increase") for metric, _ in STREAM_COUNTERS),
               *((metric, "last") for metric, _ in STREAM_LIMITS)),
    ),
    "servers": Kind(
        SERVER, SERVER_METRICS, history=_SERVER_LEVELS,
        daily=(*_SERVER_LEVELS, (c.SERVER_UP, "count"),
               *((c.SERVER_START_TIMESTAMP_SECONDS, column) for column in ("min", "max", "last"))),
    ),
    "accounts": Kind(
        ACCOUNT, ACCOUNT_METRICS, ("tier",), daily=_ACCOUNT_LEVELS, history=_ACCOUNT_LEVELS
    ),
    "systems": Kind(SYSTEM, SYSTEM_METRICS, daily=((c.UP, "count"), (c.UP, "hours"))),
    "replicas": Kind((*STREAM, "server"), (c.STREAM_REPLICA_LAG,)),
    "checks": Kind(STREAM, (c.STREAM_CONFIG_FINDINGS,), _CHECK),
    "consumer_checks": Kind(CONSUMER, (c.CONSUMER_CONFIG_FINDING,), _CHECK),
    "rejections": Kind(STREAM, (c.STREAM_PUBLISH_REJECTIONS,), ("code",)),
    "terms": Kind(CONSUMER, (c.CONSUMER_TERMS,), ("by",)),
    "ack_times": Kind(CONSUMER, (ACK_BUCKET,), ("le",)),
    "skipped": Kind(SYSTEM, (c.REQUEST_SKIPPED,), ("request", "reason")),
    "requests": Kind(SYSTEM, (c.REQUEST_SUCCESS,), ("request",)),
    "versions": Kind(SERVER, (c.SERVER_INFO,), ("version",), daily=((c.SERVER_INFO, "last"),)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """The same assets in this month and in the one before."""

    now: Assets
    before: Assets


@dataclass(frozen=True, slots=True)
class Facts:
    source: Source
    month: Month
    days: tuple[date, ...]  # of the month, with data
    days_before: tuple[date, ...]
    thresholds: Mapping[str, Threshold]
    consumers: Pair
    streams: Pair
    servers: Pair
    accounts: Pair
    systems: Pair
    others: Mapping[str, Pair]  # of the other names in KINDS
    only_system: str  # "" if there are several
    forecasts_as_of: date | None
    forecasts: tuple[Forecast, ...]
    forecasts_before: tuple[Forecast, ...]  # of the snapshot at the end of the month before
    trends: tuple[Trend, ...]
    stream_info: Mapping[Name, Mapping[str, str]]
    server_info: Mapping[Name, Mapping[str, str]]

    @property
    def as_of(self) -> date:
        return self.days[-1]

    @property
    def missing(self) -> tuple[date, ...]:
        """Days of the month without data. While the month is not over, only up to the newest day."""
        there, last = set(self.days), self.month.last if self.is_over else self.as_of
        return tuple(day for day in self.month.all_days() if day not in there and day <= last)

    @property
    def is_over(self) -> bool:
        """Whether a later month has data."""
        return any(day > self.month.last and self.source.hours(day) for day in self.source.days())

    @property
    def is_whole(self) -> bool:
        return self.as_of == self.month.last or self.is_over

    @property
    def server_storage(self) -> tuple[Floats, Floats]:
        """Used and maximum of each server, at the end."""
        now, used = self.servers.now, c.SERVER_STORAGE_USED_BYTES
        return now.at_end(used), now.limit(c.SERVER_STORAGE_MAX_BYTES, used)

    def path(self, parts: Sequence[str]) -> str:
        """The parents of an asset, joined by slashes; omits the system if there is only one."""
        return " / ".join(
            filter(None, parts[1:] if parts[:1] and parts[0] == self.only_system else parts)
        )

    def source_line(self, tables: Sequence[str]) -> str:
        """Where numbers come from, like "daily, 16 of 30 days"."""
        whole = len(self.month.all_days())
        parts = []
        for table in tables:
            if table in SNAPSHOT_TABLES:
                as_of = self.forecasts_as_of
                parts.append(f"{table} as of {fmt.day(as_of)}" if as_of else f"{table}, none")
            else:
                parts.append(f"{table}, {len(self.days)} of {whole} days")
        return "; ".join(parts)

    def system_names(self) -> tuple[str, ...]:
        """Systems with an asset that was seen in the month."""
        assets = (each.now for each in (self.streams, self.consumers, self.servers, self.systems))
        found = {each.names[n][0] for each in assets for n in each.seen.nonzero()[0].tolist()}
        return tuple(sorted(found))

    def threshold(self, threshold: Threshold) -> float:
        return self.thresholds[threshold.name].value


def read_facts(
    source: Source, month: Month, thresholds: Mapping[str, Threshold], progress: Progress = silent
) -> Facts:
    days, before = _days_of(source, month), _days_of(source, month.before)
    if not days:
        raise ReportError(
            f"month {month}: the rollups have no data of this month; {_available_days(source)}"
        )
    found = read_months(source, KINDS, days, before, progress)
    pairs = {name: Pair(*pair) for name, pair in found.items()}
    streams, servers = pairs["streams"], pairs["servers"]
    systems = {name[0] for pair in (pairs["systems"], streams) for name in pair.now.names}
    as_of = newest_snapshot(source, month.last)
    as_of = as_of if as_of is not None and as_of >= month.first else None
    as_of_before = newest_snapshot(source, month.before.last)
    if as_of_before is not None and as_of_before < month.before.first:
        as_of_before = None
    return Facts(
        source=source,
        month=month,
        days=days,
        days_before=before,
        thresholds=thresholds,
        consumers=pairs.pop("consumers"),
        streams=pairs.pop("streams"),
        servers=pairs.pop("servers"),
        accounts=pairs.pop("accounts"),
        systems=pairs.pop("systems"),
        others=pairs,
        only_system=next(iter(systems)) if len(systems) == 1 else "",
        forecasts_as_of=as_of,
        forecasts=tuple(forecasts_of(source, as_of)),
        forecasts_before=tuple(forecasts_of(source, as_of_before)),
        trends=tuple(trends_of(source, as_of)),
        stream_info=latest_labels(source, c.STREAM_INFO, streams.now, days),
        server_info=latest_labels(source, c.SERVER_INFO, servers.now, days),
    )


def _days_of(source: Source, month: Month) -> tuple[date, ...]:
    """Days with at least one hour of data."""
    inside = (day for day in source.days() if month.first <= day <= month.last)
    return tuple(day for day in inside if source.hours(day))


def _available_days(source: Source) -> str:
    days = [day for day in source.days() if source.hours(day)]
    return f"they have {days[0]} to {days[-1]}" if days else "they are empty"
