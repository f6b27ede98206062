"""The first page, the month before, changes and owners; and the page of one owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.actions import Action
from spark_rollups.report.chapters.capacity import full_figure
from spark_rollups.report.chapters.data_quality import unknowns
from spark_rollups.report.chapters.tables import chapter, definitions, table
from spark_rollups.report.facts.assets import Assets, Mask, Subject, highest, subject_of, total
from spark_rollups.report.facts.columns import share_not_well
from spark_rollups.report.facts.events import Event
from spark_rollups.report.facts.forecasts import Forecast, Trend
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.owners import Owner
from spark_rollups.report.facts.stores import discards_old, filling
from spark_rollups.report.findings.finding import Finding
from spark_rollups.report.formatting import Kind, Level, Measured
from spark_rollups.report.model import Chapter, Comparison, FrontPage, Report, Row, Table
from spark_rollups.report.month import ReportError

_LIKE_COVERAGE = 0.9  # a month with fewer days may have missed its worst value
_MOVED = 0.05  # least change in a month, as a share of the level
_KINDS = {"_bytes": Kind.BYTES, "_seconds": Kind.SECONDS, "_ratio": Kind.SHARE}
_PER_DAY, _WORST = "per day", "worst, consumers of both months"
# How a comparison is made: its basis, and that without data of the month before.
_BASES = {
    "end": ("at the end",), "most": ("at the end",), "sum": (_PER_DAY,), "ratio": ("over the month",),
    "seen": ("over the month",), "worst": (_WORST, "worst"),
    "not well": ("consumers of both months", "over the month"),
}  # fmt: skip
# Frequent events: summed up in one table instead of listed by day.
_FREQUENT = ("elections", "messages purged")
_LEVELS = dict.fromkeys(("went back", "lost its quorum"), Level.CRITICAL) | dict.fromkeys(
    ("recreated", "restored", "durable consumers removed", "recreated or reset"), Level.WARNING
)


def comparisons(facts: Facts) -> list[Comparison]:
    """Health is compared over consumers that both months have: then the base is the same."""
    found = []
    for key, each in definitions()["months"]["compared"].items():
        pair, how, basis = facts.pair(each["of"]), each["how"], _BASES[each["how"]]
        both = pair.now.seen & pair.before.seen if facts.days_before else pair.now.seen
        now, before = (_number(month, how, each, both) for month in (pair.now, pair.before))
        text, kind = basis[0] if facts.days_before else basis[-1], Kind(each.get("kind", "count"))
        found.append(Comparison(key, each["title"], kind, now, before, each.get("bad"), text))
    return found


def _number(month: Assets, how: str, of: Mapping[str, str], both: Mask) -> float | None:
    if how == "seen":
        return float(month.seen.sum()) or None
    values = month[of["column"]]
    if how == "not well":
        return share_not_well(values[both])
    if how in ("worst", "most"):
        return highest(values[both] if how == "worst" else values)
    whole = total(values)
    if how == "end" or whole is None:
        return whole
    # Sums are divided by the days with data, which differ between months.
    by = len(month.days) if how == "sum" else total(month[of["by"]])
    return whole / by if by else None


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
    texts: dict[str, Any] = {}
    if facts.forecasts_as_of is None:
        texts = {"empty": "Unknown: there are no trends for this month."}
    trends = table(facts, "trends", [_trend_row(each) for each in moving], **texts)
    return chapter(facts, "months", [table(facts, "months", rows), trends])


def _measured(value: float | None, kind: Kind) -> float | None:
    """The column mixes shares, bytes and times, so each value carries its kind."""
    return None if value is None else Measured(value, kind)


def _matters(each: Trend) -> bool:
    return (each.level or 0.0) >= _texts(each).get("least", 1.0) and _weight(each) >= _MOVED


def _texts(each: Trend) -> dict[str, Any]:
    found = definitions()["trends"]["metrics"].get(each.metric.removeprefix("streamgauge_"), {})
    return {"name": each.metric, **found}


def _is_bad(each: Trend) -> bool:
    return each.direction == "growing" and "bad" in _texts(each)


def _weight(each: Trend) -> float:
    """The change in a month as a share of the level."""
    change = abs(each.per_day or 0.0) * 30
    return change / abs(each.level) if each.level else float(change > 0)


def _trend_row(each: Trend) -> Row:
    kind = next((kind for end, kind in _KINDS.items() if each.metric.endswith(end)), Kind.COUNT)
    numbers = (
        _measured(number, kind) for number in (each.level, each.per_day, each.low, each.high)
    )
    level = Level.WARNING if _is_bad(each) else Level.NORMAL
    return Row(
        (*each.name, _texts(each)["name"], each.direction, *numbers, float(each.days)), level
    )


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


def front_page(facts: Facts, findings: Sequence[Finding], actions: Sequence[Action]) -> FrontPage:
    numbers = comparisons(facts)
    slower = [each.summary for each in findings if each.code == "CON-LAG-WORSE"][:_WORSE_SHOWN]
    # One thing is never better and worse: consumers that got slower decide about lag.
    judged = [each for each in numbers if not (each.key == "lag" and slower)]
    level, headline = _headline(facts, actions)
    return FrontPage(
        headline=headline,
        level=level,
        sentences=_sentences(facts, actions),
        full=full_figure(facts),
        comparisons=tuple(numbers),
        worse=(*(sentence_of(each) for each in judged if each.level is Level.WARNING), *slower),
        better=tuple(sentence_of(each) for each in judged if is_better(facts, each)),
        unknown=tuple(sentence for _, sentence in unknowns(facts)[:_UNKNOWN_SHOWN]),
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


def _sentences(facts: Facts, actions: Sequence[Action]) -> tuple[str, ...]:
    lags = facts.consumers["lag_seconds"]
    worst = int(np.nanargmax(lags)) if np.nan_to_num(lags).any() else None
    earlier = {each.key: each for each in facts.forecasts_before}
    limits = [
        (each, earlier.get(each.key))
        for each in _one_server(filling(facts))[:_LIMITS_SHOWN]
        if each.likely is not None and each.outlook != Outlook.REACHED
    ]
    tight = (
        each.findings[0].subject.stream or each.findings[0].subject.name
        for each in actions
        if any(finding.advice and not finding.advice.fits for finding in each.findings)
    )
    return fmt.sentences(
        "front", facts=facts, limits=limits, tight=list(dict.fromkeys(tight)), worst=worst
    )


def _one_server(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """Only the first server of a system: they fill together."""
    first: dict[Any, Forecast] = {}
    for each in forecasts:
        first.setdefault(each.system if each.server else each.key, each)
    return list(first.values())


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
    now, growth = facts.streams.now, np.nan_to_num(facts.streams["growth"])
    size = facts.streams["bytes"]
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
