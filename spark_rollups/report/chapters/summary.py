"""The first page, the month before, changes and owners; and the page of one owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.chapters.capacity import full_figure
from spark_rollups.report.chapters.data_quality import unknowns
from spark_rollups.report.chapters.tables import chapter, table
from spark_rollups.report.facts.assets import Assets, Subject, highest, subject_of, total
from spark_rollups.report.facts.consumers import ConsumerMonth, redelivered, share_not_well
from spark_rollups.report.facts.events import Event
from spark_rollups.report.facts.forecasts import Forecast, Trend
from spark_rollups.report.facts.monthly_facts import Facts, Pair
from spark_rollups.report.facts.owners import Owner
from spark_rollups.report.facts.stores import discards_old, filling, stream_growth
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Kind, Level, Measured
from spark_rollups.report.model import Chapter, Comparison, FrontPage, Report, Row, Table
from spark_rollups.report.month import ReportError

_AT_END, _PER_DAY, _OVER = "at the end", "per day", "over the month"
_WORST, _OVER_BOTH = "worst, consumers of both months", "consumers of both months"
_LIKE_COVERAGE = 0.9  # a month with fewer days may have missed its worst value
_BAD_TRENDS = {
    metric.name
    for metric in (
        c.CONSUMER_NUM_PENDING, c.CONSUMER_LAG_SECONDS, c.CONSUMER_REDELIVERY_RATIO,
        c.CONSUMER_EXHAUSTED_MESSAGES, c.STREAM_EPHEMERAL_CONSUMERS,
    )
}  # fmt: skip
_MOVED = 0.05  # least change in a month, as a share of the level
_KINDS = {"_bytes": Kind.BYTES, "_seconds": Kind.SECONDS, "_ratio": Kind.SHARE}
# The name of a trend, and the least level to show it.
_TRENDS: dict[str, tuple[str, float]] = {
    metric.name: (name, least)
    for metric, name, least in (
        (c.CONSUMER_NUM_PENDING, "messages pending", 100.0),
        (c.CONSUMER_NUM_ACK_PENDING, "messages unacknowledged", 100.0),
        (c.CONSUMER_LAG_SECONDS, "lag", 60.0),
        (c.CONSUMER_REDELIVERY_RATIO, "share of redeliveries", 0.01),
        (c.CONSUMER_EXHAUSTED_MESSAGES, "abandoned messages", 1.0),
        (c.STREAM_DEDUPE_WINDOW_MESSAGES, "ids in the duplicate window", 10_000.0),
        (c.STREAM_CONSUMERS, "consumers", 1.0),
        (c.STREAM_EPHEMERAL_CONSUMERS, "ephemeral consumers", 1.0),
        (c.ACCOUNT_STREAMS, "streams", 1.0),
        (c.ACCOUNT_CONSUMERS, "consumers", 1.0),
        (c.SERVER_HA_ASSETS, "HA assets", 1.0),
        (c.SERVER_STREAM_LEADERS, "streams led", 1.0),
        (c.SERVER_CONSUMER_LEADERS, "consumers led", 1.0),
        (c.SERVER_PROCESS_MEMORY_BYTES, "memory of the process", float(64 << 20)),
    )
}
# Frequent events: summed up in one table instead of listed by day.
_FREQUENT = ("elections", "messages purged")
_LEVELS = dict.fromkeys(("went back", "lost its quorum"), Level.CRITICAL) | dict.fromkeys(
    ("recreated", "restored", "durable consumers removed", "recreated or reset"), Level.WARNING
)


def comparisons(facts: Facts, month: ConsumerMonth) -> list[Comparison]:
    """Health is compared over consumers that both months have: then the base is the same."""
    streams, consumers, servers = facts.streams, facts.consumers, facts.servers
    both, worst, over_both = consumers.now.seen & consumers.before.seen, _WORST, _OVER_BOTH
    if not facts.days_before:
        both, worst, over_both = consumers.now.seen, "worst", _OVER
    states = (month.verdicts[both], month.verdicts_before[both])
    lags = (month.lag[both], month.lag_before[both])

    def compared(
        key: str, title: str, kind: Kind, value: Callable[[Assets], float | None], pair: Pair,
        bad: bool | None = None, basis: str = _AT_END,
    ) -> Comparison:  # fmt: skip
        return Comparison(key, title, kind, value(pair.now), value(pair.before), bad, basis)

    def at_end(metric: Metric) -> Callable[[Assets], float | None]:
        return lambda assets: total(assets.at_end(metric))

    def most(metric: Metric) -> Callable[[Assets], float | None]:
        return lambda assets: highest(assets.at_end(metric))

    def per_day(key: str, title: str, pair: Pair, metric: Metric, bad: bool | None) -> Comparison:
        """Sums are divided by the days with data, which differ between months."""

        def value(assets: Assets) -> float | None:
            whole = total(assets.increase(metric))
            return None if whole is None else whole / len(assets.days)

        return compared(key, title, Kind.COUNT, value, pair, bad, _PER_DAY)

    def seen(assets: Assets) -> float | None:
        return float(assets.seen.sum()) or None

    return [
        compared("bytes", "Size of streams", Kind.BYTES, at_end(c.STREAM_BYTES), streams),
        per_day("stored", "Messages stored", streams, c.STREAM_STORED_MESSAGES, None),
        per_day("deliveries", "Deliveries", consumers, c.CONSUMER_DELIVERIES, None),
        compared("redelivery", "Redeliveries", Kind.SHARE, redelivered, consumers, True, _OVER),
        per_day("lost", "Messages lost", consumers, c.CONSUMER_LOST_MESSAGES, True),
        compared("abandoned", "Abandoned messages in streams", Kind.COUNT,
                 at_end(c.CONSUMER_EXHAUSTED_MESSAGES), consumers, True),
        Comparison("not_well", "Time of consumers not well", Kind.SHARE,
                   share_not_well(states[0]), share_not_well(states[1]), True, over_both),
        Comparison("lag", "Worst lag", Kind.SECONDS, highest(lags[0]), highest(lags[1]), True, worst),
        per_day("unstored", "Publishes not stored", streams, c.STREAM_PUBLISHES_UNSTORED, True),
        compared("storage", "Storage used on servers", Kind.BYTES,
                 at_end(c.SERVER_STORAGE_USED_BYTES), servers),
        compared("ha_assets", "HA assets on the server with most", Kind.COUNT,
                 most(c.SERVER_HA_ASSETS), servers),
        compared("streams", "Streams", Kind.COUNT, seen, streams, None, _OVER),
        compared("consumers", "Consumers", Kind.COUNT, seen, consumers, None, _OVER),
    ]  # fmt: skip


def sentence_of(each: Comparison) -> str:
    """One sentence about a change."""
    now, before = fmt.text_of(each.kind, each.now), fmt.text_of(each.kind, each.before)
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
    rows = [
        Row(
            (each.title, each.basis, _measured(each.now, each.kind), _measured(each.before, each.kind),
             fmt.change(each.now, each.before)),
            each.level,
        )
        for each in front.comparisons
    ]  # fmt: skip
    moving = [
        each for each in facts.trends if each.direction in ("growing", "falling") and _matters(each)
    ]
    moving.sort(key=lambda each: (not _is_bad(each), -_weight(each), each.name, each.metric))
    known = facts.forecasts_as_of is not None
    unknown = {"empty": "Unknown: there are no trends for this month."}
    texts: dict[str, Any] = {} if known else unknown
    trends = table(facts, "trends", [_trend_row(each) for each in moving], **texts)
    return chapter(facts, "months", [table(facts, "months", rows), trends])


def _measured(value: float | None, kind: Kind) -> float | None:
    """The column mixes shares, bytes and times, so each value carries its kind."""
    return None if value is None else Measured(value, kind)


def _matters(each: Trend) -> bool:
    least = _TRENDS.get(each.metric, ("", 1.0))[1]
    return (each.level or 0.0) >= least and _weight(each) >= _MOVED


def _is_bad(each: Trend) -> bool:
    return each.metric in _BAD_TRENDS and each.direction == "growing"


def _weight(each: Trend) -> float:
    """The change in a month as a share of the level."""
    change = abs(each.per_day or 0.0) * 30
    return change / abs(each.level) if each.level else float(change > 0)


def _trend_row(each: Trend) -> Row:
    kind = next((kind for end, kind in _KINDS.items() if each.metric.endswith(end)), Kind.COUNT)
    numbers = (
        _measured(number, kind) for number in (each.level, each.per_day, each.low, each.high)
    )
    name = _TRENDS.get(each.metric, (each.metric, 0.0))[0]
    level = Level.WARNING if _is_bad(each) else Level.NORMAL
    return Row((*each.name, name, each.direction, *numbers, float(each.days)), level)


def changes_chapter(facts: Facts, events: Sequence[Event]) -> Chapter:
    rare = [event for event in events if event.what not in _FREQUENT]
    rows = [
        Row(
            (*event.subject.labels, event.what, event.day,
             "" if event.number is None else event.number, event.note),
            _LEVELS.get(event.what, Level.NORMAL),
        )
        for event in rare
    ]  # fmt: skip
    counted = Counter(event.what for event in rare)
    return chapter(
        facts, "changes", [table(facts, "changes", rows), table(facts, "elections", _sums(events))],
        events=events, parts=[f"{what} {number:,}" for what, number in counted.most_common()],
    )  # fmt: skip


def _sums(events: Sequence[Event]) -> list[Row]:
    totals: dict[tuple[str, tuple[str, ...]], list[Event]] = {}
    for event in events:
        if event.what in _FREQUENT:
            totals.setdefault((event.what, event.subject.labels), []).append(event)
    sums = {key: sum(each.number or 0 for each in group) for key, group in totals.items()}
    return [
        Row((*key[1], key[0], sums[key], float(len(group)),
             max(group, key=lambda each: each.number or 0).day))
        for key, group in sorted(totals.items(), key=lambda item: (item[0][0], -sums[item[0]]))
    ]  # fmt: skip


_UNKNOWN_SHOWN, _WORSE_SHOWN, _LIMITS_SHOWN = 3, 2, 3


def front_page(
    facts: Facts, month: ConsumerMonth, findings: Sequence[Finding], actions: Sequence[Action]
) -> FrontPage:
    numbers = comparisons(facts, month)
    slower = [each.summary for each in findings if each.code == "CON-LAG-WORSE"][:_WORSE_SHOWN]
    # One thing is never better and worse: consumers that got slower decide about lag.
    judged = [each for each in numbers if not (each.key == "lag" and slower)]
    level, headline = _headline(facts, actions)
    return FrontPage(
        headline=headline,
        level=level,
        sentences=_sentences(facts, month, actions),
        full=full_figure(facts),
        comparisons=tuple(numbers),
        worse=(*(sentence_of(each) for each in judged if each.level is Level.WARNING), *slower),
        better=tuple(sentence_of(each) for each in judged if is_better(facts, each)),
        unknown=tuple(sentence for _, sentence in unknowns(facts, month)[:_UNKNOWN_SHOWN]),
    )


def _headline(facts: Facts, actions: Sequence[Action]) -> tuple[Level, str]:
    open_limits = [each for each in facts.forecasts if not discards_old(facts, each)]
    outlooks = [each.outlook for each in open_limits]
    full, today = filling(facts), [each for each in actions if each.by is None]
    possible, dateless = outlooks.count(Outlook.WATCH), outlooks.count(Outlook.UNKNOWN)
    uncertain = facts.forecasts_as_of is None or possible or dateless
    level = max((each.level for each in actions), default=Level.NORMAL)
    if today:
        level = Level.CRITICAL
    elif facts.missing or (uncertain and not actions):
        level = max(level, Level.WARNING)
    lines = fmt.sentences(
        "headline", facts=facts, first=full[0] if full else None, today=today, actions=actions,
        causes=sum(each.code.startswith("CAP-") for each in actions), possible=possible,
        dateless=dateless, uncertain=uncertain,
        last=max((each.by for each in actions if each.by is not None), default=None),
    )  # fmt: skip
    return level, " ".join(lines)


def _sentences(facts: Facts, month: ConsumerMonth, actions: Sequence[Action]) -> tuple[str, ...]:
    now, (growth, growth_before) = facts.streams.now, map(total, stream_growth(facts))
    earlier = {each.key: each for each in facts.forecasts_before}
    limits = [
        (each, _moved(each, earlier.get(each.key)))
        for each in _one_server(filling(facts))[:_LIMITS_SHOWN]
        if each.likely is not None and each.outlook != Outlook.REACHED
    ]
    tight = (
        each.findings[0].subject.name
        for each in actions
        if any(finding.advice and not finding.advice.fits for finding in each.findings)
    )
    return fmt.sentences(
        "front", facts=facts, lost=total(month.lost), losers=(month.lost > 0).sum(),
        limits=limits, size=total(now.at_end(c.STREAM_BYTES)), growth=growth,
        growth_before=growth_before if facts.days_before else None, tight=list(dict.fromkeys(tight)),
        worst=_worst_lag(facts, month),
    )  # fmt: skip


def _one_server(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Only the first server of a system: they fill together."""
    first: dict[Any, Forecast] = {}
    for each in forecasts:
        first.setdefault(each.system if each.server else each.key, each)
    return list(first.values())


