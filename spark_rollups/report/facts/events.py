"""Events by day, failing checks of the audit, and rejected publishes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Assets, Name, Subject, subject_of
from spark_rollups.report.facts.monthly_facts import Facts, Pair

# Counters whose days the report names, by column, and the event that an increase means.
_STREAM_COUNTERS = {
    "recreated": "recreated", "sequence_regressions": "went back", "restores": "restored",
    "quorum_lost": "lost its quorum", "consumers_removed": "durable consumers removed",
    "purged": "messages purged", "elections": "elections",
}  # fmt: skip
_CONSUMER_COUNTERS = {"recreated_by_day": "recreated or reset"}
_STREAM_LIMITS: tuple[tuple[Metric, str], ...] = (
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


def events_of(facts: Facts) -> list[Event]:
    """Newest first."""
    found = [
        *_rises(facts.streams.now, _STREAM_COUNTERS),
        *_rises(facts.consumers.now, _CONSUMER_COUNTERS),
        *_came_and_went(facts, facts.streams, c.STREAM_UP, "stream"),
        *_came_and_went(facts, facts.consumers, c.CONSUMER_UP, "consumer"),
        *_limits_changed(facts),
        *_versions_changed(facts),
    ]
    found += [
        Event(day, "server restarted", subject_of(facts.servers.now, index))
        for index, days in enumerate(facts.servers["restart_days"])
        for day in days
    ]
    return sorted(found, key=lambda each: (-each.day.toordinal(), each.what, each.subject.parts))


def _rises(assets: Assets, counters: Mapping[str, str]) -> Iterator[Event]:
    for column, what in counters.items():
        rises = assets[column]
        for index, day in np.argwhere(rises > 0).tolist():
            yield Event(assets.days[day], what, subject_of(assets, index), float(rises[index, day]))


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
    for metric, name in _STREAM_LIMITS:
        old = before.last(metric)
        old = np.where(np.isnan(old), now.first(metric), old)
        new = now.last(metric)
        changed = np.flatnonzero(~np.isnan(old) & ~np.isnan(new) & (old != new))
        lasts = now.daily(metric, "last")
        for index in changed.tolist():
            note = f"{name} from {_value(metric, old[index])} to {_value(metric, new[index])}"
            day = _day_of_change(facts, lasts[index].tolist(), float(new[index]))
            yield Event(day, "limit changed", subject_of(now, index), note=note)


def _day_of_change(facts: Facts, levels: list[float], final: float) -> date:
    """The first of the last days with the final value."""
    since = facts.as_of
    for day, level in zip(reversed(facts.days), reversed(levels), strict=True):
        if level == final:
            since = day
        elif not np.isnan(level):
            break
    return since


def _value(metric: Metric, value: float) -> str:
    if metric.name.endswith("_bytes"):
        return fmt.bytes_text(value)
    return fmt.span(value) if metric.name.endswith("_seconds") else fmt.count(value)


def _versions_changed(facts: Facts) -> Iterator[Event]:
    """Servers whose version differs from the last one seen."""
    pair = facts.others["versions"]
    lasts = zip(pair.before.day(c.SERVER_INFO, last=True), pair.before.names, strict=True)
    seen = sorted((last, name) for last, name in lasts if last is not None)
    known = {name[:2]: name[2] for _, name in seen}
    there = ~np.isnan(pair.now["by_day"])
    for number, index in np.argwhere(there.T).tolist():
        server, version = pair.now.names[index][:2], pair.now.names[index][2]
        old = known.get(server)
        # A version that was there the day before too is the old one.
        stays = old is not None and number > 0 and bool(there[index, number - 1])
        if not version or version == old or stays:
            continue
        if old is not None:
            subject = Subject(system=server[0], server=server[1])
            note = f"from {old} to {version}"
            yield Event(facts.days[number], "version changed", subject, note=note)
        known[server] = version


SEVERITIES = ("crit", "warn", "info")


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """A check that fails on a stream or on one of its consumers."""

    check: str
    severity: str
    name: Name  # system, account, stream
    assets: float | None
    state: str  # open, new or fixed
    since: date

    @property
    def order(self) -> tuple[int, str, Name]:
        index = SEVERITIES.index(self.severity) if self.severity in SEVERITIES else len(SEVERITIES)
        return (index, self.check, self.name)


def failing_checks(facts: Facts) -> list[FailingCheck]:
    pair, metric = facts.others["checks"], c.STREAM_CONFIG_FINDINGS
    columns = (
        pair.now.last(metric).tolist(), pair.now.day(metric, last=False),
        pair.now.day(metric, last=True), pair.before.seen.tolist(),
    )  # fmt: skip
    found = []
    for name, assets, first, last, known in zip(pair.now.names, *columns, strict=True):
        if first is None or last is None:
            continue
        fixed = last < facts.as_of - timedelta(days=1) or assets == 0
        is_new = bool(facts.days_before) and not known and first > facts.days[0]
        state = "fixed" if fixed else "new" if is_new else "open"
        number = None if math.isnan(assets) else assets
        found.append(FailingCheck(name[3], name[4], name[:3], number, state, first))
    return sorted(found, key=lambda each: each.order)


def failing_consumer_checks(facts: Facts) -> list[tuple[Name, str, str]]:
    """Consumer, check and severity; the exporter serves them at detail full only."""
    found = facts.others["consumer_checks"].now
    lasts = found.day(c.CONSUMER_CONFIG_FINDING, last=True)
    since = facts.days[-2:][0]
    named = zip(found.names, lasts, strict=True)
    return sorted(
        (name[:4], name[4], name[5]) for name, last in named if last is not None and last >= since
    )


# Short meanings of the error codes that publishers get.
CODES = {
    "10023": "insufficient resources",
    "10028": "account resources exceeded",
    "10047": "storage resources exceeded",
    "10054": "message too large",
    "10060": "expected stream does not match",
    "10063": "expected stream sequence does not match",
    "10070": "wrong last message id",
    "10071": "wrong last sequence",
    "10077": "not stored, mostly because the stream is full",
    "10109": "the stream is sealed",
    "10158": "the same message id is in process",
    "10164": "a conflict with a publish in flight",
}


@dataclass(frozen=True, slots=True)
class Rejections:
    name: tuple[str, ...]  # system, account, stream
    code: str
    number: float


def rejections_of(facts: Facts) -> list[Rejections]:
    """By stream and error code, largest number first."""
    found = facts.others["rejections"].now
    numbers = found["number"].tolist()
    made = [
        Rejections(name[:-1], name[-1], number)
        for name, number in zip(found.names, numbers, strict=True)
        if number > 0
    ]
    return sorted(made, key=lambda each: (-each.number, each.name, each.code))
