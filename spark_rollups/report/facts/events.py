"""Events by day: from counters, from assets seen first or last, and from versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Assets, Statistic, rows_between
from spark_rollups.report.facts.monthly_facts import Facts, Pair
from spark_rollups.report.facts.source import SERVER, names_in, slices
from spark_rollups.report.facts.subject import Subject, subject_of

# Each counter and the event that its increase means.
_STREAM_COUNTERS: tuple[tuple[Metric, str], ...] = (
    (c.STREAM_RECREATED, "recreated"),
    (c.STREAM_SEQUENCE_REGRESSIONS, "went back"),
    (c.STREAM_RESTORES, "restored"),
    (c.STREAM_QUORUM_LOST, "lost its quorum"),
    (c.STREAM_CONSUMERS_REMOVED, "durable consumers removed"),
    (c.STREAM_PURGED_MESSAGES, "messages purged"),
    (c.STREAM_LEADER_CHANGES, "elections"),
)
_CONSUMER_COUNTERS: tuple[tuple[Metric, str], ...] = ((c.CONSUMER_RECREATED, "recreated or reset"),)
_LIMITS: tuple[tuple[Metric, str], ...] = (
    (c.STREAM_MAX_BYTES, "max_bytes"),
    (c.STREAM_MAX_MESSAGES, "max_msgs"),
    (c.STREAM_MAX_AGE_SECONDS, "max_age"),
    (c.STREAM_REPLICAS, "replicas"),
)


@dataclass(frozen=True, slots=True)
class Event:
    day: date
    what: str
    subject: Subject
    number: float | None = None
    note: str = ""


def events_of(facts: Facts, started: Mapping[int, list[date]]) -> list[Event]:
    """Newest first."""
    found = [
        *_rises(facts, facts.streams.now, _STREAM_COUNTERS),
        *_rises(facts, facts.consumers.now, _CONSUMER_COUNTERS),
        *_came_and_went(facts, facts.streams, c.STREAM_UP, "stream"),
        *_came_and_went(facts, facts.consumers, c.CONSUMER_UP, "consumer"),
        *_limits_changed(facts),
        *_versions_changed(facts),
    ]
    found += [
        Event(day, "server restarted", subject_of(facts.servers.now, index))
        for index, days in started.items()
        for day in days
    ]
    return sorted(found, key=lambda each: (-each.day.toordinal(), each.what, each.subject.parts))


def _rises(
    facts: Facts, assets: Assets, counters: tuple[tuple[Metric, str], ...]
) -> Iterator[Event]:
    for metric, what in counters:
        if not assets.has(metric):
            continue
        for first, last in slices(facts.days):
            table = rows_between(facts.source, assets, metric, first, last, ("day", "increase"))
            rising = pc.greater(pc.fill_null(table["increase"], 0.0), 0.0)
            rows = table.filter(rising)
            columns = (rows["day"].to_pylist(), rows["increase"].to_pylist())
            for index, day, number in zip(assets.indexes(rows).tolist(), *columns, strict=True):
                if index >= 0:
                    yield Event(day, what, subject_of(assets, index), number)


def _came_and_went(facts: Facts, pair: Pair, metric: Metric, what: str) -> Iterator[Event]:
    """An asset counts as new only if the month before has data."""
    firsts, lasts = pair.now.day(metric, last=False), pair.now.day(metric, last=True)
    began = facts.days[0] + timedelta(days=1)
    for index in np.flatnonzero(pair.now.seen).tolist():
        first, last = firsts[index], lasts[index]
        if first is None or last is None:
            continue
        if facts.days_before and not pair.before.seen[index] and first >= began:
            yield Event(first, f"{what} first seen", subject_of(pair.now, index))
        if last < facts.as_of - timedelta(days=1):
            yield Event(last, f"{what} last seen", subject_of(pair.now, index))


def _limits_changed(facts: Facts) -> Iterator[Event]:
    now, before = facts.streams.now, facts.streams.before
    for metric, name in _LIMITS:
        old = before.column(metric, Statistic.LAST)
        old = np.where(np.isnan(old), now.column(metric, Statistic.FIRST), old)
        new = now.column(metric, Statistic.LAST)
        changed = np.flatnonzero(~np.isnan(old) & ~np.isnan(new) & (old != new))
        days = _days_of_change(facts, metric, set(changed.tolist()))
        for index in changed.tolist():
            note = f"{name} from {_value(metric, old[index])} to {_value(metric, new[index])}"
            yield Event(
                days.get(index, facts.as_of), "limit changed", subject_of(now, index), note=note
            )


def _days_of_change(facts: Facts, metric: Metric, wanted: set[int]) -> dict[int, date]:
    """The last day on which the value changed to the final one."""
    found: dict[int, date] = {}
    if not wanted:
        return found
    now = facts.streams.now
    final = now.column(metric, Statistic.LAST)
    for first, last in slices(facts.days):
        table = rows_between(facts.source, now, metric, first, last, ("day", "first", "last"))
        indexes = now.indexes(table)
        columns = (table[name].to_pylist() for name in ("day", "first", "last"))
        rows = zip(indexes.tolist(), *columns, strict=True)
        for index, day, start, end in sorted(rows, key=lambda row: row[1]):
            became = end == final[index] if index in wanted else False
            if became and (start != end or index not in found):
                found[index] = day
    return found


def _value(metric: Metric, value: float) -> str:
    if metric.name.endswith("_bytes"):
        return fmt.bytes_text(value)
    return fmt.span(value) if metric.name.endswith("_seconds") else fmt.count(value)


def _versions_changed(facts: Facts) -> Iterator[Event]:
    """Servers whose version differs from the last one seen."""
    known: dict[tuple[str, ...], str] = {}
    spans = [*slices(facts.days_before[-1:]), *slices(facts.days)]
    for first, last in spans:
        table = facts.source.table(
            "daily", first, last, columns=["metric", *SERVER, "labels", "day", "last_hour"],
            metrics=[c.SERVER_INFO.name],
        )  # fmt: skip
        for name, labels, day in _in_time(table):
            version = dict(labels).get("version", "")
            if name in known and version and known[name] != version:
                yield Event(
                    day, "version changed", Subject(system=name[0], server=name[1]),
                    note=f"from {known[name]} to {version}",
                )  # fmt: skip
            known[name] = version or known.get(name, "")


def _in_time(table: pa.Table) -> Iterator[tuple[tuple[str, ...], list[tuple[str, str]], date]]:
    ordered = table.sort_by("last_hour")
    rows = zip(
        names_in(ordered, SERVER), ordered["labels"].to_pylist(), ordered["day"].to_pylist(),
        strict=True,
    )  # fmt: skip
    yield from rows