def _moved(each: Forecast, before: Forecast | None) -> str:
    """How the date moved since the month before."""
    if before is None or each.likely is None:
        return ""
    if before.likely is None:
        return "; a month ago it had no date" if before.outlook != Outlook.UNKNOWN else ""
    days = (each.likely - before.likely).days
    if abs(days) <= 2:
        return "; a month ago the date was the same"
    moved = f"{fmt.plural(abs(days), 'day')} {'later' if days < 0 else 'earlier'}"
    return f"; a month ago it was {fmt.day(before.likely)}, {moved}"


def _worst_lag(facts: Facts, month: ConsumerMonth) -> dict[str, Any] | None:
    if not np.nan_to_num(month.lag).any():
        return None
    index = int(np.nanargmax(month.lag))
    _, _, stream, consumer = facts.consumers.now.names[index]
    lag, day = float(month.lag[index]), month.lag_day[index]
    return {"lag": lag, "day": day, "stream": stream, "consumer": consumer}


_NONE = "no owner set"


def owners_chapter(
    facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]
) -> Chapter:
    names = [owner.name for subject, owner in owners.items() if subject.stream]
    return chapter(
        facts, "owners", [table(facts, "owners", _rows(facts, owners, actions))],
        named=len({*names, ""}) - 1, assets=len(names), without=names.count(""),
    )  # fmt: skip


