"""The chapters on the month before and on changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
    Measured,
    Value,
    text_of,
)
from spark_rollups.report.facts.assets import highest, total
from spark_rollups.report.facts.consumers import (
    ConsumerMonth,
    redelivered,
    share_not_well,
)
from spark_rollups.report.facts.events import Event
from spark_rollups.report.facts.forecasts import Trend
from spark_rollups.report.facts.monthly_facts import Facts, Pair
from spark_rollups.report.model import Chapter, Column, Comparison, FrontPage, Row, Table

_PER_DAY, _OVER = "per day", "over the month"
_WORST, _OVER_BOTH = "worst, consumers of both months", "consumers of both months"
_LIKE_COVERAGE = 0.9  # a month with fewer days may have missed its worst value
_BAD_WHEN_GROWING = (c.CONSUMER_NUM_PENDING, c.CONSUMER_LAG_SECONDS, c.CONSUMER_REDELIVERY_RATIO,
                       c.CONSUMER_EXHAUSTED_MESSAGES, c.STREAM_EPHEMERAL_CONSUMERS)  # fmt: skip
_BAD_TRENDS = {metric.name for metric in _BAD_WHEN_GROWING}
# Trends below these levels are not shown.
_LEAST = {
    c.CONSUMER_NUM_PENDING.name: 100.0,
    c.CONSUMER_NUM_ACK_PENDING.name: 100.0,
    c.CONSUMER_LAG_SECONDS.name: 60.0,
    c.CONSUMER_REDELIVERY_RATIO.name: 0.01,
    c.STREAM_DEDUPE_WINDOW_MESSAGES.name: 10_000.0,
    c.SERVER_PROCESS_MEMORY_BYTES.name: float(64 << 20),
}
_MOVED = 0.05  # least change in a month, as a share of the level
_KINDS = {"_bytes": Kind.BYTES, "_seconds": Kind.SECONDS, "_ratio": Kind.SHARE}
_TREND_NAMES = {
    c.CONSUMER_NUM_PENDING.name: "messages pending",
    c.CONSUMER_NUM_ACK_PENDING.name: "messages unacknowledged",
    c.CONSUMER_LAG_SECONDS.name: "lag",
    c.CONSUMER_REDELIVERY_RATIO.name: "share of redeliveries",
    c.CONSUMER_EXHAUSTED_MESSAGES.name: "abandoned messages",
    c.STREAM_DEDUPE_WINDOW_MESSAGES.name: "ids in the duplicate window",
    c.STREAM_CONSUMERS.name: "consumers",
    c.STREAM_EPHEMERAL_CONSUMERS.name: "ephemeral consumers",
    c.ACCOUNT_STREAMS.name: "streams",
    c.ACCOUNT_CONSUMERS.name: "consumers",
    c.SERVER_HA_ASSETS.name: "HA assets",
    c.SERVER_STREAM_LEADERS.name: "streams led",
    c.SERVER_CONSUMER_LEADERS.name: "consumers led",
    c.SERVER_PROCESS_MEMORY_BYTES.name: "memory of the process",
}


def comparisons(facts: Facts, month: ConsumerMonth) -> list[Comparison]:
    """Health is compared over consumers that both months have, so that the base is the same."""
    streams, consumers, servers = facts.streams, facts.consumers, facts.servers
    both = consumers.now.seen & consumers.before.seen
    return [
        Comparison("bytes", "Size of streams", Kind.BYTES, *_at_end(streams, c.STREAM_BYTES)),
        _per_day(facts, "stored", "Messages stored", streams, c.STREAM_STORED_MESSAGES, None),
        _per_day(facts, "deliveries", "Deliveries", consumers, c.CONSUMER_DELIVERIES, None),
        Comparison(
            "redelivery", "Redeliveries", Kind.SHARE, redelivered(consumers.now),
            redelivered(consumers.before), True, _OVER,
        ),
        _per_day(facts, "lost", "Messages lost", consumers, c.CONSUMER_LOST_MESSAGES, True),
        Comparison(
            "abandoned", "Abandoned messages in streams", Kind.COUNT,
            *_at_end(consumers, c.CONSUMER_EXHAUSTED_MESSAGES), True,
        ),
        Comparison(
            "not_well", "Time of consumers not well", Kind.SHARE, share_not_well(month.verdicts[both]),
            share_not_well(month.verdicts_before[both]), True, _OVER_BOTH,
        ),
        Comparison(
            "lag", "Worst lag", Kind.SECONDS, highest(month.lag[both]), highest(month.lag_before[both]), True,
            _WORST,
        ),
        _per_day(facts, "unstored", "Publishes not stored", streams, c.STREAM_PUBLISHES_UNSTORED, True),
        Comparison(
            "storage", "Storage used on servers", Kind.BYTES,
            *_at_end(servers, c.SERVER_STORAGE_USED_BYTES),
        ),
        Comparison(
            "ha_assets", "HA assets on the server with most", Kind.COUNT,
            highest(servers.now.at_end(c.SERVER_HA_ASSETS)),
            highest(servers.before.at_end(c.SERVER_HA_ASSETS)),
        ),
        Comparison("streams", "Streams", Kind.COUNT, *_seen(streams), None, _OVER),
        Comparison("consumers", "Consumers", Kind.COUNT, *_seen(consumers), None, _OVER),
    ]  # fmt: skip


def _at_end(pair: Pair, metric: Metric) -> tuple[float | None, float | None]:
    return total(pair.now.at_end(metric)), total(pair.before.at_end(metric))


def _seen(pair: Pair) -> tuple[float | None, float | None]:
    now, before = (float(assets.seen.sum()) or None for assets in (pair.now, pair.before))
    return now, before


def _per_day(
    facts: Facts, key: str, title: str, pair: Pair, metric: Metric, bad: bool | None
) -> Comparison:
    """Sums are divided by the days with data, which differ between months."""
    now, before = total(pair.now.increase(metric)), total(pair.before.increase(metric))
    return Comparison(
        key, title, Kind.COUNT, None if now is None else now / len(facts.days),
        None if before is None else before / len(facts.days_before), bad, _PER_DAY,
    )  # fmt: skip


def compared(each: Comparison) -> str:
    """One sentence about a change."""
    now, before = text_of(each.kind, each.now), text_of(each.kind, each.before)
    change = fmt.change(each.now, each.before)
    by_day = f" {_PER_DAY}" if each.basis == _PER_DAY else ""
    return f"{each.title}: {now}{by_day} after {before}{f' ({change})' if change else ''}."


def is_better(facts: Facts, each: Comparison) -> bool:
    if each.more_is_bad is None or each.now is None or each.before is None:
        return False
    if each.basis == _WORST and len(facts.days) < _LIKE_COVERAGE * len(facts.days_before):
        return False
    gain = each.before - each.now if each.more_is_bad else each.now - each.before
    return gain > 0 and gain >= 0.1 * abs(each.before)


def months_chapter(facts: Facts, front: FrontPage) -> Chapter:
    """All comparisons of the first page, and the trends of single assets."""
    before = facts.month.before.title
    sentences = (
        f"{facts.month.title} against {before}. Sums are divided by the days with data, "
        f"{len(facts.days)} and {len(facts.days_before)}, so that months can be compared."
        if facts.days_before
        else f"There is no data of {before}, so nothing can be compared."
    )
    tables = (_table(facts, front), _trend_table(facts))
    return Chapter("months", "Month over month", (sentences,), tables)


def _table(facts: Facts, front: FrontPage) -> Table:
    rows = [
        Row((each.title, each.basis, _sized(each, each.now), _sized(each, each.before),
             fmt.change(each.now, each.before)), each.level)
        for each in front.comparisons
    ]  # fmt: skip
    return Table(
        "months",
        "Totals",
        (),
        (
            Column("what", "What"),
            Column("basis", "Basis"),
            Column("now", facts.month.title, Kind.COUNT),
            Column("before", facts.month.before.title, Kind.COUNT),
            Column("change", "Change"),
        ),
        rows,
        note="Marked: worse by 10 % or more.",
    )


def _sized(each: Comparison, value: float | None) -> Value:
    """The column mixes shares, bytes and times, so each value carries its kind."""
    return None if value is None else Measured(value, each.kind)


def _trend_table(facts: Facts) -> Table:
    moving = [
        each for each in facts.trends if each.direction in ("growing", "falling") and _matters(each)
    ]
    moving.sort(key=lambda each: (not _is_bad(each), -_weight(each), each.name, each.metric))
    return Table(
        "trends",
        "Trends of the last four weeks",
        tuple(Column(label, label.capitalize()) for label in _LABELS),
        (
            Column("what", "What"),
            Column("direction", "Direction"),
            Column("level", "Level", Kind.COUNT),
            Column("per_day", "Per day", Kind.COUNT),
            Column("low", "At least", Kind.COUNT, "95 % confidence interval of the slope"),
            Column("high", "At most", Kind.COUNT),
            Column("days", "Days", Kind.COUNT, shown=False),
        ),
        [_trend_row(each) for each in moving],
        note="Without steps and without small changes. Noise alone looks like a trend in about one series of "
        "ten: see the interval.",
        empty="No significant trend."
        if facts.forecasts_as_of is not None
        else "Unknown: there are no trends for this month.",
    )


_LABELS = ("system", "account", "stream", "consumer", "server")


def _matters(each: Trend) -> bool:
    return (each.level or 0.0) >= _LEAST.get(each.metric, 1.0) and _weight(each) >= _MOVED


def _is_bad(each: Trend) -> bool:
    return each.metric in _BAD_TRENDS and each.direction == "growing"


def _weight(each: Trend) -> float:
    """The change in a month as a share of the level."""
    change = abs(each.per_day or 0.0) * 30
    return change / abs(each.level) if each.level else float(np.sign(change))


def _trend_row(each: Trend) -> Row:
    kind = next((kind for end, kind in _KINDS.items() if each.metric.endswith(end)), Kind.COUNT)
    numbers = (each.level, each.per_day, each.low, each.high)
    return Row(
        (
            *each.name, _TREND_NAMES.get(each.metric, each.metric), each.direction,
            *(None if number is None else Measured(number, kind) for number in numbers),
            float(each.days),
        ),
        Level.WARNING if _is_bad(each) else Level.NORMAL,
    )  # fmt: skip


# Frequent events: summed up in one table instead of listed by day.
FREQUENT = ("elections", "messages purged")
_CRITICAL = ("went back", "lost its quorum")
_WARNING = ("recreated", "restored", "durable consumers removed", "recreated or reset")
_EVENT_LABELS = ("system", "account", "stream", "consumer", "server")


def changes_chapter(facts: Facts, events: Sequence[Event]) -> Chapter:
    rare = [event for event in events if event.what not in FREQUENT]
    return Chapter(
        "changes",
        "Changes",
        (_sentence(events),),
        (_changes_table(rare), _frequent_table(facts, events)),
    )


def _sentence(events: Sequence[Event]) -> str:
    if not events:
        return "No asset was seen to be recreated, removed, restored or restarted."
    counted = Counter(event.what for event in events if event.what not in FREQUENT)
    parts = [f"{what} {number:,}" for what, number in counted.most_common()]
    if not parts:
        return "Only elections and purges were seen."
    return f"Events by day: {fmt.listed(parts, shown=8)}."


def _changes_table(events: Sequence[Event]) -> Table:
    return Table(
        "changes",
        "Day by day",
        tuple(Column(label, label.capitalize()) for label in _EVENT_LABELS),
        (
            Column("what", "Event"),
            Column("day", "Day", Kind.DAY),
            Column("number", "Times", Kind.COUNT),
            Column("note", "Details"),
        ),
        [_row(event) for event in events],
        note="Newest first. Several on one day share a row.",
        empty="No events.",
    )


def _row(event: Event) -> Row:
    index = tuple(getattr(event.subject, label) for label in _EVENT_LABELS)
    number = "" if event.number is None else event.number
    return Row((*index, event.what, event.day, number, event.note), _level(event.what))


def _level(what: str) -> Level:
    return (
        Level.CRITICAL if what in _CRITICAL else Level.WARNING if what in _WARNING else Level.NORMAL
    )


def _frequent_table(facts: Facts, events: Sequence[Event]) -> Table:
    totals: dict[tuple[tuple[str, ...], str], list[Event]] = {}
    for event in events:
        if event.what in FREQUENT:
            index = tuple(getattr(event.subject, label) for label in _EVENT_LABELS)
            totals.setdefault((index, event.what), []).append(event)
    rows = [
        Row((*index, what, sum(each.number or 0 for each in group), float(len(group)),
             max(group, key=lambda each: each.number or 0).day))
        for (index, what), group in totals.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (str(row.values[5]), -float(str(row.values[6]))))
    return Table(
        "elections",
        "Elections and purges",
        tuple(Column(label, label.capitalize()) for label in _EVENT_LABELS),
        (
            Column("what", "Event"),
            Column("number", "In the month", Kind.COUNT),
            Column("days", "Days", Kind.COUNT),
            Column("worst_day", "Most on", Kind.DAY),
        ),
        rows,
        empty="None.",
    )
