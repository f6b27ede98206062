"""The first page: limits, changes for the worse, and actions with dates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Level,
)
from spark_rollups.report.chapters.capacity import full_figure
from spark_rollups.report.chapters.data_quality import unknowns
from spark_rollups.report.chapters.month_over_month import compared, comparisons, is_better
from spark_rollups.report.facts.arithmetic import highest, total
from spark_rollups.report.facts.capacity import discards_old, filling, stream_growth
from spark_rollups.report.facts.consumers import (
    ConsumerMonth,
)
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import Finding, Severity
from spark_rollups.report.model import FrontPage

_UNKNOWN_SHOWN = 3
_WORSE_SHOWN = 2


def front_page(facts: Facts, month: ConsumerMonth, findings: Sequence[Finding]) -> FrontPage:
    numbers = comparisons(facts, month)
    level, headline = _headline(facts, findings)
    worse = [each for each in numbers if each.level is Level.WARNING]
    better = [each for each in numbers if is_better(each)]
    return FrontPage(
        headline=headline,
        level=level,
        sentences=tuple(_sentences(facts, month, findings)),
        full=full_figure(facts),
        comparisons=tuple(numbers),
        worse=(*(compared(each) for each in worse), *_worse_consumers(findings)),
        better=tuple(compared(each) for each in better),
        unknown=tuple(sentence for _, sentence in unknowns(facts, month)[:_UNKNOWN_SHOWN]),
    )


def _worse_consumers(findings: Sequence[Finding]) -> list[str]:
    found = [each.summary for each in findings if each.code == codes.LAG_WORSE.code]
    return found[:_WORSE_SHOWN]


def _headline(facts: Facts, findings: Sequence[Finding]) -> tuple[Level, str]:
    grave = [each for each in findings if each.severity is Severity.CRITICAL]
    full = filling(facts)
    if full:
        first = full[0]
        when = "is full now" if first.outlook == Outlook.REACHED else _will_be_full(first)
        more = f", and {fmt.plural(len(full) - 1, 'other limit')} will be reached within 90 days"
        level = Level.CRITICAL if grave else Level.WARNING
        return (
            level,
            f"{fmt.capital(first.subject)} {first.name} {when}{more if len(full) > 1 else ''}.",
        )
    doubt = _uncertainty(facts)
    limits = doubt or "No limit will be reached within 90 days"
    if grave:
        return (
            Level.CRITICAL,
            f"{limits}; {fmt.plural(len(grave), 'finding needs', 'findings need')} action now.",
        )
    warned = [each for each in findings if each.severity is Severity.WARNING]
    if warned:
        return (
            Level.WARNING,
            f"{limits}; {fmt.plural(len(warned), 'finding needs', 'findings need')} attention.",
        )
    if doubt:
        return Level.WARNING, f"{doubt}."
    return Level.NORMAL, f"{limits}, and nothing needs attention."


def _uncertainty(facts: Facts) -> str:
    """Why it is uncertain whether limits will be reached; "" if the forecasts cover every limit."""
    if facts.forecasts_as_of is None:
        return "It is unknown when limits will be reached: there is no forecast"
    open_limits = [each for each in facts.forecasts if not discards_old(facts, each)]
    possible = sum(each.outlook == Outlook.WATCH for each in open_limits)
    dateless = sum(each.outlook == Outlook.UNKNOWN for each in open_limits)
    sentences = []
    if possible:
        sentences.append(f"{fmt.plural(possible, 'limit')} may be reached within 90 days")
    if dateless:
        sentences.append(f"{fmt.plural(dateless, 'limit has', 'limits have')} no date yet")
    return " and ".join(sentences)


def _will_be_full(each: Forecast) -> str:
    return f"will be full around {fmt.day(each.likely)}" if each.likely else "will be full"


def _sentences(facts: Facts, month: ConsumerMonth, findings: Sequence[Finding]) -> list[str]:
    lost = total(month.lost)
    sentences = [*_about_loss(month, lost), *_about_limits(facts), *_about_growth(facts)]
    if lost == 0:
        sentences.append("No consumer lost messages.")
    sentences += _about_consumers(facts, month)
    grave = sum(each.severity is Severity.CRITICAL for each in findings)
    warned = sum(each.severity is Severity.WARNING for each in findings)
    sentences.append(
        f"{fmt.plural(len(findings), 'finding')}: {grave} critical, {warned} warnings to handle within a month."
    )
    return sentences


def _about_loss(month: ConsumerMonth, lost: float | None) -> list[str]:
    """The first sentence of the page."""
    if not lost:
        return []
    losers = fmt.plural(int((month.lost > 0).sum()), "consumer")
    return [f"{losers} lost messages: limits removed at least {fmt.count(lost)} before delivery."]


def _about_limits(facts: Facts) -> list[str]:
    sentences = []
    earlier = {each.key: each for each in facts.forecasts_before}
    for each in filling(facts)[:3]:
        if each.likely is None or each.outlook == Outlook.REACHED:
            continue
        text = (
            f"{fmt.capital(each.subject)} {each.name} reaches its limit around {fmt.day(each.likely)} "
            f"({fmt.day_range(each.earliest, each.latest)})"
        )
        sentences.append(f"{text}{_moved(each, earlier.get(each.key))}.")
    return sentences


def _moved(each: Forecast, before: Forecast | None) -> str:
    """How the date moved since the month before."""
    if before is None or each.likely is None:
        return ""
    if before.likely is None:
        return "; a month ago it had no date" if before.outlook != Outlook.UNKNOWN else ""
    days = (each.likely - before.likely).days
    if abs(days) <= 2:
        return "; a month ago the date was the same"
    moved = fmt.plural(abs(days), "day")
    return f"; a month ago it was {fmt.day(before.likely)}, {moved} {'later' if days < 0 else 'earlier'}"


def _about_growth(facts: Facts) -> list[str]:
    size = total(facts.streams.now.at_end(c.STREAM_BYTES))
    now, before = (total(each) for each in stream_growth(facts))
    if size is None or now is None:
        return ["The size of the streams is unknown."]
    text = f"Streams {_grew(now)} to {fmt.bytes_text(size)}"
    if before is not None and facts.days_before:
        text += f"; the month before they {_grew(before)}"
    return [f"{text}."]


def _grew(change: float) -> str:
    return f"{'grew' if change >= 0 else 'shrank'} by {fmt.bytes_text(abs(change))}"


def _about_consumers(facts: Facts, month: ConsumerMonth) -> list[str]:
    now = facts.consumers.now
    if not now.seen.any():
        return []
    worst = highest(month.lag)
    if worst is None or worst <= 0:
        return []
    index = int(np.nanargmax(month.lag))
    _, _, stream, consumer = now.names[index]
    day = month.lag_day[index]
    on = f" on {fmt.day(day)}" if day is not None else ""
    return [f"The worst lag was {fmt.span(worst)}: consumer {consumer} of {stream}{on}."]