def _rows(facts: Facts, owners: Mapping[Subject, Owner], actions: Sequence[Action]) -> list[Row]:
    counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for subject, owner in owners.items():
        if owner.name or subject.stream:
            counts[owner.name][_kind(subject)] += 1
    now, growth = facts.streams.now, np.nan_to_num(stream_growth(facts)[0])
    size = now.at_end(c.STREAM_BYTES)
    for index in np.flatnonzero(~np.isnan(size)).tolist():
        owner = owners.get(subject_of(now, index), Owner())
        counts[owner.name]["bytes"] += float(size[index])
        counts[owner.name]["growth"] += float(growth[index])
    due: dict[str, list[Action]] = defaultdict(list)
    for action in actions:
        due[action.owner.name].append(action)
    rows = [_row(facts, name, counts[name], due[name]) for name in {*counts, *due}]
    return sorted(rows, key=lambda row: (-row.level, row.values[0] == _NONE, str(row.values[0])))


def _kind(subject: Subject) -> str:
    if subject.consumer:
        return "consumers"
    return "streams" if subject.stream else "servers" if subject.server else "accounts"


def _row(facts: Facts, name: str, counts: Mapping[str, float], due: Sequence[Action]) -> Row:
    today = sum(action.by is None for action in due)
    following: date | str = min((action.by or facts.as_of for action in due), default="")
    held = (counts[key] for key in ("streams", "consumers", "servers", "bytes", "growth"))
    return Row(
        (name or _NONE, today, len(due), "today" if today else following, *held),
        max((action.level for action in due), default=Level.NORMAL),
    )


