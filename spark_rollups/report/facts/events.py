"""What happened by day, failing checks, rejected publishes; and how each consumer is at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Assets, Floats, Mask, Name, Subject, subject_of
from spark_rollups.report.facts.columns import HEALTHY
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


STUCK = ("no worker pulls / not bound", "ack-pending full", "ack floor stuck", "stalled",
         "losing messages", "no leader")  # fmt: skip
LONG_LAG = 3600.0  # seconds; a longer lag that grows cannot wait
_LOOK_BACK = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """Arrays with one entry per consumer."""

    verdict: list[str]  # "" if unknown
    lag: Floats
    growing: Mask  # the lag is long and was longer each day
    losing: Mask  # messages were lost on the newest day or the day before
    last_loss: list[date | None]  # the newest day of the month with a loss

    @property
    def needs_work(self) -> Mask:
        """What cannot wait, and what is wrong with a long or an unknown lag."""
        found = [
            self.is_urgent(index) or (self.is_bad(index) and not self.lag[index] < LONG_LAG)
            for index in range(len(self.verdict))
        ]
        return np.array(found, bool)

    def is_urgent(self, index: int) -> bool:
        return bool(self.losing[index] or self.growing[index]) or self.verdict[index] in STUCK

    def is_bad(self, index: int) -> bool:
        return self.verdict[index] not in ("", *HEALTHY)

    def urgency(self, index: int) -> float:
        """Loss first, then the longest lag, then losses that are over."""
        if self.losing[index]:
            return math.inf
        return float(np.nan_to_num(self.lag[index])) if self.is_urgent(index) else -1.0

    def text(self, index: int) -> str:
        """What is true at the end; "" if nothing is wrong."""
        parts = []
        if self.losing[index]:
            parts.append("it is losing messages")
        verdict = self.verdict[index]
        if verdict and verdict not in HEALTHY and not (verdict == "losing messages" and parts):
            parts.append(verdict)
        if self.growing[index]:
            parts.append("its lag is still growing")
        return ", ".join(parts)


def current_state(facts: Facts) -> CurrentState:
    now = facts.consumers.now
    values = now["verdict"]
    verdict = [
        c.VERDICTS[int(value)] if 0 <= value < len(c.VERDICTS) else "" for value in values.tolist()
    ]
    lag = now["lag_end"]
    recent = np.array([day > facts.as_of - _LOOK_BACK for day in facts.days])
    lags = now["lag_day_ends"][:, recent]
    growing = np.array([_grows(levels) for levels in lags], bool) & (lag >= LONG_LAG)
    lost = now["lost_by_day"] > 0
    newest = np.where(lost.any(axis=1), lost.shape[1] - 1 - lost[:, ::-1].argmax(axis=1), -1)
    last_loss = [facts.days[day] if day >= 0 else None for day in newest.tolist()]
    losing = np.asarray(lost[:, recent][:, -2:].any(axis=1))
    return CurrentState(verdict, lag, growing, losing, last_loss)


def _grows(levels: Floats) -> bool:
    """On each of the days with a value."""
    known = levels[~np.isnan(levels)]
    return len(known) > 1 and bool((np.diff(known) > 0).all())