def for_owner(report: Report, name: str) -> Report:
    """Its actions, findings and assets. Raises ReportError if none belongs to this owner."""
    known = {owner.name for owner in report.owners.values() if owner.name}
    if name not in known:
        names = fmt.listed(sorted(known), 20) or "not set"
        raise ReportError(f"--owner {name}: unknown; owners are {names}")
    own = {subject for subject, owner in report.owners.items() if owner.name == name}
    actions = tuple(each for each in report.actions if each.owner.name == name)
    today = sum(each.by is None for each in actions)
    front = replace(
        report.front,
        headline=f"{fmt.plural(len(actions), 'action')} for {name}, {today} due today."
        if actions
        else f"Nothing needs attention of {name}.",
        level=max((each.level for each in actions), default=Level.NORMAL),
        sentences=(f"{fmt.plural(len(own), 'asset')} of {name}.",),
        full=None,
        comparisons=(),
        worse=(),
        better=(),
    )
    # Tables with rows of the owner; figures are of the whole system.
    chapters = tuple(
        replace(each, tables=tables, figures=(), sentences=())
        for each in report.chapters
        if (tables := tuple(filter(None, (_own_rows(found, own) for found in each.tables))))
    )
    findings = tuple(each for each in report.findings if each.owner == name)
    return replace(
        report, front=front, actions=actions, findings=findings, chapters=chapters, owner=name
    )  # fmt: skip


def _own_rows(found: Table, own: set[Subject]) -> Table | None:
    labels = [column.key for column in found.identity]
    rows = [
        row
        for row in found.rows
        if {*labels} <= {*Subject.__slots__}
        and Subject(**dict(zip(labels, map(str, row.values), strict=False))) in own
    ]
    return replace(found, rows=rows) if rows else None
